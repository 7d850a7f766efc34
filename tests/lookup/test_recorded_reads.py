"""Every read by offset and by time that Kafka's own classes and brokers were asked for."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from kidx.logdir.names import FileName
from kidx.logdir.tree import Partition
from kidx.lookup.partition import READ_COMMITTED, PartitionReader
from kidx.lookup.segment import FoundTime, SegmentReader, segment_of
from tests.support import KAFKA_SETS, answers

sets = pytest.mark.parametrize("kafka", KAFKA_SETS, ids=lambda path: path.name)


def open_segment(kafka: Path, row: dict[str, str]) -> SegmentReader:
    base = int(row["base"])
    path = kafka / row["partition"] / f"{base:020d}.log"
    return SegmentReader(segment_of(str(path), FileName("log", base, ""), base))


@sets
def test_reads(kafka: Path) -> None:
    rows = answers(kafka, "reads.tsv")
    assert rows
    for row in rows:
        with open_segment(kafka, row) as reader:
            found = reader.translate_offset(int(row["target"]))
            if row["offset"] == "none":
                assert found.batch is None, row
            else:
                assert found.batch is not None, row
                got = [found.base_offset, found.batch.position, found.batch.size]
                assert got == [int(row["offset"]), int(row["position"]), int(row["size"])], row
            assert not reader.troubles


@sets
def test_finds(kafka: Path) -> None:
    rows = answers(kafka, "finds.tsv")
    assert rows
    for row in rows:
        with open_segment(kafka, row) as reader:
            found = reader.find_by_timestamp(int(row["timestamp"]), int(row["start"]))
        if row["found_timestamp"] == "none":
            assert found.offset is None, row
        else:
            epoch = None if row["epoch"] == "none" else int(row["epoch"])
            assert found[1:] == (int(row["found_timestamp"]), int(row["offset"]), epoch), row


@sets
@pytest.mark.parametrize(("stage", "name"), [("clean", "offsets_for_times.tsv"), ("old", "offsets_for_times_old.tsv")])
def test_offsets_for_times(kafka: Path, stage: str, name: str) -> None:
    rows = answers(kafka, name)
    assert rows or stage == "old"
    ask = partitions(kafka / stage)
    for row in rows:
        found = ask(row["partition"], int(row["timestamp"]))
        assert (None if found is None else found.offset) == (int(row["offset"]) if row["offset"] else None), row
        if found is not None and row["found_timestamp"]:
            assert found.timestamp == int(row["found_timestamp"]), row


def partitions(log_dir: Path) -> Callable[[str, int], FoundTime | None]:
    @cache
    def opened(name: str) -> PartitionReader:
        return PartitionReader(Partition(str(log_dir / name)))

    return lambda name, timestamp: opened(name).list_offsets(timestamp).found


@sets
def test_visible_to_read_committed(kafka: Path) -> None:
    rows = answers(kafka, "txn_visible.tsv")
    assert rows
    partition = PartitionReader(Partition(str(kafka / "clean" / "txn-0")))
    seen = set()
    for row in rows:
        offset = int(row["offset"])
        segment = partition.segment_for(offset)
        with SegmentReader(segment) as reader:
            found = reader.translate_offset(offset)
        assert found.batch is not None and found.record is not None and found.record.offset == offset, row
        visible = partition.visible(segment, found.batch, offset, READ_COMMITTED)
        assert visible == (row["visible_to_read_committed"] == "1"), row
        seen.add(visible)
    assert seen == {True, False}
