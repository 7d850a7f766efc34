"""Entries of an index by itself, where the segment does not begin at offset 0: expected and found say offsets."""

from __future__ import annotations

import pytest

from kidx.checks.subjects.indexes import IndexFacts
from kidx.evidence import from_bytes
from kidx.findings import ERROR, limited
from kidx.formats.indexes import OFFSET_INDEX, TIME_INDEX, TRANSACTION_INDEX, IndexFormat
from tests.checks.conftest import index_findings, placed

BASE = 1000
END = BASE + 10
Fields = list[tuple[int, ...]]
LAST = 2**63 - 1


def found_in(form: IndexFormat, entries: Fields, base: int = BASE, end: int | None = END) -> list[tuple[object, ...]]:
    data = b"".join(form.struct.pack(*e) for e in entries)
    found = list(limited(index_findings(from_bytes(data), form, IndexFacts(base, end))))
    assert all(f.severity == ERROR or f.rule == "KX108" for f in found)
    return [placed(f) for f in found]


def at(form: IndexFormat, code: str, slot: int, expected: object, found: object) -> tuple[object, ...]:
    return code, slot, slot * form.size, (slot + 1) * form.size, expected, found


OFFSETS: dict[str, tuple[Fields, list[tuple[str, int, object, object]]]] = {
    "healthy": ([(1, 10), (2, 20), (9, 30)], []),
    "of the next segment": ([(1, 10), (10, 20)], [("KX112", 1, "<= 1009", 1010)]),
    "of a later segment, before one that is out of order": (
        [(1, 10), (12, 20), (2, 15), (13, 30)],
        [("KX105", 2, "> 1012", 1002), ("KX112", 1, "<= 1009", 1012), ("KX112", 3, "<= 1009", 1013)],
    ),
    "as before": ([(1, 10), (1, 20), (2, 30)], [("KX105", 1, "> 1001", 1001)]),
    "the first one jumped": ([(7, 10), (2, 20), (3, 30)], [("KX105", 0, "< 1002", 1007)]),
    "the first position jumped": ([(1, 90), (2, 20), (3, 30)], [("KX106", 0, "< 20", 90)]),
    "twice": ([(1, 10), (2, 20), (2, 20), (3, 30)], [("KX108", 2, None, {"offset": 1002, "position": 20})]),
    "the base offset": ([(0, 10), (2, 20)], [("KX113", 0, None, {"offset": 1000, "position": 10})]),
    "position 0": ([(1, 0), (2, 20)], [("KX113", 0, None, {"offset": 1001, "position": 0})]),
    "one entry": ([(9, 10)], []),
    "negative position": ([(1, 10), (2, -1), (3, 30)], [("KX109", 1, "0..2147483647", -1)]),
}
TIMES: dict[str, tuple[Fields, list[tuple[str, int, object, object]]]] = {
    "healthy": ([(0, 0), (10, 1), (20, 1), (30, 9)], []),
    "of the next segment": ([(10, 1), (20, 10)], [("KX112", 1, "<= 1009", 1010)]),
    "falls": ([(10, 3), (20, 2), (30, 4)], [("KX105", 1, ">= 1003", 1002)]),
    "the first one jumped": ([(10, 7), (20, 2), (30, 3)], [("KX105", 0, "<= 1002", 1007)]),
    "the first timestamp jumped": ([(90, 1), (20, 2), (30, 3)], [("KX107", 0, "< 20", 90)]),
    "twice": ([(10, 1), (20, 2), (20, 2), (30, 3)], [("KX108", 2, None, {"offset": 1002, "timestamp": 20})]),
    "the base offset first": ([(10, 0), (20, 1)], []),
    "the base offset again": ([(10, 0), (20, 0), (30, 1)], [("KX105", 1, ">= 1000", 1000)]),
    "the base offset twice again": (
        [(10, 0), (20, 0), (30, 0), (40, 1)], [("KX105", 1, ">= 1000", 1000), ("KX105", 2, ">= 1000", 1000)]
    ),
    "negative timestamp": ([(10, 1), (-1, 2), (30, 3)], [("KX111", 1, ">= 0", -1)]),
    "one entry": ([(10, 9)], []),
}  # fmt: skip
ABORTS: dict[str, tuple[Fields, list[tuple[str, int, object, object]]]] = {
    "healthy": ([(0, 7, 1001, 1003, 1004), (0, 8, 1002, 1009, 1010)], []),
    "began in an earlier segment": ([(0, 7, 5, 1000, 6)], []),
    "before the segment": ([(0, 7, 5, 999, 6)], [("KX117", 0, ">= 1000", 999)]),
    "in the next segment": ([(0, 7, 1001, 1010, 1001)], [("KX112", 0, "<= 1009", 1010)]),
    "negative stable offset": ([(0, 7, 1001, 1003, -1)], [("KX117", 0, "<= 1003 + 1", -1)]),
    "stable offset 0": ([(0, 7, 1001, 1003, 0)], []),
    "not later": (
        [(0, 7, 1001, 1004, 1004), (0, 8, 1002, 1003, 1004)], [("KX116", 1, "> 1004", 1003)]
    ),
    "stable offset falls": (
        [(0, 7, 1001, 1003, 1003), (0, 8, 1002, 1005, 1002), (0, 8, 1002, 1006, 1004)],
        [("KX117", 1, ">= 1003", 1002)],
    ),
    "zeros first": ([(0, 0, 0, 0, 0), (0, 8, 1002, 1009, 1010)], [("KX102", 0, None, 1)]),
}  # fmt: skip
CASES = [
    pytest.param(form, *case, id=f"{form.kind}: {name}")
    for form, cases in ((OFFSET_INDEX, OFFSETS), (TIME_INDEX, TIMES), (TRANSACTION_INDEX, ABORTS))
    for name, case in cases.items()
]


@pytest.mark.parametrize(("form", "entries", "wanted"), CASES)
def test_entries_of_a_segment(
    form: IndexFormat, entries: Fields, wanted: list[tuple[str, int, object, object]]
) -> None:
    found = found_in(form, entries)
    assert sorted(found, key=str) == sorted((at(form, *w) for w in wanted), key=str)
    if "KX112" not in {code for code, *_ in wanted}:
        assert found_in(form, entries, end=None) == found


@pytest.mark.parametrize("form", [OFFSET_INDEX, TIME_INDEX])
def test_an_offset_that_is_no_int64(form: IndexFormat) -> None:
    def entries(offset: int) -> Fields:
        return [(offset, 10)] if form is OFFSET_INDEX else [(10, offset)]

    assert found_in(form, entries(7), base=LAST - 7, end=None) == []
    assert found_in(form, entries(8), base=LAST - 7, end=None) == [at(form, "KX104", 0, "<= 7", 8)]


def test_the_last_stable_offset_needs_its_segment_not() -> None:
    entries = [(0, 7, 1001, 1003, 1004), (0, 8, 1002, 1009, 1011)]
    assert found_in(TRANSACTION_INDEX, entries) == [at(TRANSACTION_INDEX, "KX117", 1, "<= 1009 + 1", 1011)]
