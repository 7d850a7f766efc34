"""The cluster's metadata, replayed from __cluster_metadata: topics, partitions, brokers, configurations and the rest.

Sources: org.apache.kafka.image.MetadataDelta and its children, org.apache.kafka.metadata.PartitionRegistration.merge
and BrokerRegistration. Records between BeginTransaction and AbortTransaction do not count (KIP-868).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kidx.formats.records import Record
from kidx.formats.schemas.topics import METADATA, decoder_of
from kidx.state.facts import Fact, Facts

Data = dict[str, Any]
_NO_LEADER_CHANGE = -2
RESOURCE_TYPES = {2: "topic", 4: "broker", 8: "broker_logger", 16: "client_metrics", 32: "group"}
SCRAM_MECHANISMS = {1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"}
KINDS = (
    "acl", "broker", "config", "controller", "delegation_token", "feature", "partition", "producer_ids", "quota",
    "scram_user", "topic",
)  # fmt: skip
_MERGED = (
    "isr",
    "replicas",
    "removingReplicas",
    "addingReplicas",
    "directories",
    "eligibleLeaderReplicas",
    "lastKnownElr",
)


class ClusterState:
    """Replays metadata records. `undecoded` counts those that could not be understood."""

    def __init__(self) -> None:
        self.facts, self.undecoded = Facts(), 0
        self._topic_names: dict[str, str] = {}  # by id
        self._decode = decoder_of(METADATA)
        self._held: list[tuple[str, Data, int | None, int]] | None = None  # records of an open metadata transaction

    def replay(self, record: Record, *, in_snapshot: bool = False) -> None:
        """Apply a data record, from the log or from a snapshot."""
        offset = None if in_snapshot else record.offset
        decoded = self._decode(record.key, record.value)
        value = decoded.value
        if value is None or value.data is None or value.name is None:
            self.undecoded += 1
            return
        if value.name == "BeginTransactionRecord":
            self._held = []
        elif value.name == "AbortTransactionRecord":
            self._held = None
        elif value.name == "EndTransactionRecord":
            held, self._held = self._held or [], None
            for change in held:
                self._apply(*change)
        elif self._held is not None:
            self._held.append((value.name, value.data, offset, record.timestamp))
        else:
            self._apply(value.name, value.data, offset, record.timestamp)

    def _apply(self, name: str, data: Data, offset: int | None, timestamp: int) -> None:
        apply = _APPLY.get(name)
        if apply is not None:
            apply(self, data, offset, timestamp)

    def _topic(self, data: Data, offset: int | None, timestamp: int) -> None:
        self._topic_names[data["topicId"]] = data["name"]
        self.facts.set("topic", {"topic": data["name"]}, {"topicId": data["topicId"]}, offset, timestamp)

    def _remove_topic(self, data: Data, offset: int | None, timestamp: int) -> None:
        name = self._topic_names.pop(data["topicId"], None)
        if name is None:
            return
        self.facts.drop("topic", {"topic": name}, offset, timestamp)
        for fact in self.facts.of_kind("partition"):
            if fact.key["topic"] == name:
                self.facts.drop("partition", fact.key, offset, timestamp)
        for fact in self.facts.of_kind("config"):
            if (fact.key["resourceType"], fact.key["resourceName"]) == ("topic", name):
                self.facts.drop("config", fact.key, offset, timestamp)

    def _partition_key(self, data: Data) -> Data:
        topic = self._topic_names.get(data["topicId"], data["topicId"])
        return {"topic": topic, "partition": data["partitionId"]}

    def _partition(self, data: Data, offset: int | None, timestamp: int) -> None:
        value = {name: value for name, value in data.items() if name != "partitionId"}
        self.facts.set("partition", self._partition_key(data), value, offset, timestamp)

    def _change_partition(self, data: Data, offset: int | None, timestamp: int) -> None:
        key = self._partition_key(data)
        there = self.facts.get("partition", key)
        if there is None:
            self.undecoded += 1
            return
        value = dict(there.value)
        for name in _MERGED:
            if data.get(name) is not None:
                value[name] = data[name]
        if data["leader"] != _NO_LEADER_CHANGE:
            value["leader"] = data["leader"]
            value["leaderEpoch"] += 1
        if data["leaderRecoveryState"] >= 0:
            value["leaderRecoveryState"] = data["leaderRecoveryState"]
        value["partitionEpoch"] += 1
        self.facts.set("partition", key, value, offset, timestamp)

    def _clear_elr(self, data: Data, offset: int | None, timestamp: int) -> None:
        for fact in self.facts.of_kind("partition"):
            if data["topicName"] in ("", fact.key["topic"]) and fact.value.get("eligibleLeaderReplicas") is not None:
                value = fact.value | {"eligibleLeaderReplicas": [], "lastKnownElr": []}
                self.facts.set("partition", fact.key, value, offset, timestamp)

    def _config(self, data: Data, offset: int | None, timestamp: int) -> None:
        kind = RESOURCE_TYPES.get(data["resourceType"], str(data["resourceType"]))
        key = {"resourceType": kind, "resourceName": data["resourceName"], "name": data["name"]}
        if data["value"] is None:
            self.facts.drop("config", key, offset, timestamp)
        else:
            self.facts.set("config", key, {"value": data["value"]}, offset, timestamp)

    def _feature(self, data: Data, offset: int | None, timestamp: int) -> None:
        key = {"feature": data["name"]}
        if data["featureLevel"]:
            self.facts.set("feature", key, {"level": data["featureLevel"]}, offset, timestamp)
        else:
            self.facts.drop("feature", key, offset, timestamp)

    def _register_broker(self, data: Data, offset: int | None, timestamp: int) -> None:
        value = {name: value for name, value in data.items() if name != "brokerId"}
        self.facts.set("broker", {"brokerId": data["brokerId"]}, value, offset, timestamp)

    def _change_broker(self, data: Data, offset: int | None, timestamp: int) -> None:
        there = self._broker(data["brokerId"])
        if there is None:
            return
        value = dict(there.value)
        if data["fenced"]:
            value["fenced"] = data["fenced"] > 0
        if data.get("inControlledShutdown"):
            value["inControlledShutdown"] = True
        if data.get("logDirs"):
            value["logDirs"] = data["logDirs"]
        if data.get("cordonedLogDirs") is not None:
            value["cordonedLogDirs"] = data["cordonedLogDirs"]
        self.facts.set("broker", there.key, value, offset, timestamp)

    def _fence(self, data: Data, offset: int | None, timestamp: int, *, fenced: bool) -> None:
        there = self._broker(data["id"])
        if there is not None:
            self.facts.set("broker", there.key, there.value | {"fenced": fenced}, offset, timestamp)

    def _broker(self, broker_id: int) -> Fact | None:
        there = self.facts.get("broker", {"brokerId": broker_id})
        if there is None:
            self.undecoded += 1
        return there

    def _register_controller(self, data: Data, offset: int | None, timestamp: int) -> None:
        value = {name: value for name, value in data.items() if name != "controllerId"}
        self.facts.set("controller", {"controllerId": data["controllerId"]}, value, offset, timestamp)

    def _quota(self, data: Data, offset: int | None, timestamp: int) -> None:
        entity = {e["entityType"]: e["entityName"] for e in sorted(data["entity"], key=lambda e: str(e["entityType"]))}
        key = {"entity": entity, "quota": data["key"]}
        if data["remove"]:
            self.facts.drop("quota", key, offset, timestamp)
        else:
            self.facts.set("quota", key, {"value": data["value"]}, offset, timestamp)

    def _scram(self, data: Data, offset: int | None, timestamp: int) -> None:
        """A user's credential: that it is there. Its salt and keys are secrets and stay in the log."""
        self.facts.set("scram_user", _scram_key(data), {"iterations": data["iterations"]}, offset, timestamp)

    def _acl(self, data: Data, offset: int | None, timestamp: int) -> None:
        value = {name: value for name, value in data.items() if name != "id"}
        self.facts.set("acl", {"id": data["id"]}, value, offset, timestamp)

    def _token(self, data: Data, offset: int | None, timestamp: int) -> None:
        value = {name: value for name, value in data.items() if name != "tokenId"}
        self.facts.set("delegation_token", {"tokenId": data["tokenId"]}, value, offset, timestamp)

    def _producer_ids(self, data: Data, offset: int | None, timestamp: int) -> None:
        self.facts.set("producer_ids", {}, dict(data), offset, timestamp)


