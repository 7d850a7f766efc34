"""Both tiers together: bounds, times and records as the broker answered them."""

from __future__ import annotations

import hashlib
import shutil
from functools import cache
from pathlib import Path

import pytest

from kidx.formats.checkpoints import EpochStart
from kidx.logdir.log_dir import LogDir
from kidx.lookup.partition import SPECIAL
from kidx.state.remote_log import COPY_FINISHED, EpochIndex
from kidx.tiered.lineage import CopyFacts, is_within
from kidx.tiered.log import TieredReader, open_tiered
from kidx.tiered.metadata import metadata_partition, read_remote_log_metadata
from tests.support import kidx_here
from tests.tiered import recorded
from tests.tiered.recorded import LOCAL


@cache
def reader(place: str) -> TieredReader:
    home = recorded.unpacked(LOCAL)
    return open_tiered(str(home / "local" / place), [str(home / "remote")])


def test_bounds_are_the_brokers() -> None:
    rows = recorded.answers(LOCAL, "offsets.tsv")
    assert len(rows) > 60
    for row in rows:
        listed = reader(f"{row['topic']}-{row['partition']}").list_offsets(SPECIAL[row["spec"].replace("_", "-")])
        found = listed.found
        assert (found.offset if found else -1) == int(row["offset"]), row
        if found:
            assert str(found.leader_epoch) == row["leader_epoch"], row


def test_times_are_found_where_the_broker_found_them() -> None:
    rows = recorded.answers(LOCAL, "offsets_for_times.tsv")
    assert len(rows) > 300
    for row in rows:
        found = reader(f"{row['topic']}-{row['partition']}").list_offsets(int(row["timestamp"])).found
        assert (found.offset if found else -1) == int(row["offset"]), row
        if found:
            assert str(found.timestamp) == row["found_timestamp"], row


def test_every_record_that_a_consumer_was_given() -> None:
    def sha(data: bytes | None) -> str | None:
        return None if data is None else hashlib.sha256(data).hexdigest()

    checked = 0
    for place, isolation, count, digest in recorded.plain_answers(LOCAL, "records.tsv"):
        if isolation != "read_uncommitted" or not (recorded.unpacked(LOCAL) / "local" / place).is_dir():
            continue
        log = reader(place)
        control = control_offsets(log)
        records = [r for r in log.records() if r.offset not in control and r.offset < log.high_watermark]
        text = "".join(f"{r.offset} {r.timestamp} {sha(r.key)} {sha(r.value)}\n" for r in records)
        assert len(records) == int(count), place
        assert hashlib.sha256(text.encode()).hexdigest()[:16] == digest, place
        checked += 1
    assert checked > 10


def control_offsets(log: TieredReader) -> set[int]:
    from kidx.lookup.segment import SegmentReader

    found = set()
    for segment in log.segments:
        with SegmentReader(segment) as opened:
            found |= {batch.last_offset for batch in opened.batches_from(segment.base_offset) if batch.control}
    return found


def test_the_metadata_serves_offsets_as_kafkas_store() -> None:
    metadata = read_remote_log_metadata([LogDir(str(recorded.unpacked(LOCAL) / "local"))])
    assert metadata is not None and not metadata.problems
    rows = recorded.answers(LOCAL, "metadata_lookups.tsv")
    assert len(rows) > 100
    for row in rows:
        indexes = metadata.indexes[row["topic_id"], int(row["partition"])]
        index = indexes.by_epoch.get(int(row["leader_epoch"]))
        if row["from_offset"] == "highest":
            assert ("" if index is None or index.highest is None else str(index.highest)) == row["to_offset"]
            continue
        for offset in (int(row["from_offset"]), int(row["to_offset"])):
            segment = index.floor(offset) if index is not None else None
            if segment is not None:
                facts = metadata.segments[segment].facts
                later = [start for epoch, start in facts.epochs.items() if epoch > int(row["leader_epoch"])]
                if offset > min(later, default=facts.end + 1) - 1:
                    segment = None
            assert (segment or "") == row["segment"], row


