"""kidx state over whole log dirs: groups and transactions wherever they are, lag, replicas, topics' names."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from kidx.text.java import positive_hash
from tests.building import batch, record
from tests.state.building import Log, commit, coordinator, metadata
from tests.support import kidx_here

TOPIC_ID = bytes(range(16))
TOPIC_ID_TEXT = "AAECAwQFBgcICQoLDA0ODw"


def data_log(directory: Path, base_offset: int, end_offset: int) -> None:
    """A log with the offsets [base_offset, end_offset)."""
    directory.mkdir(parents=True)
    records = [record(i, 0, b"k", b"v") for i in range(end_offset - base_offset)]
    (directory / f"{base_offset:020}.log").write_bytes(batch(records, base_offset=base_offset))


@pytest.fixture
def log_dir(tmp_path: Path) -> Path:
    """A log dir with three partitions of __consumer_offsets, metadata that says so, and two logs."""
    root = tmp_path / "data"
    partitions = [metadata("Partition", topicId=bytes([9] * 16), partitionId=i) for i in range(3)]
    Log(root / "__cluster_metadata-0").add(
        metadata("Topic", name="__consumer_offsets", topicId=bytes([9] * 16)),
        *partitions,
        metadata("Topic", name="orders", topicId=TOPIC_ID),
    )
    logs = [Log(root / f"__consumer_offsets-{i}") for i in range(3)]
    logs[positive_hash("billing") % 3].add(
        commit("billing", "orders", 0, 15), commit("billing", "orders", 1, 3), commit("billing", "gone", 0, 3)
    )
    logs[positive_hash("audit") % 3].add(commit("audit", "orders", 0, 99))
    data_log(root / "orders-0", 10, 20)
    data_log(root / "orders-1", 5, 8)
    return root


def rows_of(*args: object) -> list[dict[str, Any]]:
    ran = kidx_here("state", *args, "--format", "jsonl")
    assert (ran.status, ran.err) == (0, b"")
    return ran.rows


def test_a_group_is_found_with_its_lag(log_dir: Path) -> None:
    rows = rows_of(log_dir, "--group", "billing")
    lag = {
        (r["key"]["topic"], r["key"]["partition"]): (
            r["log_start_offset"],
            r["log_end_offset"],
            r["lag"],
            r["out_of_range"],
        )
        for r in rows
    }
    assert lag == {
        ("orders", 0): (10, 20, 5, None),
        ("orders", 1): (5, 8, None, "before_start"),
        ("gone", 0): (None, None, None, None),
    }
    assert {r["directory"] for r in rows} == {str(log_dir / f"__consumer_offsets-{positive_hash('billing') % 3}")}
    (audit,) = rows_of(log_dir, "--group", "audit")
    assert (audit["lag"], audit["out_of_range"]) == (-79, "after_end")


def test_only_the_partition_of_the_group_is_read(log_dir: Path) -> None:
    other = log_dir / f"__consumer_offsets-{(positive_hash('billing') + 1) % 3}" / f"{0:020}.log"
    other.write_bytes(b"\1" * 100)
    assert len(rows_of(log_dir, "--group", "billing")) == 3
    shutil.rmtree(log_dir / f"__consumer_offsets-{positive_hash('billing') % 3}")
    ran = kidx_here("state", log_dir, "--group", "billing")
    assert ran.status == 3 and b"billing belongs to __consumer_offsets-" in ran.err


def test_a_topic(log_dir: Path) -> None:
    assert {r["kind"] for r in rows_of(log_dir, "--topic", "orders")} == {"topic", "committed_offset"}
    assert len(rows_of(log_dir, "--topic", "orders", "--kind", "committed_offset")) == 3
    screen = kidx_here("state", log_dir, "--topic", "orders").out.decode()
    assert "before_start" in screen and "4 partitions: 4 facts" in screen


def test_a_transaction_by_its_id_or_its_topic(tmp_path: Path) -> None:
    value = {"producerId": 7, "transactionPartitions": [{"topic": "orders", "partitionIds": [1]}]}
    Log(tmp_path / "__transaction_state-4").add(
        coordinator("TransactionLog", {"transactionalId": "pay-1"}, value),
        coordinator("TransactionLog", {"transactionalId": "pay-2"}, {"producerId": 8, "transactionPartitions": []}),
    )
    assert [r["value"]["producerId"] for r in rows_of(tmp_path, "--transactional-id", "pay-2")] == [8]
    assert [r["value"]["producerId"] for r in rows_of(tmp_path, "--topic", "orders")] == [7]


def test_the_replica_that_ends_last_counts(log_dir: Path, tmp_path: Path) -> None:
    second = shutil.copytree(log_dir, tmp_path / "broker2")
    name = f"__consumer_offsets-{positive_hash('billing') % 3}"
    log = Log(second / name, 50)
    log.add(commit("billing", "orders", 0, 17))
    data_log(tmp_path / "broker3" / "orders-0", 10, 30)
    rows = rows_of(log_dir, second, tmp_path / "broker3", "--group", "billing", "--topic", "orders")
    assert [(r["directory"], r["value"]["offset"], r["lag"]) for r in rows] == [
        (str(second / name), 17, 13),
        (str(second / name), 3, None),
    ]


def test_topics_have_names_where_the_metadata_is_known(log_dir: Path) -> None:
    key = {"groupId": "sharers", "topicId": TOPIC_ID, "partition": 0}
    Log(log_dir / "__share_group_state-0").add(
        coordinator("ShareSnapshot", key, {"startOffset": 4, "stateBatches": []})
    )
    (row,) = rows_of(log_dir, "--group", "sharers", "--kind", "share_partition")
    assert row["key"] == {"topic": "orders", "groupId": "sharers", "topicId": TOPIC_ID_TEXT, "partition": 0}
    assert rows_of(log_dir, "--topic", "orders", "--kind", "share_partition") == [row]


def test_what_is_refused(log_dir: Path) -> None:
    ran = kidx_here("state", log_dir / "orders-0", log_dir / "orders-1")
    assert ran.status == 2 and b"no partition of __cluster_metadata or __consumer_offsets" in ran.err
    ran = kidx_here("state", log_dir, "--transactional-id", "x")
    assert ran.status == 2 and b"no partition of __transaction_state is in or below the paths" in ran.err
    ran = kidx_here("state", log_dir, "--at", "4")
    assert ran.status == 2 and b"each has its own offsets" in ran.err
    assert kidx_here("state").status == 2


def test_offsets_for_a_reset_of_groups(log_dir: Path) -> None:
    ran = kidx_here("state", log_dir, "--group", "billing", "--format", "reset-offsets")
    assert (ran.status, ran.out) == (0, b"gone,0,3\norders,0,15\norders,1,3\n")
    ran = kidx_here("state", log_dir, "--topic", "orders", "--format", "reset-offsets")
    assert ran.out == b"audit,orders,0,99\nbilling,orders,0,15\nbilling,orders,1,3\n"
    assert kidx_here("state", log_dir, "--diff", "now-1h", "now", "--format", "reset-offsets").status == 2
