from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from kidx.errors import CannotRead, UsageError
from kidx.formats.indexes import TRANSACTION_INDEX
from kidx.formats.producer_snapshot import parse_snapshot, snapshot_bytes
from kidx.logdir.tree import Partition
from kidx.lookup.partition import READ_COMMITTED, READ_UNCOMMITTED, SPECIAL, PartitionReader
from kidx.lookup.segment import SegmentReader
from kidx.lookup.transactions import batches_since, open_transactions
from tests.building import batch, message, record
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


def test_the_ends_are_answered_without_reading_a_segment() -> None:
    partition = PartitionReader(Partition(str(KAFKA_SETS[0] / "clean" / "trimmed-0")))
    end, start = partition.list_offsets(SPECIAL["latest"]), partition.list_offsets(SPECIAL["earliest"])
    assert end == (None, (0, -1, partition.end_offset, 0), 0, None)
    assert start == (None, (0, -1, 120, 0), 0, None)


def test_without_checkpoints_the_log_says_where_it_begins_and_ends_and_no_epoch_is_known(tmp_path: Path) -> None:
    copy = Path(shutil.copytree(KAFKA_SETS[0] / "clean" / "trimmed-0", tmp_path / "trimmed-0"))
    (copy / "leader-epoch-checkpoint").unlink()
    partition = PartitionReader(Partition(str(copy)))
    assert (partition.start_offset, partition.high_watermark) == (90, partition.end_offset)
    assert partition.list_offsets(SPECIAL["latest"]).found == (0, -1, partition.end_offset, None)
    assert partition.list_offsets(SPECIAL["earliest"]).found == (0, -1, 90, None)


def test_the_epoch_of_an_offset_is_the_newest_that_began_by_then(tmp_path: Path) -> None:
    copy = Path(shutil.copytree(KAFKA_SETS[0] / "clean" / "trimmed-0", tmp_path / "trimmed-0"))
    for first, epoch in ((90, 5), (91, 3)):
        (copy / "leader-epoch-checkpoint").write_text(f"0\n3\n3 0\n5 {first}\n7 100\n")
        partition = PartitionReader(Partition(str(copy)))
        assert partition.list_offsets(SPECIAL["earliest"]).found == (0, -1, 90, epoch)
        assert partition.list_offsets(SPECIAL["latest"]).found == (0, -1, partition.end_offset, 7)


def test_a_checkpoint_of_the_high_watermark_holds_back_what_is_past_it(tmp_path: Path) -> None:
    """A high watermark past the log's end is cut to it; a record at it is withheld, the one before it is not."""
    copy = Path(shutil.copytree(KAFKA_SETS[0] / "clean" / "plain-0", tmp_path / "plain-0"))
    end = PartitionReader(Partition(str(copy))).end_offset
    for checkpointed, wanted in ((end + 5, end), (100, 100)):
        (tmp_path / "replication-offset-checkpoint").write_text(f"0\n2\nplain 1 7\nplain 0 {checkpointed}\n")
        assert PartitionReader(Partition(str(copy))).high_watermark == wanted
    partition = PartitionReader(Partition(str(copy)))
    assert partition.fetch_end(None) == partition.fetch_end(READ_COMMITTED) == 100
    segment = partition.segment_for(99)
    with SegmentReader(segment) as reader:
        batch = reader.translate_offset(99).batch
        assert batch is not None
    assert partition.visible(segment, batch, 99, READ_UNCOMMITTED)
    assert not partition.visible(segment, batch, 100, READ_UNCOMMITTED)
    latest = partition.list_offsets(SPECIAL["max-timestamp"])
    assert latest.found is None and "consumers can read up to 100" in str(latest.why)


def test_offsets_out_of_range_are_those_before_the_start_and_past_the_end() -> None:
    partition = PartitionReader(Partition(str(KAFKA_SETS[0] / "clean" / "trimmed-0")))
    start, end = partition.start_offset, partition.end_offset
    assert partition.out_of_range(start) is None and partition.out_of_range(end) is None
    assert f"below the log start offset {start}" in str(partition.out_of_range(start - 1))
    assert f"past the log end offset {end}" in str(partition.out_of_range(end + 1))


def test_an_offset_belongs_to_the_last_segment_that_begins_by_then() -> None:
    partition = PartitionReader(Partition(str(KAFKA_SETS[0] / "clean" / "txn-0")))
    bases = [segment.base_offset for segment in partition.segments]
    assert len(bases) > 2
    for base, before in zip(bases[1:], bases, strict=False):
        assert partition.segment_for(base).base_offset == base
        assert partition.segment_for(base - 1).base_offset == before
    assert partition.segment_for(-1).base_offset == bases[0]
    assert [s.base_offset for s in partition.segments_from(partition.segments[1])] == bases[1:]
    assert [partition.active(segment) for segment in partition.segments] == [False] * (len(bases) - 1) + [True]


