"""Indexes held against their log: entries that only the log can convict, and healthy ones that look like them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from kidx.checks.engine import log_range
from kidx.findings import ERROR, NOTE, WARNING
from kidx.formats.indexes import OFFSET_INDEX, TIME_INDEX
from tests import damage
from tests.building import batch, record
from tests.checks.conftest import check, grave, placed
from tests.checks.test_log_damage import batches
from tests.checks.test_windows import OneByOne

Copy = Callable[[str], Path]
NAME = f"{0:020d}"
SLOT = 4


@pytest.fixture
def partition(copy: Copy) -> Path:
    return copy("clean/default-interval-0")


def entry(slot: int, width: int) -> tuple[int, int, int]:
    return slot, slot * width, (slot + 1) * width


@pytest.mark.parametrize("off", [1, -1])
def test_a_position_beside_a_batchs_first_byte(partition: Path, off: int) -> None:
    index = partition / f"{NAME}.index"
    offset, position = damage.entry(index, SLOT)
    starts = [b.position for b in batches(partition / f"{NAME}.log")]
    at = starts.index(position)
    around = [position, starts[at + 1]] if off > 0 else [starts[at - 1], position]
    damage.set_entry(index, SLOT, offset, position + off)
    (found,) = grave(check(partition))
    assert placed(found) == ("KX203", *entry(SLOT, 8), around, position + off)


def test_a_position_of_another_batch(partition: Path) -> None:
    """The batch before it ends with an earlier offset; the one after it is found by a walk from there."""
    index = partition / f"{NAME}.index"
    offset, position = damage.entry(index, SLOT)
    every = batches(partition / f"{NAME}.log")
    at = next(i for i, b in enumerate(every) if b.position == position)
    damage.set_entry(index, SLOT, offset, every[at + 1].position)
    (found,) = grave(check(partition))
    assert placed(found) == ("KX204", *entry(SLOT, 8), every[at + 1].last_offset, offset)
    damage.set_entry(index, SLOT, every[at - 1].last_offset, every[at - 1].position)
    assert grave(check(partition)) == []


@pytest.mark.parametrize("off", [1, -1])
def test_an_offset_beside_a_batchs_last(partition: Path, off: int) -> None:
    index = partition / f"{NAME}.index"
    offset, position = damage.entry(index, SLOT)
    damage.set_entry(index, SLOT, offset + off, position)
    (found,) = grave(check(partition))
    assert placed(found) == ("KX204", *entry(SLOT, 8), offset, offset + off)


def test_a_position_at_and_past_the_logs_end(partition: Path) -> None:
    index, log = partition / f"{NAME}.index", partition / f"{NAME}.log"
    last = index.stat().st_size // 8 - 1
    size = log.stat().st_size
    offset, _ = damage.entry(index, last)
    for wrong in (size, size + 1, 2**31 - 1):
        damage.set_entry(index, last, offset, wrong)
        (found,) = grave(check(partition))
        assert placed(found) == ("KX201", *entry(last, 8), f"< {size}", wrong)
    damage.set_entry(index, last, offset, size - 1)
    (found,) = grave(check(partition))
    assert (found.rule, found.slot, found.found) == ("KX203", last, size - 1)


@pytest.mark.parametrize(("timestamp", "offset"), [(1, 0), (-1, 0), (0, 1), (0, -1)])
def test_a_time_entry_that_is_not_its_batchs(partition: Path, timestamp: int, offset: int) -> None:
    index = partition / f"{NAME}.timeindex"
    there = damage.entry(index, SLOT)
    damage.set_entry(index, SLOT, there[0] + timestamp, there[1] + offset)
    holder = next(b for b in batches(partition / f"{NAME}.log") if b.last_offset >= there[1] + offset)
    (found,) = grave(check(partition))
    said = {"timestamp": there[0] + timestamp, "offset": there[1] + offset}
    assert placed(found) == ("KX206", *entry(SLOT, 12), holder.max_timestamp, said)


def test_a_time_entry_past_the_logs_offsets(partition: Path) -> None:
    index, log = partition / f"{NAME}.timeindex", partition / f"{NAME}.log"
    last = index.stat().st_size // 12 - 1
    timestamp, _ = damage.entry(index, last)
    end = batches(log)[-1].last_offset
    damage.set_entry(index, last, timestamp, end + 1)
    (found,) = grave(check(partition))
    assert (found.rule, found.severity, *placed(found)[1:4]) == ("KX205", ERROR, *entry(last, 12))


@pytest.mark.parametrize("lost", [1, 2, 3])
def test_a_time_index_without_its_last_entries(partition: Path, lost: int) -> None:
    index = partition / f"{NAME}.timeindex"
    damage.shrink(index, 12 * lost)
    largest = max(b.max_timestamp for b in batches(partition / f"{NAME}.log"))
    (found,) = grave(check(partition))
    assert (placed(found), found.severity) == (
        ("KX207", None, None, None, largest, damage.entry(index, -1)[0]), WARNING
    )  # fmt: skip
    damage.zero_tail(index, 8184)  # preallocated: appends go on, and the last entry comes with the roll
    assert grave(check(partition, live=True)) == []


def test_an_index_entry_the_less_costs_time_alone(partition: Path) -> None:
    damage.remove_entry(partition / f"{NAME}.index", SLOT)
    damage.remove_entry(partition / f"{NAME}.timeindex", SLOT)
    assert check(partition).findings == []


def made(place: Path, offsets: list[tuple[int, int]], times: list[tuple[int, int]], count: int = 40) -> Path:
    """A log of `count` batches of one record and 100 ms each, with indexes of these entries."""
    log = place / f"{NAME}.log"
    log.write_bytes(b"".join(batch([record(0)], base_offset=n, base_timestamp=1000 + 100 * n) for n in range(count)))
    log.with_suffix(".index").write_bytes(b"".join(OFFSET_INDEX.struct.pack(*e) for e in offsets))
    log.with_suffix(".timeindex").write_bytes(b"".join(TIME_INDEX.struct.pack(*e) for e in times))
    return log


def test_an_entry_for_a_later_batch_of_the_same_append_is_a_note(tmp_path: Path) -> None:
    """An append of several batches writes one entry: the first one's position, the last one's offset."""
    size = len(batch([record(0)]))
    last = (1000 + 3900, 39)
    made(tmp_path, [(9, 9 * size)], [(1900, 9), last])
    assert check(tmp_path).findings == []
    made(tmp_path, [(12, 9 * size)], [(1900, 9), last])
    (found,) = check(tmp_path).findings
    assert (placed(found), found.severity) == (("KX209", *entry(0, 8), 9, 12), NOTE)
    made(tmp_path, [(12, 9 * size), (15, 11 * size)], [(1900, 9), last])
    assert [f.rule for f in check(tmp_path).findings if f.severity != NOTE] == ["KX204"]


def placed_of(code: str, place: Path, **options: object) -> list[tuple[object, ...]]:
    return [placed(f) for f in check(place, **options).findings if f.rule == code]


SIZE = len(batch([record(0)]))


@pytest.mark.parametrize("apart", [False, True])
def test_what_ends_later_is_searched_up_to_the_next_entry(
    tmp_path: Path, apart: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one window, and in a window a batch."""
    if apart:
        monkeypatch.setattr(log_range, "scan", OneByOne)
    times = [(4900, 39)]
    for offset, following, code in (
        (9, 20, None), (8, 20, "KX204"), (10, 20, "KX209"), (19, 20, "KX209"), (20, 20, "KX204"), (20, 21, "KX209"),
        (21, 22, "KX209"), (30, 20, "KX204"),
    ):  # fmt: skip
        made(tmp_path, [(offset, 9 * SIZE), (39, following * SIZE)], times)
        found = [f for f in placed_of("KX204", tmp_path) + placed_of("KX209", tmp_path) if f[1] == 0]
        assert found == ([(code, *entry(0, 8), 9, offset)] if code else []), (offset, following)
    made(tmp_path, [(39, 9 * SIZE)], times)
    assert placed_of("KX209", tmp_path) == [("KX209", *entry(0, 8), 9, 39)]
    made(tmp_path, [(40, 9 * SIZE)], times)
    assert placed_of("KX204", tmp_path) == [("KX204", *entry(0, 8), 9, 40)]


