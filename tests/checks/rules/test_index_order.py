"""Entries of offset and time indexes: out of order, out of range, repeated, torn; and healthy ones that look alike."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kidx.findings import ERROR, NOTE, WARNING
from kidx.logdir.names import index_format_of
from tests import damage
from tests.checks.conftest import check, placed

Copy = Callable[[str], Path]
Entries = list[tuple[int, ...]]
Case = tuple[str, Callable[[Path], object], str, Callable[[Entries], tuple[object, object]]]
NAME = f"{0:020d}"
SLOT = 3
MOST = 2**31 - 1


def put(first: object = None, second: object = None, slot: int = SLOT) -> Callable[[Path], object]:
    """A verb that sets the fields of an entry: to a number, or by a function of all entries."""

    def verb(path: Path) -> object:
        entries = entries_of(path)
        values = [
            old if new is None else new(entries) if callable(new) else new
            for old, new in zip(entries[slot], (first, second), strict=True)
        ]
        return damage.set_entry(path, slot, *values)

    return verb


def entries_of(path: Path) -> Entries:
    width = index_format_of(str(path)).size
    return [damage.entry(path, slot) for slot in range(path.stat().st_size // width)]


CASES: dict[str, Case] = {
    "offset negative": ("index", put(-1), "KX103", lambda e: ("0..2147483647", -1)),
    "offset as before": ("index", put(lambda e: e[2][0]), "KX105", lambda e: (f"> {e[2][0]}", e[2][0])),
    "offset falls": ("index", put(lambda e: e[2][0] - 1), "KX105", lambda e: (f"> {e[2][0]}", e[2][0] - 1)),
    "offset jumps": ("index", put(lambda e: e[5][0] + 1), "KX105", lambda e: (f"> {e[2][0]}", e[5][0] + 1)),
    "position as before": ("index", put(None, lambda e: e[2][1]), "KX106", lambda e: (f"> {e[2][1]}", e[2][1])),
    "position falls": ("index", put(None, lambda e: e[2][1] - 1), "KX106", lambda e: (f"> {e[2][1]}", e[2][1] - 1)),
    "position jumps": ("index", put(None, lambda e: e[5][1] + 1), "KX106", lambda e: (f"> {e[2][1]}", e[5][1] + 1)),
    "position negative": ("index", put(None, -1), "KX109", lambda e: ("0..2147483647", -1)),
    "entry repeats": (
        "index",
        put(lambda e: e[2][0], lambda e: e[2][1]),
        "KX108",
        lambda e: (None, {"offset": e[2][0], "position": e[2][1]}),
    ),
    "time: offset negative": ("timeindex", put(None, -1), "KX103", lambda e: ("0..2147483647", -1)),
    "time: offset falls": (
        "timeindex",
        put(None, lambda e: e[2][1] - 1),
        "KX105",
        lambda e: (f">= {e[2][1]}", e[2][1] - 1),
    ),
    "time: timestamp as before": (
        "timeindex",
        put(lambda e: e[2][0]),
        "KX107",
        lambda e: (f"> {e[2][0]}", e[2][0]),
    ),
    "time: timestamp jumps": (
        "timeindex",
        put(lambda e: e[5][0] + 1),
        "KX107",
        lambda e: (f"> {e[2][0]}", e[5][0] + 1),
    ),
    "time: timestamp negative": ("timeindex", put(-1), "KX111", lambda e: (">= 0", -1)),
    "time: entry repeats": (
        "timeindex",
        put(lambda e: e[2][0], lambda e: e[2][1]),
        "KX108",
        lambda e: (None, {"timestamp": e[2][0], "offset": e[2][1]}),
    ),
}


def lone(copy: Copy, kind: str) -> Path:
    """An index without its log, beside the other kind of index and the next segment's name."""
    partition = copy("clean/plain-0")
    for file in partition.iterdir():
        if file.suffix not in (".index", ".timeindex"):
            file.unlink()
    return partition / f"{NAME}.{kind}"


@pytest.mark.parametrize(("kind", "verb", "code", "said"), CASES.values(), ids=CASES)
def test_an_entry_that_no_broker_writes(
    copy: Copy,
    kind: str,
    verb: Callable[[Path], object],
    code: str,
    said: Callable[[Entries], tuple[object, object]],
) -> None:
    index = lone(copy, kind)
    before, width = entries_of(index), index_format_of(str(index)).size
    verb(index)
    (found,) = check(index).findings
    assert placed(found) == (code, SLOT, SLOT * width, (SLOT + 1) * width, *said(before))
    assert found.severity == (WARNING if code == "KX108" else ERROR)


HEALTHY: dict[str, tuple[str, Callable[[Path], object]]] = {
    "offset one more": ("index", put(lambda e: e[2][0] + 1)),
    "position one more": ("index", put(None, lambda e: e[2][1] + 1)),
    "offset one less than the next": ("index", put(lambda e: e[4][0] - 1)),
    "position one less than the next": ("index", put(None, lambda e: e[4][1] - 1)),
    "position 1": ("index", put(None, 1, slot=0)),
    "offset 1": ("index", put(1, None, slot=0)),
    "the largest position": ("index", put(None, MOST, slot=12)),
    "time: offset as before": ("timeindex", put(None, lambda e: e[2][1])),
    "time: timestamp one more": ("timeindex", put(lambda e: e[2][0] + 1)),
    "time: timestamp 0": ("timeindex", put(0, slot=0)),
    "time: offset 0": ("timeindex", put(None, 0, slot=0)),
    "the next segment's neighbour": ("index", put(189, None, slot=12)),
    "time: the very beginning": ("timeindex", put(0, 0, slot=0)),
}