def test_time_0_is_a_time_and_may_have_a_start() -> None:
    partition = PartitionReader(Partition(str(KAFKA_SETS[0] / "clean" / "plain-0")))
    assert partition.list_offsets(0).found[2] == 0  # type: ignore[index]
    assert partition.list_offsets(0, start=7).found[2] == 7  # type: ignore[index]


def test_the_largest_time_is_found_in_the_batch_that_has_it_as_its_maximum(tmp_path: Path) -> None:
    """A record of that time in an earlier batch, whose header says otherwise, is passed over."""
    log = tmp_path / f"{0:020d}.log"
    log.write_bytes(
        batch([record(0)], base_timestamp=500, max_timestamp=400)
        + batch([record(0)], base_offset=1, base_timestamp=500)
    )
    assert PartitionReader(Partition(str(tmp_path))).list_offsets(SPECIAL["max-timestamp"]).found[2] == 1  # type: ignore[index]


def test_the_batch_that_ends_with_the_offset_asked_for_is_among_those_since(tmp_path: Path) -> None:
    log = tmp_path / f"{0:020d}.log"
    log.write_bytes(batch([record(0), record(1)]) + batch([record(0)], base_offset=2))
    for since, bases in ((1, [0, 2]), (2, [2]), (3, [])):
        assert [b.base_offset for b in batches_since(Partition(str(tmp_path)), since)] == bases


def test_no_time_is_so_late() -> None:
    partition = PartitionReader(Partition(str(KAFKA_SETS[0] / "clean" / "plain-0")))
    assert partition.list_offsets(2**60) == (None, None, 0, "no segment has a timestamp so late")


def test_read_uncommitted_gets_aborted_records_and_nobody_gets_markers() -> None:
    partition = PartitionReader(Partition(str(KAFKA_SETS[0] / "clean" / "txn-0")))
    aborted = committed = markers = 0
    for segment in partition.segments:
        with SegmentReader(segment) as reader:
            for batch in reader.batches_from(0):
                sees = [
                    partition.visible(segment, batch, batch.base_offset, i) for i in (READ_UNCOMMITTED, READ_COMMITTED)
                ]
                markers += batch.control and sees == [False, False]
                aborted += sees == [True, False]
                committed += sees == [True, True]
                assert not (batch.control and any(sees))
    assert aborted and committed and markers


def test_a_transaction_that_began_at_the_first_offset_is_open(tmp_path: Path) -> None:
    """Known from a producer snapshot alone: its batches lie before what is read."""
    copy = Path(shutil.copytree(KAFKA_SETS[0] / "clean" / "txn-0", tmp_path / "txn-0"))
    snapshot = max(copy.glob("*.snapshot"))
    producer = parse_snapshot(snapshot.read_bytes()).producers[0]
    opened = [producer._replace(producer_id=n, current_txn_first_offset=first) for n, first in ((1, 0), (2, -1))]
    snapshot.write_bytes(snapshot_bytes(opened))
    end = PartitionReader(Partition(str(copy))).end_offset
    assert int(snapshot.stem) == end
    assert open_transactions(Partition(str(copy)), end) == {1: 0}


def test_the_largest_timestamp_of_a_partition_without_timestamps_is_none(tmp_path: Path) -> None:
    log = tmp_path / f"{0:020d}.log"
    log.write_bytes(message(b"old", magic=0))
    assert PartitionReader(Partition(str(tmp_path))).list_offsets(SPECIAL["max-timestamp"]).found is None


def segments_of(place: Path, segments: dict[int, list[int]]) -> PartitionReader:
    """Segments of batches of one record, the timestamps given; offsets without a gap from the first base on."""
    offset = min(segments)
    for base, stamps in segments.items():
        made = [batch([record(0)], base_offset=offset + n, base_timestamp=t) for n, t in enumerate(stamps)]
        (place / f"{base:020d}.log").write_bytes(b"".join(made))
        offset += len(stamps)
    return PartitionReader(Partition(str(place)))


def test_every_offset_is_in_the_segment_that_has_it(tmp_path: Path) -> None:
    partition = segments_of(tmp_path, {5: [1, 2], 7: [3], 8: []})
    for offset in range(3, 11):
        segment, found = partition.find_offset(offset)
        if 5 <= offset < 8:
            assert segment is not None and found.batch is not None
            assert (segment.base_offset, found.batch.base_offset) == (5 if offset < 7 else 7, offset)
        else:
            assert segment is None and found.batch is None
    for file in tmp_path.glob("*7.log"):
        file.write_bytes(b"")  # a fetch goes on in the next segment that has something
    (tmp_path / f"{8:020d}.log").write_bytes(batch([record(0)], base_offset=8))
    segment, found = PartitionReader(Partition(str(tmp_path))).find_offset(7)
    assert segment is not None and found.batch is not None
    assert (segment.base_offset, found.batch.base_offset) == (8, 8)