@pytest.mark.parametrize("count", [10, 11])
def test_many_entries_for_later_batches_are_one_note(tmp_path: Path, count: int) -> None:
    made(tmp_path, [(2 * n + 2, (2 * n + 1) * SIZE) for n in range(count)], [(4900, 39)])
    found = [f for f in check(tmp_path).findings if f.rule == "KX209"]
    if count == 10:
        assert [placed(f) for f in found] == [("KX209", *entry(n, 8), 2 * n + 1, 2 * n + 2) for n in range(count)]
    else:
        assert [(placed(f), f.severity) for f in found] == [(("KX209", None, 0, 8 * count, None, count), NOTE)]


def test_a_position_inside_the_last_batch(tmp_path: Path) -> None:
    made(tmp_path, [(39, 39 * SIZE + 1)], [(4900, 39)])
    assert placed_of("KX203", tmp_path) == [("KX203", *entry(0, 8), [39 * SIZE], 39 * SIZE + 1)]


def test_a_position_inside_a_windows_last_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_range, "scan", OneByOne)
    made(tmp_path, [(20, 20 * SIZE - 1), (30, 30 * SIZE)], [(4900, 39)])
    assert placed_of("KX203", tmp_path) == [("KX203", *entry(0, 8), [19 * SIZE, 20 * SIZE], 20 * SIZE - 1)]