@pytest.mark.parametrize(("kind", "verb"), HEALTHY.values(), ids=HEALTHY)
def test_an_entry_that_a_broker_may_write(copy: Copy, kind: str, verb: Callable[[Path], object]) -> None:
    index = lone(copy, kind)
    before = index.read_bytes()
    verb(index)
    assert index.read_bytes() != before
    assert check(index).findings == []


@pytest.mark.parametrize(("kind", "slot"), [("index", 12), ("timeindex", 13)])
def test_the_next_segments_first_offset_is_not_in_this_one(copy: Copy, kind: str, slot: int) -> None:
    index = lone(copy, kind)
    key, value = damage.entry(index, slot)
    damage.set_entry(index, slot, *((190, value) if kind == "index" else (key, 190)))
    found = [f for f in check(index.parent).findings if f.file == str(index)]
    width = index_format_of(str(index)).size
    assert [placed(f) for f in found] == [("KX112", slot, slot * width, (slot + 1) * width, "<= 189", 190)]


@pytest.mark.parametrize(("values", "found"), [((23, 0), (23, 0)), ((0, 129), (0, 129))])
def test_an_entry_at_the_segments_beginning(copy: Copy, values: tuple[int, int], found: tuple[int, int]) -> None:
    index = lone(copy, "index")
    damage.set_entry(index, 0, *values)
    said = {"offset": found[0], "position": found[1]}
    assert [placed(f) for f in check(index).findings] == [("KX113", 0, 0, 8, None, said)]


@pytest.mark.parametrize(("over", "slots"), [(0, []), (1, [12]), (71, [12])])
def test_a_base_offset_so_large_that_the_sum_is_no_offset(copy: Copy, over: int, slots: list[int]) -> None:
    index = lone(copy, "index")
    last = damage.entry(index, -1)[0]
    renamed = index.rename(index.with_name(f"{2**63 - 1 - last + over:020d}.index"))
    found = [f for f in check(renamed).findings if f.rule == "KX104"]
    assert found == [f for f in check(renamed).findings if f.severity != NOTE]
    if over == 71:
        slots = [slot for slot, (offset, _) in enumerate(entries_of(renamed)) if offset > last - over]
        assert len(slots) > 1
    assert [(f.slot, f.byte_start, f.byte_end) for f in found] == [(s, s * 8, s * 8 + 8) for s in slots]


@pytest.mark.parametrize("kind", ["index", "timeindex"])
def test_every_length_that_is_no_multiple(copy: Copy, kind: str) -> None:
    index = lone(copy, kind)
    whole, width = index.stat().st_size, index_format_of(str(index)).size
    for torn in range(1, width):
        damage.append_garbage(index, b"\1")
        (found,) = check(index).findings
        assert placed(found) == ("KX101", whole // width, whole, whole + torn, width, torn)


@pytest.mark.parametrize(
    ("kind", "first", "last"),
    [
        *(("index", first, last) for first, last in ((0, 0), (0, 2), (4, 7), (11, 11))),
        *(("timeindex", first, last) for first, last in ((1, 2), (4, 7), (12, 12))),
    ],
)
def test_zeros_with_entries_after_them(copy: Copy, kind: str, first: int, last: int) -> None:
    index = lone(copy, kind)
    width = index_format_of(str(index)).size
    for slot in range(first, last + 1):
        damage.zero_entry(index, slot)
    count = last - first + 1
    (found,) = check(index).findings
    assert placed(found) == ("KX102", first, first * width, (last + 1) * width, None, count)
    entries = "1 entry" if count == 1 else f"{count} entries"
    assert found.message.endswith(f"{entries} of nothing but zeros: no preallocation, for entries follow")


@pytest.mark.parametrize("kind", ["index", "timeindex"])
def test_zeros_at_the_end_are_preallocation(copy: Copy, kind: str) -> None:
    index = lone(copy, kind)
    size = index.stat().st_size
    damage.zero_tail(index, 8184)
    (found,) = check(index).findings
    assert (found.rule, found.severity, found.byte_start, found.byte_end) == ("KX110", NOTE, size, 8184)
    assert (found.expected, found.found) == (size, 8184)


def test_a_zero_tail_of_a_rolled_segment_after_a_clean_stop_is_a_warning(copy: Copy) -> None:
    partition = copy("clean/plain-0")
    for base, severity in ((190, NOTE), (0, WARNING)):
        index = partition / f"{base:020d}.index"
        damage.zero_tail(index, 8192)
        (partition.parent / ".kafka_cleanshutdown").touch()
        (found,) = [f for f in check(partition).findings if f.file == str(index)]
        assert (found.rule, found.severity) == ("KX110", severity)
