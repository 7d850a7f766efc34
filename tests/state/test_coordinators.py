"""What coordinators' topics add up to: commits, tombstones, transactions, share partitions, moments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kidx.errors import CannotRead, UsageError
from kidx.formats.schemas.topics import GROUP, REMOTE, SHARE, TRANSACTION
from kidx.logdir.tree import Partition
from kidx.state.replay import Moment, State, family_of, state_at
from tests.damage import overwrite
from tests.state.building import TIME, Log, commit, coordinator

NOW = Moment()


def state(directory: Path, family: str, moment: Moment = NOW) -> State:
    return state_at(Partition(str(directory)), family, moment)


def offsets(directory: Path, moment: Moment = NOW) -> dict[tuple[Any, ...], int]:
    """Committed offsets by group, topic and partition."""
    facts = state(directory, GROUP, moment).facts
    return {tuple(fact.key.values()): fact.value["offset"] for fact in facts.of_kind("committed_offset")}


def test_the_last_commit_counts_and_tombstones_remove(tmp_path: Path) -> None:
    Log(tmp_path).add(commit("g", "t", 0, 5), commit("g", "t", 1, 6), commit("h", "t", 0, 7)).add(
        commit("g", "t", 0, 50), commit("h", "t", 0, None)
    )
    assert offsets(tmp_path) == {("g", "t", 0): 50, ("g", "t", 1): 6}


def test_commits_in_transactions_wait_for_their_marker(tmp_path: Path) -> None:
    log = Log(tmp_path).add(commit("g", "t", 0, 1))
    log.in_transaction(7, commit("g", "t", 0, 2)).in_transaction(8, commit("g", "t", 1, 3))
    assert offsets(tmp_path) == {("g", "t", 0): 1}, "both are open"
    log.marker(7, committed=False)
    assert offsets(tmp_path) == {("g", "t", 0): 1}, "one is aborted"
    log.marker(8, committed=True)
    assert offsets(tmp_path) == {("g", "t", 0): 1, ("g", "t", 1): 3}


def test_a_newer_plain_commit_outlives_an_older_one_in_a_transaction(tmp_path: Path) -> None:
    Log(tmp_path).in_transaction(7, commit("g", "t", 0, 2)).add(commit("g", "t", 0, 9)).marker(7, committed=True)
    assert offsets(tmp_path) == {("g", "t", 0): 9}


def test_a_tombstone_ends_what_waits_for_a_marker(tmp_path: Path) -> None:
    log = Log(tmp_path).in_transaction(7, commit("g", "t", 0, 2), commit("g", "t", 1, 3))
    log.add(commit("g", "t", 0, None)).marker(7, committed=True)
    assert offsets(tmp_path) == {("g", "t", 1): 3}


def test_a_marker_of_a_transaction_that_is_unknown(tmp_path: Path) -> None:
    Log(tmp_path).marker(3, committed=True).add(commit("g", "t", 0, 1))
    assert offsets(tmp_path) == {("g", "t", 0): 1}


def test_moments(tmp_path: Path) -> None:
    log = Log(tmp_path).add(*(commit("g", "t", 0, i * 10) for i in range(6)))
    log.in_transaction(7, commit("g", "t", 0, 60)).marker(7, committed=True)
    key = ("g", "t", 0)
    assert [offsets(tmp_path, Moment(offset=n)).get(key) for n in (0, 1, 5, 6, 7, 8)] == [None, 0, 40, 50, 50, 60]
    assert offsets(tmp_path, Moment(timestamp_ms=TIME + 2999))[key] == 20
    assert offsets(tmp_path, Moment(timestamp_ms=TIME + 3000))[key] == 30
    assert offsets(tmp_path, Moment(timestamp_ms=TIME + 6500))[key] == 50, "its marker comes later"


def test_old_commits_and_new_ones_are_of_the_same_kind(tmp_path: Path) -> None:
    old_key, _ = commit("g", "t", 0, 1)
    value = commit("g", "t", 0, 4)[1]
    assert old_key is not None
    Log(tmp_path).add((b"\0\0" + old_key[2:], value)).add(commit("g", "t", 0, 5))
    assert offsets(tmp_path) == {("g", "t", 0): 5}


def test_groups_come_and_go(tmp_path: Path) -> None:
    key = {"groupId": "g"}
    log = Log(tmp_path).add(coordinator("ConsumerGroupMetadata", key, {"epoch": 4}))
    assert [f.value["epoch"] for f in state(tmp_path, GROUP).facts.of_kind("consumer_group_metadata")] == [4]
    log.add(coordinator("ConsumerGroupMetadata", key, None))
    assert state(tmp_path, GROUP).facts.sorted() == []


def test_transactions_have_their_states_name(tmp_path: Path) -> None:
    for status in (1, 3, 99):
        pair = coordinator("TransactionLog", {"transactionalId": f"t{status}"}, {"transactionStatus": status})
        Log(tmp_path / str(status)).add(pair)
        fact = state(tmp_path / str(status), TRANSACTION).facts.sorted()[0]
        assert fact.kind == "transaction"
        assert fact.value["state"] == {1: "Ongoing", 3: "PrepareAbort", 99: "unknown-99"}[status]


def test_share_updates_are_merged_into_the_snapshot(tmp_path: Path) -> None:
    key = {"groupId": "g", "topicId": bytes(16), "partition": 0}

    def batches(*spans: tuple[int, int, int]) -> list[dict[str, int]]:
        return [
            {"firstOffset": first, "lastOffset": last, "deliveryState": how, "deliveryCount": 1}
            for first, last, how in spans
        ]

    log = Log(tmp_path).add(
        coordinator("ShareSnapshot", key, {"startOffset": 0, "stateBatches": batches((0, 9, 0), (10, 19, 0))})
    )
    log.add(coordinator("ShareUpdate", key, {"startOffset": -1, "stateBatches": batches((10, 19, 2))}))
    (fact,) = state(tmp_path, SHARE).facts.sorted()
    assert fact.kind == "share_partition"
    assert (fact.value["startOffset"], fact.value["stateBatches"]) == (0, batches((0, 9, 0), (10, 19, 2)))
    log.add(coordinator("ShareUpdate", key, {"startOffset": 10, "stateBatches": []}))
    (fact,) = state(tmp_path, SHARE).facts.sorted()
    assert fact.value["stateBatches"] == batches((10, 19, 2)), "what lies before the start is done"


def test_segments_are_one_log(tmp_path: Path) -> None:
    first = Log(tmp_path).add(commit("g", "t", 0, 1))
    Log(tmp_path, first.end).add(commit("g", "t", 0, 2))
    assert offsets(tmp_path) == {("g", "t", 0): 2}


def test_what_is_not_understood_is_counted(tmp_path: Path) -> None:
    Log(tmp_path).add((b"\0\x7f", b"?"), (None, b"?"), commit("g", "t", 0, 1))
    found = state(tmp_path, GROUP)
    assert found.problems == ["2 records could not be understood: kidx dump --decode shows them"]
    assert found.records == 3 and len(found.facts.sorted()) == 1


def test_a_log_that_breaks_off(tmp_path: Path) -> None:
    log = Log(tmp_path).add(commit("g", "t", 0, 1))
    size = (tmp_path / f"{0:020}.log").stat().st_size
    log.add(commit("g", "t", 0, 2))
    overwrite(tmp_path / f"{0:020}.log", size + 8, b"\xff" * 4)
    found = state(tmp_path, GROUP)
    assert f"break off at byte {size}" in found.problems[0]
    assert offsets(tmp_path) == {("g", "t", 0): 1}


def test_compaction_has_taken_the_past(tmp_path: Path) -> None:
    directory = tmp_path / "__consumer_offsets-0"
    Log(directory).add(commit("g", "t", 0, 1), commit("g", "t", 0, 2), commit("g", "t", 0, 3))
    (tmp_path / "cleaner-offset-checkpoint").write_text("0\n1\n__consumer_offsets 0 2\n")
    assert state(directory, GROUP).problems == []
    assert state(directory, GROUP, Moment(offset=2)).problems == []
    assert "up to offset 2" in state(directory, GROUP, Moment(offset=1)).problems[0]
    assert "up to offset 2" in state(directory, GROUP, Moment(timestamp_ms=TIME)).problems[0]


def test_which_topic_it_is(tmp_path: Path) -> None:
    for name in ("__transaction_state-3", "copy", "orders-0", "x"):
        (tmp_path / name).mkdir()
    assert family_of(Partition(str(tmp_path / "__transaction_state-3"))) == TRANSACTION
    assert family_of(Partition(str(tmp_path / "copy")), GROUP) == GROUP
    with pytest.raises(UsageError, match="not one of Kafka's own topics"):
        family_of(Partition(str(tmp_path / "orders-0")))
    assert family_of(Partition(str(tmp_path / "x")), REMOTE) == REMOTE


def test_a_directory_without_a_log(tmp_path: Path) -> None:
    with pytest.raises(CannotRead, match="no segment"):
        state(tmp_path, GROUP)
