"""One segment's look-ups: fetch sizes, ends, the largest timestamp, pages touched, and what it stumbles over."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from kidx.errors import LimitExceeded
from kidx.formats.batches import Batch
from kidx.formats.indexes import OFFSET_INDEX, TIME_INDEX
from kidx.logdir.names import INDEX_OF_KIND, LOG, OFFSET, TIME, FileName
from kidx.logdir.tree import Partition
from kidx.lookup.segment import SegmentReader, segment_of
from kidx.segments.records import read_records
from tests import damage
from tests.building import batch, record
from tests.support import KAFKA_SETS

NEWEST = KAFKA_SETS[0]
NAME = f"{0:020}"


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    return Path(shutil.copytree(NEWEST / "clean/plain-0", tmp_path / "plain-0"))


def opened(partition: Path, number: int = 0) -> SegmentReader:
    return SegmentReader(Partition(str(partition)).segments[number])


def batches(partition: Path) -> list[Batch]:
    with opened(partition) as reader:
        return list(reader.batches_from(0))


def test_a_fetch_gets_at_least_the_batch_found_and_whole_batches_are_counted(plain: Path) -> None:
    every = batches(plain)
    first, second, third = every[3:6]
    log_bytes = (plain / f"{NAME}.log").stat().st_size
    with opened(plain) as reader:
        assert reader.slice(first, 1) == (first.position, first.size, first.last_offset, 0)
        both = first.size + second.size
        assert reader.slice(first, both) == (first.position, both, second.last_offset, 0)
        assert reader.slice(first, both + third.size - 1) == (
            first.position, both + third.size - 1, second.last_offset, third.size - 1
        )  # fmt: skip
        rest = log_bytes - first.position
        assert reader.slice(first, 1 << 30) == (first.position, rest, every[-1].last_offset, 0)


def test_batches_from_an_offset_begin_where_the_index_leads(plain: Path) -> None:
    every = batches(plain)
    slot = 4
    offset, position = damage.entry(plain / f"{NAME}.index", slot)
    with opened(plain) as reader:
        assert [b.position for b in reader.batches_from(offset)] == [
            b.position for b in every if b.position >= position
        ]
        assert reader.end_offset() == every[-1].last_offset + 1
        assert reader.translate_offset(offset)[:2] == (slot, position)
        assert reader.translate_offset(every[0].base_offset)[:3] == (-1, 0, every[0].size)


def test_an_offset_past_the_end_is_not_found_after_a_walk_to_the_end(plain: Path) -> None:
    end = batches(plain)[-1]
    with opened(plain) as reader:
        found = reader.translate_offset(end.last_offset + 1)
        slot = damage.entry(plain / f"{NAME}.index", -1)
        assert found == (
            (plain / f"{NAME}.index").stat().st_size // 8 - 1,
            slot[1],
            end.next_position - slot[1],
            None,
            -1,
            None,
        )


def test_an_empty_log_ends_where_it_begins() -> None:
    with opened(NEWEST / "clean/empty-0") as reader:
        assert reader.end_offset() == 0
        assert reader.largest_timestamp(active=True) == (-1, 0)


def test_the_largest_timestamp_of_a_rolled_segment_is_its_last_time_entrys(plain: Path) -> None:
    last = damage.entry(plain / f"{NAME}.timeindex", -1)
    later = max(b.max_timestamp for b in batches(plain)) + 1000
    damage.set_header(plain / f"{NAME}.log", batches(plain)[-1].position, max_timestamp=later)
    with opened(plain) as reader:
        assert reader.largest_timestamp(active=False) == last
        assert reader.largest_timestamp(active=True) == (later, batches(plain)[-1].last_offset)
    damage.zero_tail(plain / f"{NAME}.timeindex", 1 << 14)  # preallocated: entries may be missing
    with opened(plain) as reader:
        assert reader.largest_timestamp(active=False)[0] == later


def test_a_missing_index_is_named_and_the_walk_begins_at_the_start(plain: Path) -> None:
    target = batches(plain)[40].last_offset
    with opened(plain) as reader:
        there = reader.translate_offset(target)
        assert reader.missing == []
    (plain / f"{NAME}.index").unlink()
    (plain / f"{NAME}.timeindex").unlink()
    with opened(plain) as reader:
        found = reader.translate_offset(target)
        assert reader.missing == [OFFSET, TIME]
        assert (found.index_slot, found.index_position) == (-1, 0) and found[3:] == there[3:]
        assert found.bytes_walked == batches(plain)[40].next_position
        assert reader.pages()["index"] == []
        assert reader.largest_timestamp(active=False)[0] == max(b.max_timestamp for b in batches(plain))


STUMBLES: dict[str, tuple[Callable[[Path], object], str]] = {
    "an index past the log": (
        lambda p: damage.set_entry(p / f"{NAME}.index", 4, damage.entry(p / f"{NAME}.index", 4)[0], 2**31 - 1),
        "leads to byte 2147483647 (slot 4)",
    ),
    "an index before the log": (
        lambda p: damage.set_entry(p / f"{NAME}.index", 4, damage.entry(p / f"{NAME}.index", 4)[0], -1),
        "leads to byte -1 (slot 4)",
    ),
    "an index into a batch": (
        lambda p: damage.set_entry(
            p / f"{NAME}.index", 4, damage.entry(p / f"{NAME}.index", 4)[0], damage.entry(p / f"{NAME}.index", 4)[1] + 4
        ),
        ", where the offset index leads: ",
    ),
}


@pytest.mark.parametrize(("verb", "said"), STUMBLES.values(), ids=STUMBLES)
def test_what_a_broker_would_stumble_over_is_said(plain: Path, verb: Callable[[Path], object], said: str) -> None:
    offset, position = damage.entry(plain / f"{NAME}.index", 4)
    verb(plain)
    with opened(plain) as reader:
        found = reader.translate_offset(offset)
        assert found.batch is None and found.index_slot == 4
        assert len(reader.troubles) == 1 and said in reader.troubles[0]
        assert reader.troubles[0].startswith(f"{plain / NAME}.log: ")
        if "where" in said:
            assert f"no whole batch at byte {position + 4}," in reader.troubles[0]


def test_a_torn_end_is_said_with_its_place_and_a_walk_that_stops_before_it_says_nothing(plain: Path) -> None:
    every = batches(plain)
    damage.shrink(plain / f"{NAME}.log", 5)
    with opened(plain) as reader:
        assert reader.translate_offset(every[-2].last_offset).batch == every[-2]
        assert reader.troubles == []
        assert reader.translate_offset(every[-1].last_offset).batch is None
        assert [t.partition(" at byte ")[2].partition(":")[0] for t in reader.troubles] == [str(every[-1].position)]


def test_a_log_that_lost_its_first_bytes_has_no_batch_at_its_start(plain: Path) -> None:
    log = plain / f"{NAME}.log"
    log.write_bytes(log.read_bytes()[5:])
    (plain / f"{NAME}.index").write_bytes(b"")
    with opened(plain) as reader:
        assert reader.translate_offset(0).batch is None
        assert "no whole batch at byte 0: " in reader.troubles[0]


def test_records_that_cannot_be_decoded_are_said(plain: Path) -> None:
    victim = batches(plain)[2]
    damage.flip_byte(plain / f"{NAME}.log", victim.position + 61, 0x7E)
    with opened(plain) as reader:
        found = reader.translate_offset(victim.last_offset)
        assert found.batch is not None and found.record is None
        assert f"the batch at byte {victim.position} cannot be decoded" in reader.troubles[0]


def test_pages_touched_are_those_of_probes_headers_and_the_batch_read(plain: Path) -> None:
    every = batches(plain)
    _, position = damage.entry(plain / f"{NAME}.index", 4)
    after = [b for b in every if b.position >= position]
    with opened(plain) as reader:
        assert reader.pages() == {"index": [], "log": []}
        found = reader.translate_offset(after[1].last_offset)
        assert (found.index_slot, found.batch) == (4, after[1])
        bytes_read = [*range(position, position + 61), *range(after[1].position, after[1].next_position)]
        assert reader.pages(64) == {
            "index": list(dict.fromkeys(slot * 8 // 64 for slot in probed(reader, after[1].last_offset))),
            "log": list(dict.fromkeys(byte // 64 for byte in bytes_read)),
        }
        reader.find_by_timestamp(after[1].max_timestamp, 0)
        assert list(reader.pages()) == ["time_index", "index", "log"] and reader.pages()["time_index"] == [0]


def probed(reader: SegmentReader, target: int) -> list[int]:
    from kidx.lookup.search import Recorder

    assert reader.offsets is not None
    recorder = Recorder(reader.offsets.reader())
    reader.offsets.bounds(target, read=recorder)
    return [slot for slot, _ in recorder.probes]


def test_a_segment_is_its_log_and_the_files_of_its_name(plain: Path) -> None:
    (plain / f"{NAME}.timeindex").unlink()
    (plain / f"{NAME}.index.deleted").write_bytes(b"")
    found = segment_of(str(plain / f"{NAME}.log"), FileName(LOG, 0, ""), 0)
    assert {kind: Path(file.path).name for kind, file in found.files.items()} == {
        LOG: f"{NAME}.log", OFFSET: f"{NAME}.index"
    }  # fmt: skip
    deleted = plain / f"{NAME}.log.deleted"
    (plain / f"{NAME}.log").rename(deleted)
    found = segment_of(str(deleted), FileName(LOG, 0, ".deleted"), 0)
    assert {kind: Path(file.path).name for kind, file in found.files.items()} == {
        LOG: f"{NAME}.log.deleted", OFFSET: f"{NAME}.index.deleted"
    }  # fmt: skip
    assert TIME in INDEX_OF_KIND


def made(place: Path, *, indexed: bool, compressed: bool = False) -> list[tuple[int, int, int]]:
    """A segment of offset 100 and on, with offset, timestamp and leader epoch of its records, out of order in time."""
    log, entries, times, records = place / f"{100:020}.log", b"", b"", []
    data, offset, largest = b"", 100, -1
    for number, stamps in enumerate([[50, 40], [45], [30, 60, 60], [60], [55, 0], [70, 65], [70]]):
        top, epoch = max(stamps), number // 3 - 1
        if indexed and number in (2, 4, 5):
            entries += OFFSET_INDEX.struct.pack(offset + len(stamps) - 101, len(data))
        if indexed and top > largest:
            times += TIME_INDEX.struct.pack(top, offset + stamps.index(top) - 100)
        largest = max(largest, top)
        made = [record(n, stamp) for n, stamp in enumerate(stamps)]
        fields = {"base_timestamp": 0, "max_timestamp": top, "leader_epoch": epoch, "codec": 1 if compressed else 0}
        data += batch(made, base_offset=offset, **fields)  # type: ignore[arg-type]
        records += [(offset + n, stamp, epoch) for n, stamp in enumerate(stamps)]
        offset += len(stamps)
    log.write_bytes(data)
    for suffix, index in ((".index", entries), (".timeindex", times)):
        log.with_suffix(suffix).write_bytes(index)
    return records


@pytest.mark.parametrize("indexed", [True, False])
def test_times_are_found_as_by_looking_at_every_record(tmp_path: Path, indexed: bool) -> None:
    records = made(tmp_path, indexed=indexed)
    for timestamp in range(-1, 73):
        for start in range(99, 114):
            wanted = [r for r in records if r[1] >= timestamp and r[0] >= start]
            with opened(tmp_path) as reader:
                found = reader.find_by_timestamp(timestamp, start)
            if not wanted:
                assert found[1:] == (None, None, None)
                continue
            offset, stamp, epoch = wanted[0]
            assert found[1:] == (stamp, offset, epoch if epoch >= 0 else None), (timestamp, start)
            assert found.bytes_walked > 0


@pytest.mark.parametrize("indexed", [True, False])
def test_offsets_are_found_as_by_looking_at_every_batch(tmp_path: Path, indexed: bool) -> None:
    made(tmp_path, indexed=indexed)
    every = batches(tmp_path)
    for offset in range(98, 115):
        wanted = next((b for b in every if b.last_offset >= offset), None)
        with opened(tmp_path) as reader:
            found = reader.translate_offset(offset)
        if wanted is None:
            assert found[3:] == (None, -1, None)
            assert found.bytes_walked == every[-1].next_position - found.index_position
            continue
        assert (found.batch, found.base_offset) == (wanted, wanted.base_offset)
        assert found.record is not None and found.record.offset == max(offset, wanted.base_offset)
        assert found.bytes_walked == wanted.next_position - found.index_position


def test_the_record_with_the_largest_timestamp(tmp_path: Path) -> None:
    made(tmp_path, indexed=True)
    for timestamp, offset, wanted in (
        (60, 100, (60, 104, None)),
        (60, 106, (60, 104, None)),
        (60, 108, (None, None, None)),
        (50, 100, (50, 100, None)),
        (70, 100, (70, 109, 0)),
        (70, 111, (70, 109, 0)),
        (40, 100, (None, None, None)),
        (71, 100, (None, None, None)),
        (-1, 100, (None, None, None)),
    ):
        with opened(tmp_path) as reader:
            assert reader.find_timestamp_from(timestamp, offset)[1:] == wanted, (timestamp, offset)
    (tmp_path / f"{100:020}.log").write_bytes(batch([record(0, 0)], base_offset=100, base_timestamp=0))
    (tmp_path / f"{100:020}.index").write_bytes(b"")
    with opened(tmp_path) as reader:
        assert reader.find_timestamp_from(0, 100)[1:] == (0, 100, 0)


def test_the_largest_timestamp_is_that_of_the_first_batch_that_has_it(tmp_path: Path) -> None:
    made(tmp_path, indexed=False)
    with opened(tmp_path) as reader:
        assert reader.largest_timestamp(active=False) == (-1, 100)
        assert reader.largest_timestamp(active=True) == (70, 110)
        assert reader.end_offset() == 112
    (tmp_path / f"{100:020}.timeindex").write_bytes(TIME_INDEX.struct.pack(70, 9))
    with opened(tmp_path) as reader:
        assert reader.largest_timestamp(active=True) == (70, 109)
    (tmp_path / f"{100:020}.log").write_bytes(b"")
    with opened(tmp_path) as reader:
        assert reader.end_offset() == 100


@pytest.mark.parametrize("start", [None, 0, 100, 103, 111, 112])
def test_every_record_from_an_offset_on(tmp_path: Path, start: int | None) -> None:
    records = made(tmp_path, indexed=True)
    with opened(tmp_path) as reader:
        found = [(r.offset, r.timestamp) for r in reader.records(start)]
        assert reader.troubles == []
    assert found == [(offset, stamp) for offset, stamp, _ in records if start is None or offset >= start]


def test_every_batch_as_an_array_and_what_ends_the_log(tmp_path: Path) -> None:
    made(tmp_path, indexed=True)
    every = batches(tmp_path)
    with opened(tmp_path) as reader:
        assert reader.batches()["position"].tolist() == [b.position for b in every]
        assert reader.troubles == []
    log = tmp_path / f"{100:020}.log"
    damage.shrink(log, 1)
    with opened(tmp_path) as reader:
        assert reader.batches()["base_offset"].tolist() == [b.base_offset for b in every[:-1]]
        assert [t.partition(" at byte ")[2].partition(":")[0] for t in reader.troubles] == [str(every[-1].position)]
    log.write_bytes(b"")
    with opened(tmp_path) as reader:
        assert reader.batches().tolist() == []


def test_what_is_too_large_to_inflate_ends_the_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(tmp_path, indexed=True, compressed=True)
    with opened(tmp_path) as reader:
        assert len(list(reader.records())) == 12
        monkeypatch.setitem(read_records.__kwdefaults__, "limit_bytes", 1)
        with pytest.raises(LimitExceeded, match="the batch at byte 0 cannot be decoded"):
            list(reader.records())


def test_positions_at_the_ends_of_a_log(tmp_path: Path) -> None:
    made(tmp_path, indexed=True)
    size = (tmp_path / f"{100:020}.log").stat().st_size
    index = tmp_path / f"{100:020}.index"
    for position, troubles in ((0, 0), (size, 0), (size + 1, 1)):
        index.write_bytes(OFFSET_INDEX.struct.pack(1, position))
        with opened(tmp_path) as reader:
            found = reader.translate_offset(103)
            assert (found.index_slot, found.index_position) == (0, min(position, size))
            assert len(reader.troubles) == troubles
            assert (found.batch is None) == (position > 0)


@pytest.mark.parametrize("indexed", [True, False])
def test_windows_of_a_segment_with_and_without_an_index(tmp_path: Path, indexed: bool) -> None:
    made(tmp_path, indexed=True)
    if not indexed:
        (tmp_path / f"{100:020}.index").unlink()
    with opened(tmp_path) as reader:
        windows = list(reader.windows())
    assert [p for window in windows for p in window.position.tolist()] == [b.position for b in batches(tmp_path)]


def test_a_batch_whose_header_says_an_older_time_is_passed_over(tmp_path: Path) -> None:
    log = tmp_path / f"{0:020d}.log"
    late = batch([record(0, 500)], base_timestamp=0, max_timestamp=400)
    log.write_bytes(late + batch([record(0, 450)], base_offset=1, base_timestamp=0, max_timestamp=450))
    with opened(tmp_path) as reader:
        assert reader.find_by_timestamp(450, 0)[1:3] == (450, 1)
        assert reader.find_by_timestamp(400, 0)[1:3] == (500, 0)
        assert reader.find_by_timestamp(451, 0)[1:] == (None, None, None)


def test_windows_say_which_batches_have_a_wrong_crc_unless_that_is_not_wanted(plain: Path) -> None:
    second = batches(plain)[1]
    damage.flip_byte(plain / f"{NAME}.log", second.next_position - 1)
    with opened(plain) as reader:
        assert [row for window in reader.windows() for row in window.bad_crc or []] == [1]
        assert [row for window in reader.windows(check_crc=False) for row in window.bad_crc or []] == []


def test_an_index_may_lead_to_byte_1(tmp_path: Path) -> None:
    (tmp_path / f"{NAME}.log").write_bytes(batch([record(0)]))
    (tmp_path / f"{NAME}.index").write_bytes(OFFSET_INDEX.struct.pack(0, 1))
    with opened(tmp_path) as reader:
        assert reader.translate_offset(0).batch is None
        assert "no whole batch at byte 1, where the offset index leads: " in reader.troubles[0]


def test_the_first_time_entry_spares_the_walk_before_it(plain: Path) -> None:
    with opened(plain) as reader:
        assert reader.times and reader.offsets
        timestamp, offset = reader.times.entry(0)
        slot = reader.offsets.bounds(offset).lower
        position = reader.offsets.entry(slot)[1]
        found = reader.find_by_timestamp(timestamp, 0)
    batch_found = next(b for b in batches(plain) if b.last_offset >= (found.offset or 0))
    assert position > 0 and found.bytes_walked == batch_found.next_position - position
