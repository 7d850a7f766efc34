from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kidx.errors import CannotRead, UsageError
from kidx.logdir.tree import Partition
from kidx.lookup.partition import READ_COMMITTED, SPECIAL, PartitionReader
from kidx.lookup.transactions import open_transactions
from tests.building import message
from tests.damage import flip_byte
from tests.support import KAFKA_SETS


def txn_partitions() -> list[Path]:
    return [kafka / stage / "txn-0" for kafka in KAFKA_SETS for stage in ("clean", "live", "unclean")]


@pytest.mark.parametrize("source", [p for p in txn_partitions() if p.is_dir()], ids=lambda p: "-".join(p.parts[-3:-1]))
def test_open_transactions_are_the_same_from_any_snapshot(source: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(source, tmp_path / "txn-0"))
    end = PartitionReader(Partition(str(copy))).end_offset
    expected = open_transactions(Partition(str(copy)), end)
    for snapshot in sorted(copy.glob("*.snapshot"), reverse=True):
        flip_byte(snapshot, -1)  # its CRC no longer holds: the one before it counts
        assert open_transactions(Partition(str(copy)), end) == expected
        snapshot.unlink()
        assert open_transactions(Partition(str(copy)), end) == expected


def test_an_unfinished_transaction_holds_the_last_stable_offset_back() -> None:
    partition = PartitionReader(Partition(str(KAFKA_SETS[0] / "unclean" / "txn-0")))
    open_ones = open_transactions(partition.partition, partition.end_offset)
    assert open_ones and partition.last_stable_offset == min(partition.high_watermark, *open_ones.values())
    assert partition.list_offsets(-1, isolation=READ_COMMITTED).found[2] == partition.last_stable_offset  # type: ignore[index]


def test_a_partition_alone_ends_with_its_log(tmp_path: Path) -> None:
    source = KAFKA_SETS[0] / "clean" / "trimmed-0"
    copy = PartitionReader(Partition(str(shutil.copytree(source, tmp_path / "some" / "copy"))))
    there = PartitionReader(Partition(str(source)))
    assert copy.high_watermark == copy.end_offset == there.end_offset
    assert copy.start_offset == copy.segments[0].base_offset < there.start_offset == 120


def test_the_modification_time_stands_in_for_a_segment_without_timestamps(tmp_path: Path) -> None:
    """LogSegment.largestTimestamp: nothing indexed means the file's own time, so retention can go on."""
    empty = PartitionReader(Partition(str(shutil.copytree(KAFKA_SETS[0] / "clean" / "empty-0", tmp_path / "empty-0"))))
    assert empty.segment_of_time(0) is empty.segments[0]
    assert empty.segment_of_time(2**62) is None


@pytest.mark.parametrize("kafka", KAFKA_SETS, ids=lambda p: p.name)
def test_what_list_offsets_is_asked_with_negative_numbers(kafka: Path) -> None:
    """As UnifiedLog.fetchOffsetByTimestamp and Partition.fetchOffsetForTimestamp answer without tiered storage."""
    partition = PartitionReader(Partition(str(kafka / "clean" / "trimmed-0")))
    listed = {word: partition.list_offsets(number).found for word, number in SPECIAL.items() if number > -5}
    offsets = {word: found and found.offset for word, found in listed.items()}
    start = partition.start_offset
    assert partition.segments[0].base_offset < start  # deleted up to the middle of a segment
    assert offsets == {
        "latest": partition.end_offset,
        "earliest": start,
        "max-timestamp": partition.end_offset - 1,
        "earliest-local": start,
    }
    assert {found.leader_epoch for found in listed.values() if found} == {0}
    for number in (-5, -6):
        with pytest.raises(CannotRead, match="__remote_log_metadata"):
            partition.list_offsets(number)
    with pytest.raises(UsageError, match="-7 is no time"):
        partition.list_offsets(-7)
    with pytest.raises(UsageError, match="--start"):
        partition.list_offsets(-2, start=3)


def test_the_largest_timestamp_of_a_partition_without_timestamps_is_none(tmp_path: Path) -> None:
    log = tmp_path / f"{0:020d}.log"
    log.write_bytes(message(b"old", magic=0))
    assert PartitionReader(Partition(str(tmp_path))).list_offsets(SPECIAL["max-timestamp"]).found is None
