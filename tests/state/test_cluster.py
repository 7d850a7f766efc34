"""The cluster's metadata, replayed: topics, partitions, brokers and the rest, from the log and from snapshots."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kidx.errors import CannotRead
from kidx.formats.schemas.topics import METADATA
from kidx.logdir.tree import Partition
from kidx.state.replay import Moment, State, kinds_of, state_at
from tests.state.building import TIME, Log, metadata

ID, OTHER = b"\1" * 16, b"\2" * 16


def state(directory: Path, **moment: int) -> State:
    return state_at(Partition(str(directory)), METADATA, Moment(**moment))


def facts(directory: Path, kind: str, **moment: int) -> dict[tuple[Any, ...], dict[str, Any]]:
    found = state(directory, **moment)
    assert found.problems == []
    assert {fact.kind for fact in found.facts.sorted()} <= set(kinds_of(METADATA))
    return {tuple(fact.key.values()): fact.value for fact in found.facts.of_kind(kind)}


def partition(topic: bytes, number: int = 0, **said: Any) -> tuple[bytes | None, bytes | None]:
    values = {"replicas": [1, 2, 3], "isr": [1, 2, 3], "leader": 1, "leaderEpoch": 0, "partitionEpoch": 0} | said
    return metadata("Partition", 0, partitionId=number, topicId=topic, **values)


def topics(directory: Path) -> Log:
    return Log(directory).add(
        metadata("Topic", name="orders", topicId=ID),
        partition(ID),
        partition(ID, 1),
        metadata("Topic", name="x", topicId=OTHER),
    )


def test_who_led_this_partition_then(tmp_path: Path) -> None:
    log = topics(tmp_path)
    log.add(metadata("PartitionChange", 0, partitionId=0, topicId=ID, leader=2, isr=[2, 3]))
    log.add(metadata("PartitionChange", 0, partitionId=0, topicId=ID, isr=[1, 2, 3]))
    seen = []
    for moment in (4, 5, 6):
        value = facts(tmp_path, "partition", offset=moment)[("orders", 0)]
        seen.append((value["leader"], value["leaderEpoch"], value["partitionEpoch"], value["isr"]))
    assert seen == [(1, 0, 0, [1, 2, 3]), (2, 1, 1, [2, 3]), (2, 1, 2, [1, 2, 3])]
    assert facts(tmp_path, "partition", timestamp_ms=TIME + 4000)[("orders", 0)]["leader"] == 2


def test_a_topic_goes_with_its_partitions_and_configurations(tmp_path: Path) -> None:
    log = topics(tmp_path)
    for name in ("orders", "x"):
        log.add(metadata("Config", resourceType=2, resourceName=name, name="retention.ms", value="1"))
    log.add(metadata("Config", resourceType=4, resourceName="orders", name="retention.ms", value="1"))
    log.add(metadata("RemoveTopic", topicId=ID))
    assert list(facts(tmp_path, "topic")) == [("x",)]
    assert facts(tmp_path, "partition") == {}
    assert list(facts(tmp_path, "config")) == [("topic", "x", "retention.ms"), ("broker", "orders", "retention.ms")]


def test_configurations_features_quotas_users_and_the_rest(tmp_path: Path) -> None:
    entity = [{"entityType": "user", "entityName": "u"}, {"entityType": "client-id", "entityName": None}]
    log = Log(tmp_path).add(
        metadata("Config", resourceType=2, resourceName="t", name="a", value="1"),
        metadata("FeatureLevel", name="metadata.version", featureLevel=30),
        metadata("FeatureLevel", name="group.version", featureLevel=1),
        metadata("ClientQuota", entity=entity, key="producer_byte_rate", value=10.5),
        metadata(
            "UserScramCredential", name="u", mechanism=1, salt=b"s", storedKey=b"k", serverKey=b"v", iterations=4096
        ),
        metadata("AccessControlEntry", id=ID, resourceName="t", principal="User:u"),
        metadata("DelegationToken", owner="u", tokenId="token"),
        metadata("ProducerIds", brokerId=1, brokerEpoch=2, nextProducerId=1000),
    )
    assert facts(tmp_path, "config") == {("topic", "t", "a"): {"value": "1"}}
    assert facts(tmp_path, "feature")[("metadata.version",)] == {"level": 30}
    (quota,) = state(tmp_path).facts.of_kind("quota")
    assert quota.key == {"entity": {"client-id": None, "user": "u"}, "quota": "producer_byte_rate"}
    assert quota.value == {"value": 10.5}
    assert facts(tmp_path, "scram_user") == {("u", "SCRAM-SHA-256"): {"iterations": 4096}}, "no secrets"
    assert facts(tmp_path, "producer_ids")[()]["nextProducerId"] == 1000
    log.add(
        metadata("Config", resourceType=2, resourceName="t", name="a", value=None),
        metadata("FeatureLevel", name="group.version", featureLevel=0),
        metadata("ClientQuota", entity=entity[::-1], key="producer_byte_rate", value=0.0, remove=True),
        metadata("RemoveUserScramCredential", name="u", mechanism=1),
        metadata("RemoveAccessControlEntry", id=ID),
        metadata("RemoveDelegationToken", tokenId="token"),
    )
    assert sorted(fact.kind for fact in state(tmp_path).facts.sorted()) == ["feature", "producer_ids"]


def test_brokers(tmp_path: Path) -> None:
    log = Log(tmp_path).add(
        metadata("RegisterBroker", 0, brokerId=1, fenced=True), metadata("RegisterBroker", 0, brokerId=2)
    )

    def fenced() -> dict[int, bool]:
        return {number: value["fenced"] for (number,), value in facts(tmp_path, "broker").items()}

    log.add(metadata("BrokerRegistrationChange", 1, brokerId=1, fenced=-1))
    log.add(metadata("BrokerRegistrationChange", 1, brokerId=1, fenced=0, inControlledShutdown=1))
    assert fenced() == {1: False, 2: True}
    assert facts(tmp_path, "broker")[(1,)]["inControlledShutdown"] is True
    log.add(metadata("FenceBroker", id=1), metadata("UnfenceBroker", id=2))
    assert fenced() == {1: True, 2: False}
    log.add(metadata("UnregisterBroker", brokerId=1))
    assert fenced() == {2: False}


def test_metadata_transactions(tmp_path: Path) -> None:
    log = Log(tmp_path).add(metadata("BeginTransaction", name="one"), metadata("Topic", name="a", topicId=ID))
    assert facts(tmp_path, "topic") == {}, "it is open"
    log.add(metadata("AbortTransaction", reason="no"))
    assert facts(tmp_path, "topic") == {}
    log.add(metadata("BeginTransaction"), metadata("Topic", name="b", topicId=OTHER), metadata("EndTransaction"))
    assert list(facts(tmp_path, "topic")) == [("b",)]


def test_the_eligible_leaders_are_cleared(tmp_path: Path) -> None:
    log = Log(tmp_path).add(metadata("Topic", name="orders", topicId=ID))
    values = {"replicas": [1], "isr": [], "leader": -1, "eligibleLeaderReplicas": [1], "lastKnownElr": [2]}
    log.add(metadata("Partition", 2, partitionId=0, topicId=ID, directories=[bytes(16)], **values))
    assert facts(tmp_path, "partition")[("orders", 0)]["eligibleLeaderReplicas"] == [1]
    log.add(metadata("ClearElr", topicName="other"))
    assert facts(tmp_path, "partition")[("orders", 0)]["eligibleLeaderReplicas"] == [1]
    log.add(metadata("ClearElr", topicName=""))
    assert facts(tmp_path, "partition")[("orders", 0)]["lastKnownElr"] == []


def snapshot(directory: Path, end: int, *pairs: tuple[bytes | None, bytes | None]) -> None:
    made = Log(directory / "made").add(*pairs)
    assert made.end
    (directory / "made" / f"{0:020}.log").rename(directory / f"{end:020}-0000000001.checkpoint")


def test_from_a_snapshot_and_the_log_behind_it(tmp_path: Path) -> None:
    Log(tmp_path, 10).add(
        metadata("Topic", name="old", topicId=bytes(16)), metadata("Topic", name="new", topicId=OTHER)
    )
    snapshot(tmp_path, 11, metadata("Topic", name="kept", topicId=ID))
    assert sorted(facts(tmp_path, "topic")) == [("kept",), ("new",)], "the snapshot knows of all before offset 11"
    found = {fact.key["topic"]: fact.offset for fact in state(tmp_path).facts.of_kind("topic")}
    assert found == {"kept": None, "new": 11}


def test_a_moment_before_the_only_snapshot(tmp_path: Path) -> None:
    Log(tmp_path, 10).add(metadata("Topic", name="a", topicId=ID))
    snapshot(tmp_path, 11, metadata("Topic", name="a", topicId=ID))
    assert "the log begins at offset 10" in state(tmp_path, offset=10).problems[0]
    assert "the log begins at offset 10" in state(tmp_path, timestamp_ms=TIME - 1).problems[0]


def test_nothing_up_to_that_moment(tmp_path: Path) -> None:
    snapshot(tmp_path, 11, metadata("Topic", name="a", topicId=ID))
    assert list(facts(tmp_path, "topic")) == [("a",)], "a snapshot alone will do"
    with pytest.raises(CannotRead, match="no log and no snapshot"):
        state(tmp_path, offset=5)


def test_changes_of_what_is_not_there_are_counted(tmp_path: Path) -> None:
    Log(tmp_path).add(
        metadata("PartitionChange", 0, partitionId=0, topicId=ID, leader=2),
        metadata("FenceBroker", id=5),
        (None, b"\1\x7f\0"),
        (None, None),
    )
    assert state(tmp_path).problems == ["4 records could not be understood: kidx dump --decode shows them"]