def test_segments_are_in_the_metadata_partition_that_is_computed() -> None:
    metadata = read_remote_log_metadata([LogDir(str(recorded.unpacked(LOCAL) / "local"))])
    assert metadata is not None
    for segment in metadata.segments.values():
        assert segment.file.endswith(f"-{metadata_partition(segment.topic_id, segment.partition, 3)}")
        assert metadata.knows(segment.topic_id, segment.partition)


def test_without_metadata_the_objects_decide(tmp_path: Path) -> None:
    home = recorded.unpacked(LOCAL)
    local = tmp_path / "local"
    shutil.copytree(home / "local", local, ignore=shutil.ignore_patterns("__remote_log_metadata-*"))
    place, _ = answered("latest-tiered")
    alone = open_tiered(str(local / place), [str(home / "remote")])
    assert alone.log.metadata is None
    whole = reader(place)
    assert [r.offset for r in alone.records()] == [r.offset for r in whole.records()]
    assert alone.log.highest_remote == whole.log.highest_remote


def test_the_directory_of_a_tier_is_a_partition() -> None:
    metadata = read_remote_log_metadata([LogDir(str(recorded.unpacked(LOCAL) / "local"))])
    assert metadata is not None
    listed = next(s for s in metadata.segments.values() if s.state == COPY_FINISHED and s.facts.start == 0)
    directory = next((recorded.unpacked(LOCAL) / "remote").rglob(f"*-{listed.segment_id}.log")).parent
    ran = kidx_here("lookup", directory, "--offset", listed.facts.end, "--format", "jsonl")
    assert ran.status == 0
    assert ran.rows[0]["record"]["offset"] == listed.facts.end


def answered(word: str) -> tuple[str, int]:
    """A partition for which the broker had an offset, and this."""
    for row in recorded.answers(LOCAL, "offsets.tsv"):
        if row["spec"] == word.replace("-", "_") and row["offset"] != "-1":
            return f"{row['topic']}-{row['partition']}", int(row["offset"])
    raise AssertionError(word)


@pytest.mark.parametrize("word", ["latest-tiered", "earliest-local", "earliest-pending-upload"])
def test_lookup_on_the_command_line(word: str) -> None:
    home = recorded.unpacked(LOCAL)
    name, offset = answered(word)
    place = home / "local" / name
    ran = kidx_here("lookup", place, "--remote", home / "remote", "--timestamp", word, "--format", "jsonl")
    assert (ran.status, ran.rows[0]["found"]["offset"]) == (0, offset)
    if word == "latest-tiered":
        alone = kidx_here("lookup", place, "--timestamp", word)
        assert alone.status == 3 and b"--remote" in alone.err


@pytest.mark.parametrize(
    ("epochs", "end", "within"),
    [  # the log: epoch 5 from 10, 7 from 15, 9 from 100 (the example of RemoteLogManager)
        ({5: 10, 7: 15}, 50, True),
        ({5: 14, 7: 15, 9: 100}, 150, True),
        ({5: 0}, 14, True),
        ({5: 10}, 15, False),
        ({7: 12}, 50, False),
        ({7: 15, 8: 60}, 90, False),
        ({5: 10, 7: 16}, 50, False),
        ({5: 10, 9: 100}, 150, False),
        ({3: 2}, 9, False),
        ({3: 2, 5: 10}, 14, True),
        ({9: 100, 11: 200}, 250, False),
        ({9: 120}, 150, True),
    ],
)
def test_which_copies_belong_to_a_log(epochs: dict[int, int], end: int, within: bool) -> None:
    lineage = [EpochStart(5, 10), EpochStart(7, 15), EpochStart(9, 100)]
    assert is_within(CopyFacts("id", min(epochs.values()), end, epochs, -1), lineage) is within


def test_a_later_copy_takes_the_place_of_those_it_covers() -> None:
    """The cases of RemoteLogLeaderEpochState, and a deletion."""
    index = EpochIndex()
    index.add(10, "a", 90)
    index.add(5, "b", 100)
    index.add(101, "c", 200)
    assert [index.floor(o) for o in (4, 5, 95, 101, 150)] == [None, "b", "b", "c", "c"]
    index.add(101, "d", 150)  # ends before what is there already: both stay, the later one at its start
    assert index.floor(120) == "d" and index.highest == 200
    index.remove(5, "b")
    assert index.floor(50) is None and index.next_start(50) == 101
