"""Indexes that cover their log too thinly, or do not end together: notes, and where they begin."""

from __future__ import annotations

from pathlib import Path

import pytest

from kidx.findings import NOTE
from kidx.formats.indexes import OFFSET_INDEX, TIME_INDEX
from tests import damage
from tests.building import batch, record
from tests.checks.conftest import check, placed

NAME = f"{0:020d}"
SIZE = len(batch([record(0)]))


def made(place: Path, entries: list[int], count: int, large: int = -1) -> Path:
    """A log of `count` batches of one record, `large` with a long one, and an offset index with entries for these."""
    log, positions, data = place / f"{NAME}.log", [], b""
    for n in range(count):
        positions.append(len(data))
        data += batch([record(0, value=bytes(10 * SIZE) if n == large else b"value")], base_offset=n)
    log.write_bytes(data)
    log.with_suffix(".index").write_bytes(b"".join(OFFSET_INDEX.struct.pack(n, positions[n]) for n in entries))
    return log


def sparse(place: Path) -> list[tuple[object, ...]]:
    found = [f for f in check(place).findings if f.rule == "KX208"]
    assert all(f.severity == NOTE and f.file.endswith(".index") for f in found)
    return [placed(f) for f in found]


def at(slot: int, usual: int, found: int) -> list[tuple[object, ...]]:
    return [("KX208", slot, slot * 8, slot * 8 + 8, usual * SIZE, found * SIZE)]


DENSE = [1, 2, 3, 4, 5, 6, 7, 8]


def test_entries_more_than_four_times_as_far_apart_as_usual(tmp_path: Path) -> None:
    made(tmp_path, [*DENSE, 13], 16)
    assert sparse(tmp_path) == []
    made(tmp_path, [*DENSE, 14, 15], 17)
    assert sparse(tmp_path) == at(7, 1, 5)
    made(tmp_path, [1, 9, *range(10, 18)], 19)
    assert sparse(tmp_path) == at(0, 1, 7)


def test_the_rest_of_the_log_after_the_last_entry(tmp_path: Path) -> None:
    made(tmp_path, DENSE, 14)
    assert sparse(tmp_path) == []
    made(tmp_path, DENSE, 15)
    assert sparse(tmp_path) == at(7, 1, 5)


def test_one_batch_may_be_larger_than_any_interval(tmp_path: Path) -> None:
    made(tmp_path, [*DENSE, 9], 12, large=8)
    assert sparse(tmp_path) == []


def test_what_is_usual_is_what_three_quarters_of_the_entries_exceed(tmp_path: Path) -> None:
    entries = [1, 2, 3, 5, 7, 9, 11, 13, 40]
    made(tmp_path, entries, 45)
    assert sparse(tmp_path) == at(7, 2, 26)


def test_too_few_entries_or_a_damaged_log_do_not_show_what_is_usual(tmp_path: Path) -> None:
    made(tmp_path, DENSE[:-1], 40)
    assert sparse(tmp_path) == []
    log = made(tmp_path, DENSE, 40)
    assert len(sparse(tmp_path)) == 1
    damage.overwrite(log, 30 * SIZE + 8, b"\0\0\0\5")
    assert sparse(tmp_path) == []


@pytest.mark.parametrize(("count", "wanted"), [(3, []), (4, [("KX118", None, None, None, 3, 4)])])
@pytest.mark.parametrize("offsets", [[], [2, 5]])
def test_time_entries_past_the_last_offset_entry(
    tmp_path: Path, offsets: list[int], count: int, wanted: list[object]
) -> None:
    log = made(tmp_path, offsets, 40)
    times = [*offsets, *range(6, 6 + count)]
    log.with_suffix(".timeindex").write_bytes(b"".join(TIME_INDEX.struct.pack(1000 + n, n) for n in times))
    found = [f for f in check(tmp_path).findings if f.rule == "KX118"]
    assert [placed(f) for f in found] == wanted
    assert all(f.severity == NOTE and f.file.endswith(".timeindex") for f in found)