def _scram_key(data: Data) -> Data:
    return {"user": data["name"], "mechanism": SCRAM_MECHANISMS.get(data["mechanism"], str(data["mechanism"]))}


_APPLY: dict[str, Callable[[ClusterState, Data, int | None, int], None]] = {
    "TopicRecord": ClusterState._topic,
    "RemoveTopicRecord": ClusterState._remove_topic,
    "PartitionRecord": ClusterState._partition,
    "PartitionChangeRecord": ClusterState._change_partition,
    "ClearElrRecord": ClusterState._clear_elr,
    "ConfigRecord": ClusterState._config,
    "FeatureLevelRecord": ClusterState._feature,
    "RegisterBrokerRecord": ClusterState._register_broker,
    "BrokerRegistrationChangeRecord": ClusterState._change_broker,
    "UnregisterBrokerRecord": lambda s, d, o, t: s.facts.drop("broker", {"brokerId": d["brokerId"]}, o, t),
    "FenceBrokerRecord": lambda s, d, o, t: s._fence(d, o, t, fenced=True),
    "UnfenceBrokerRecord": lambda s, d, o, t: s._fence(d, o, t, fenced=False),
    "RegisterControllerRecord": ClusterState._register_controller,
    "ClientQuotaRecord": ClusterState._quota,
    "UserScramCredentialRecord": ClusterState._scram,
    "RemoveUserScramCredentialRecord": lambda s, d, o, t: s.facts.drop("scram_user", _scram_key(d), o, t),
    "AccessControlEntryRecord": ClusterState._acl,
    "RemoveAccessControlEntryRecord": lambda s, d, o, t: s.facts.drop("acl", {"id": d["id"]}, o, t),
    "DelegationTokenRecord": ClusterState._token,
    "RemoveDelegationTokenRecord": lambda s, d, o, t: s.facts.drop("delegation_token", {"tokenId": d["tokenId"]}, o, t),
    "ProducerIdsRecord": ClusterState._producer_ids,
}