def test_positions_past_a_log_that_is_broken(tmp_path: Path) -> None:
    """Where its bytes end is what counts then."""
    log = made(tmp_path, [(20, 20 * SIZE), (38, 38 * SIZE), (39, 40 * SIZE)], [(4900, 39)])
    damage.overwrite(log, 30 * SIZE + 8, b"\0\0\0\5")
    assert placed_of("KX201", tmp_path) == [("KX201", *entry(2, 8), f"< {40 * SIZE}", 40 * SIZE)]
    damage.shrink(log, 3 * SIZE)
    end = 37 * SIZE
    assert placed_of("KX201", tmp_path) == [
        ("KX201", *entry(n, 8), f"< {end}", at * SIZE) for n, at in ((1, 38), (2, 40))
    ]


def with_gap(place: Path, times: list[tuple[int, int]]) -> Path:
    """A log without the offsets 3 to 5."""
    log = place / f"{NAME}.log"
    offsets = [0, 1, 2, 6, 7]
    log.write_bytes(b"".join(batch([record(0)], base_offset=n, base_timestamp=1000 + 100 * n) for n in offsets))
    log.with_suffix(".index").write_bytes(b"")
    log.with_suffix(".timeindex").write_bytes(b"".join(TIME_INDEX.struct.pack(*e) for e in times))
    return log


def test_time_entries_for_offsets_that_no_batch_has(tmp_path: Path) -> None:
    log = with_gap(tmp_path, [(1100, 1), (1300, 3), (1450, 5), (1600, 6), (1700, 7)])
    assert placed_of("KX205", tmp_path) == [
        ("KX205", *entry(slot, 12), None, {"timestamp": timestamp, "offset": offset})
        for slot, timestamp, offset in ((1, 1300, 3), (2, 1450, 5))
    ]
    assert placed_of("KX206", tmp_path) == []
    with_gap(tmp_path, [(1200, 2), (1600, 6), (1700, 7)])
    assert placed_of("KX205", tmp_path) == []
    with_gap(tmp_path, [(1300, 3), (1700, 7)])
    damage.overwrite(log, 8, b"\0\0\0\5")  # what is not there may have been in the place that is broken
    assert placed_of("KX205", tmp_path) == []


