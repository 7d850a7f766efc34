"""Indexes held against their log: entries that only the log can convict, and healthy ones that look like them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from kidx.findings import ERROR, NOTE, WARNING
from kidx.formats.indexes import OFFSET_INDEX, TIME_INDEX
from tests import damage
from tests.building import batch, record
from tests.checks.conftest import check, grave, placed
from tests.checks.test_log_damage import batches

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


def test_the_files_end_where_they_did(partition: Path) -> None:
    """Nothing here may have been made or changed by checking."""
    before = {f.name: f.stat().st_mtime_ns for f in os.scandir(partition)}
    assert check(partition).findings == []
    assert {f.name: f.stat().st_mtime_ns for f in os.scandir(partition)} == before