def test_every_record_from_an_offset_on(tmp_path: Path) -> None:
    partition = segments_of(tmp_path, {5: [1, 2], 7: [3], 8: [4]})
    assert [r.offset for r in partition.records()] == [5, 6, 7, 8]
    for start in range(4, 10):
        assert [r.offset for r in partition.records(start)] == [n for n in range(5, 9) if n >= start]
    trimmed = PartitionReader(Partition(str(KAFKA_SETS[0] / "clean" / "trimmed-0")))
    assert next(iter(trimmed.records())).offset == trimmed.start_offset == 120


def test_a_time_is_in_the_first_segment_that_reaches_it(tmp_path: Path) -> None:
    partition = segments_of(tmp_path, {0: [10, 30], 2: [20, 40], 4: [40, 5]})
    bases = {timestamp: partition.segment_of_time(timestamp) for timestamp in (0, 10, 30, 31, 40, 41)}
    assert {t: s and s.base_offset for t, s in bases.items()} == {0: 0, 10: 0, 30: 0, 31: 2, 40: 2, 41: None}
    assert partition.segment_of_largest_time()[1:] == (40, 3)
    assert partition.segment_of_largest_time()[0].base_offset == 2
    for timestamp, start, offset in ((0, None, 0), (11, None, 1), (31, None, 3), (40, None, 3), (10, 1, 1)):
        found = partition.list_offsets(timestamp, start)
        assert found.found is not None and found.found.offset == offset
    none = partition.list_offsets(30, 2)  # only the first segment that reaches the time is searched
    assert none.found is None and none.why == "the segment that reaches this time has no such record"
    assert none.segment is not None and none.segment.base_offset == 0


def test_a_segment_without_timestamps_is_as_old_as_its_file(tmp_path: Path) -> None:
    log = tmp_path / f"{0:020d}.log"
    log.write_bytes(batch([record(0)], base_timestamp=-1))
    os.utime(log, ns=(0, 7_000_000))
    partition = PartitionReader(Partition(str(tmp_path)))
    assert partition.segment_of_time(7) is partition.segments[0]
    assert partition.segment_of_time(8) is None
    log.write_bytes(batch([record(0)], base_timestamp=0))
    os.utime(log, ns=(0, 7_000_000))
    assert PartitionReader(Partition(str(tmp_path))).segment_of_time(1) is None


def test_what_an_isolation_level_can_read() -> None:
    partition = PartitionReader(Partition(str(KAFKA_SETS[0] / "unclean" / "txn-0")))
    assert partition.last_stable_offset < partition.high_watermark
    assert partition.fetch_end(READ_COMMITTED) == partition.last_stable_offset
    for isolation in (READ_UNCOMMITTED, None):
        assert partition.fetch_end(isolation) == partition.high_watermark


@pytest.mark.parametrize(("number", "word"), [(-5, "latest-tiered"), (-6, "earliest-pending-upload")])
def test_what_tiered_storage_alone_knows_is_named(number: int, word: str) -> None:
    partition = PartitionReader(Partition(str(KAFKA_SETS[0] / "clean" / "plain-0")))
    with pytest.raises(CannotRead, match=rf"{word} \({number}\) is known from __remote_log_metadata alone"):
        partition.list_offsets(number)


def test_a_directory_without_a_log_is_refused(tmp_path: Path) -> None:
    (tmp_path / f"{0:020}.index").write_bytes(bytes(8))
    with pytest.raises(CannotRead, match="there is no segment in it"):
        PartitionReader(Partition(str(tmp_path)))


def test_a_transaction_hides_only_its_own_records(tmp_path: Path) -> None:
    """A producer without a transaction has the same id between the first and the last offset of an aborted one."""
    batches = [
        batch([record(0)], base_offset=0, attributes=0x10, producer=(7, 0, 0)),
        batch([record(0)], base_offset=1, producer=(7, 0, 1)),
    ]
    (tmp_path / f"{0:020}.log").write_bytes(b"".join(batches))
    (tmp_path / f"{0:020}.txnindex").write_bytes(TRANSACTION_INDEX.struct.pack(0, 7, 0, 1, 2))
    partition = PartitionReader(Partition(str(tmp_path)))
    partition.last_stable_offset = 2  # as its marker, which is left out here, makes it
    segment = partition.segments[0]
    with SegmentReader(segment) as reader:
        inside, beside = reader.batches_from(0)
    assert [partition.visible(segment, inside, 0, i) for i in (READ_COMMITTED, READ_UNCOMMITTED)] == [False, True]
    assert [partition.visible(segment, beside, 1, i) for i in (READ_COMMITTED, READ_UNCOMMITTED)] == [True, True]