def test_why_a_time_entry_is_wrong(tmp_path: Path) -> None:
    log = tmp_path / f"{NAME}.log"
    stamps = [[5], [3, 9, 9, 4], [9], [2, 11]]
    data, offset = b"", 0
    for group in stamps:
        records = [record(n, stamp) for n, stamp in enumerate(group)]
        data += batch(records, base_offset=offset, base_timestamp=0, max_timestamp=max(group))
        offset += len(group)
    log.write_bytes(data)
    log.with_suffix(".index").write_bytes(b"")
    for entries, slot, there, why in (
        ([(5, 0), (9, 2), (11, 7)], None, 0, ""),
        ([(5, 0), (9, 4), (11, 7)], None, 0, ""),  # Kafka before 3.6: the batch's last offset
        ([(9, 3), (11, 7)], 0, 9, "another record of that batch is the first to have it"),
        ([(9, 1), (11, 7)], 0, 9, "another record of that batch is the first to have it"),
        ([(9, 5), (11, 7)], 0, 9, "earlier batches had reached 9 already"),
        ([(4, 4), (11, 7)], 0, 9, "the batch with that offset has 9 as its largest timestamp"),
        ([(10, 2), (11, 7)], 0, 9, "the batch with that offset has 9 as its largest timestamp"),
        ([(5, 0), (9, 2), (11, 6)], 2, 11, "another record of that batch is the first to have it"),
    ):
        log.with_suffix(".timeindex").write_bytes(b"".join(TIME_INDEX.struct.pack(*e) for e in entries))
        found = [f for f in check(tmp_path).findings if f.rule == "KX206"]
        if slot is None:
            assert found == [], entries
            continue
        said = dict(zip(("timestamp", "offset"), entries[slot], strict=True))
        assert [placed(f) for f in found] == [("KX206", *entry(slot, 12), there, said)]
        assert found[0].message.endswith(f"; {why}")


ENDS: dict[str, tuple[list[tuple[int, int]], bytes, list[int], tuple[int, int] | None]] = {
    "none": ([], b"", [5], (5, -1)),
    "none, of a log without timestamps": ([], b"", [-1], None),
    "none, of a log of 1970": ([], b"", [0], (0, -1)),
    "the largest": ([(5, 0)], b"", [5], None),
    "a smaller one": ([(5, 0)], b"", [5, 6], (6, 5)),
    "a larger one": ([(7, 1)], b"", [5, 6], None),
    "preallocated": ([(5, 0)], bytes(12), [5, 6], None),
    "torn": ([(5, 0)], b"\1", [5, 6], None),
    "out of order, but for the last one": ([(5, 0), (7, 1), (6, 1)], b"", [5, 8, 9], (9, 7)),
}


@pytest.mark.parametrize(("entries", "rest", "stamps", "wanted"), ENDS.values(), ids=ENDS)
def test_the_largest_timestamp_is_the_last_entrys(
    tmp_path: Path, entries: list[tuple[int, int]], rest: bytes, stamps: list[int], wanted: tuple[int, int] | None
) -> None:
    log = tmp_path / f"{NAME}.log"
    log.write_bytes(b"".join(batch([record(0)], base_offset=n, base_timestamp=t) for n, t in enumerate(stamps)))
    log.with_suffix(".index").write_bytes(b"")
    index = log.with_suffix(".timeindex")
    index.write_bytes(b"".join(TIME_INDEX.struct.pack(*e) for e in entries) + rest)
    found = [f for f in check(tmp_path).findings if f.rule == "KX207"]
    assert [placed(f) for f in found] == ([("KX207", None, None, None, *wanted)] if wanted else [])
    if wanted:
        last = "none" if wanted[1] < 0 else wanted[1]
        assert found[0].message.endswith(f"its last timestamp is {last}; the log has {wanted[0]}")
        assert found[0].file == str(index)


def test_the_files_end_where_they_did(partition: Path) -> None:
    """Nothing here may have been made or changed by checking."""
    before = {f.name: f.stat().st_mtime_ns for f in os.scandir(partition)}
    assert check(partition).findings == []
    assert {f.name: f.stat().st_mtime_ns for f in os.scandir(partition)} == before
