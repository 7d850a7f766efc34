"""A matrix of index formats and damage: each verb is found by its own rule, at its own slot, and by no other."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kidx.checks.engine.options import QUICK
from kidx.checks.subjects.indexes import IndexFacts
from kidx.checks.subjects.order import out_of_order
from kidx.evidence import from_bytes
from kidx.findings import limited
from kidx.formats.indexes import INDEX_FORMATS, OFFSET_INDEX, IndexFormat
from tests import damage
from tests.checks.conftest import check, grave, index_findings

Copy = Callable[[str], Path]
SLOT = 3  # the entry that verbs damage
MOST = 2**31 - 1


def change(**fields: int | Callable[[int], int]) -> Callable[[Path], object]:
    """A verb that sets one field of the entry at SLOT."""

    def verb(path: Path) -> object:
        values = list(damage.entry(path, SLOT))
        names = [f.name for f in damage.index_format_of(str(path)).fields]
        for name, value in fields.items():
            values[names.index(name)] = value(values[names.index(name)]) if callable(value) else value
        return damage.set_entry(path, SLOT, *values)

    return verb


def last(path: Path) -> int:
    """The slot of the last entry."""
    return path.stat().st_size // damage.index_format_of(str(path)).size - 1


OFFSET_VERBS = {
    "torn": (lambda p: damage.append_garbage(p, b"\1\2\3"), "KX101", None),
    "zero entry": (lambda p: damage.zero_entry(p, SLOT), "KX102", SLOT),
    "negative offset": (change(relative_offset=-5), "KX103", SLOT),
    "offset jumps up": (change(relative_offset=MOST), "KX105", SLOT),
    "offset falls": (change(relative_offset=1), "KX105", SLOT),
    "swapped": (lambda p: damage.swap_entries(p, SLOT - 1, SLOT), "KX105", SLOT),
    "position jumps up": (change(position=MOST), "KX106", SLOT),
    "position falls": (change(position=1), "KX106", SLOT),
    "duplicate": (lambda p: damage.duplicate_entry(p, SLOT - 1), "KX108", SLOT),
    "negative position": (change(position=-1), "KX109", SLOT),
    "position at the start": (lambda p: damage.set_entry(p, 0, damage.entry(p, 0)[0], 0), "KX113", 0),
    "last offset in the next segment": (
        lambda p: damage.set_entry(p, last(p), MOST, damage.entry(p, -1)[1]),
        "KX112",
        -1,
    ),
}
TIME_VERBS = {
    "torn": (lambda p: damage.shrink(p, 5), "KX101", -1),
    "zero entry": (lambda p: damage.zero_entry(p, SLOT), "KX102", SLOT),
    "negative offset": (change(relative_offset=-5), "KX103", SLOT),
    "offset jumps up": (change(relative_offset=MOST), "KX105", SLOT),
    "offset falls": (change(relative_offset=1), "KX105", SLOT),
    "swapped": (lambda p: damage.swap_entries(p, SLOT - 1, SLOT), "KX105", SLOT),
    "timestamp jumps up": (change(timestamp=2**62), "KX107", SLOT),
    "timestamp falls": (change(timestamp=0), "KX107", SLOT),
    "timestamp repeats": (lambda p: change(timestamp=damage.entry(p, SLOT - 1)[0])(p), "KX107", SLOT),
    "negative timestamp": (change(timestamp=-2), "KX111", SLOT),
    "duplicate": (lambda p: damage.duplicate_entry(p, SLOT - 1), "KX108", SLOT),
    "last offset in the next segment": (
        lambda p: damage.set_entry(p, last(p), damage.entry(p, -1)[0], MOST),
        "KX112",
        -1,
    ),
}
TRANSACTION_VERBS = {
    "torn": (lambda p: damage.shrink(p, 1), "KX101", -1),
    "zero entry": (lambda p: damage.zero_entry(p, SLOT), "KX102", SLOT),
    "zero tail": (lambda p: damage.zero_tail(p, p.stat().st_size + 34), "KX102", None),
    "version": (change(version=1), "KX115", SLOT),
    "swapped": (lambda p: damage.swap_entries(p, SLOT - 1, SLOT), "KX116", SLOT),
    "duplicate": (lambda p: damage.duplicate_entry(p, SLOT - 1), "KX116", SLOT),
    "negative producer": (change(producer_id=-1), "KX117", SLOT),
    "begins after its end": (lambda p: change(first_offset=damage.entry(p, SLOT)[3] + 1)(p), "KX117", SLOT),
    "negative first offset": (change(first_offset=-1), "KX117", SLOT),
    "ends before the segment": (lambda p: change(first_offset=-0, last_offset=-1)(p), "KX117", SLOT),
    "last stable offset too large": (change(last_stable_offset=2**40), "KX117", SLOT),
    "last stable offset falls": (change(last_stable_offset=0), "KX117", SLOT),
    "ends in the next segment": (lambda p: damage.set_entry(p, last(p), 0, 1, 5, 10**6, 10**6), "KX112", -1),
}
CASES = [
    pytest.param(kind, verb, code, slot, id=f"{kind}: {name}")
    for kind, verbs in (("index", OFFSET_VERBS), ("timeindex", TIME_VERBS), ("txnindex", TRANSACTION_VERBS))
    for name, (verb, code, slot) in verbs.items()
]


@pytest.mark.parametrize(("kind", "verb", "code", "slot"), CASES)
@pytest.mark.parametrize("alone", [True, False], ids=["file", "directory"])
def test_each_verb_is_found_by_its_rule(
    copy: Copy, kind: str, verb: Callable[[Path], object], code: str, slot: int | None, alone: bool
) -> None:
    partition = copy("clean/txn-0" if kind == "txnindex" else "clean/plain-0")
    file = partition / f"{0:020d}.{kind}"
    slots = file.stat().st_size // damage.index_format_of(str(file)).size
    verb(file)
    if alone:  # without its log and neighbours, but with the next segment's name to bound it
        for other in partition.iterdir():
            if other.suffix != ".index" and other != file:
                other.unlink()
    found = [f for f in grave(check(partition)) if f.file == str(file) and f.rule.startswith("KX1")]
    wanted = {code}
    assert {f.rule for f in found} == wanted, [f[:9] for f in found]
    if slot is not None:
        assert [f.slot for f in found] == [slots - 1 if slot == -1 else slot]
        width = damage.index_format_of(str(file)).size
        assert found[0].byte_start == found[0].slot * width  # type: ignore[operator]


def test_a_hole_of_zeros_is_one_finding_even_across_chunks(tmp_path: Path) -> None:
    entries = b"".join(OFFSET_INDEX.struct.pack(i + 1, 100 * (i + 1)) for i in range(100_000))
    data = bytearray(entries)
    data[20_000 * 8 : 90_000 * 8] = bytes(70_000 * 8)
    (found,) = alone(bytes(data))
    assert (found.rule, found.slot, found.found) == ("KX102", 20_000, 70_000)
    assert (found.byte_start, found.byte_end) == (20_000 * 8, 90_000 * 8)


def test_zeros_of_a_transaction_index_are_one_finding_even_across_chunks(tmp_path: Path) -> None:
    """Nobody preallocates it; that many zeros come from a sparse copy, and one finding an entry would take minutes."""
    path = tmp_path / f"{0:020d}.txnindex"
    path.touch()
    os.truncate(path, 34 * 1_000_000)
    (found,) = grave(check(tmp_path))
    assert (found.rule, found.slot, found.found, found.byte_end) == ("KX102", 0, 1_000_000, 34_000_000)


@pytest.mark.parametrize("slot", [0, 1, 32_766, 32_767, 32_768, 32_769, 65_535, 65_536, 69_997])
def test_every_entry_is_looked_at_also_at_the_borders_of_chunks(slot: int) -> None:
    data = bytearray(b"".join(OFFSET_INDEX.struct.pack(i + 1, 100 * (i + 1)) for i in range(70_000)))
    data[slot * 8 : slot * 8 + 4] = (MOST).to_bytes(4, "big")
    assert [(f.rule, f.slot) for f in alone(bytes(data))] == [("KX105", slot)]


def alone(data: bytes) -> list[object]:
    return list(index_findings(from_bytes(data), OFFSET_INDEX, IndexFacts(0)))


@given(st.lists(st.integers(-3, 12), max_size=12), st.booleans())
def test_what_is_out_of_order_is_named_and_the_rest_is_not_blamed_for_nothing(values: list[int], strict: bool) -> None:
    import numpy as np

    broken = out_of_order(np.array(values, np.int64), strict=strict).tolist()
    pairs = list(itertools.pairwise(values))
    falls = [i for i, (a, b) in enumerate(pairs) if (b <= a if strict else b < a)]
    assert bool(broken) == bool(falls)
    for fall in falls:
        assert fall in broken or fall + 1 in broken
    assert all(b in falls or b - 1 in falls for b in broken)


@given(st.binary(max_size=400), st.integers(0, 2**63 - 1), st.sampled_from(INDEX_FORMATS))
def test_random_bytes_never_crash_and_findings_stay_inside_the_file(data: bytes, base: int, form: IndexFormat) -> None:
    evidence = from_bytes(data)
    facts = IndexFacts(base, base + 1000)
    for one in limited(index_findings(evidence, form, facts)):
        assert one.byte_start is None or 0 <= one.byte_start <= one.byte_end <= len(data)  # type: ignore[operator]


@given(st.integers(0, 40), st.integers(1, 9), st.data())
def test_the_fast_look_and_the_slow_one_agree(count: int, step: int, data: st.DataObject) -> None:
    """Whether an index is healthy is decided by arithmetic on whole chunks; a plain loop must come to the same."""
    entries = [(step * (i + 1), 7 * (i + 1)) for i in range(count)]
    if entries and data.draw(st.booleans()):
        at = data.draw(st.integers(0, count - 1))
        entries[at] = (data.draw(st.integers(-(2**31), MOST)), data.draw(st.integers(-(2**31), MOST)))
    raw = b"".join(OFFSET_INDEX.struct.pack(*e) for e in entries)
    healthy = all(o > 0 and p > 0 for o, p in entries[:1]) and all(
        a[0] < b[0] and a[1] < b[1] for a, b in itertools.pairwise(entries)
    )
    zero_tail = bool(entries) and entries[-1] == (0, 0)
    assert (alone(raw) == []) == (healthy and not zero_tail)


@pytest.mark.parametrize("kind", ["index", "timeindex", "txnindex"])
def test_entries_that_are_mostly_holes_are_not_read(kind: str, tmp_path: Path) -> None:
    """They would take memory that the file itself does not take."""
    path = tmp_path / f"{0:020d}.{kind}"
    path.write_bytes(b"")
    os.truncate(path, 2_000_000_000)
    with path.open("ab") as f:
        f.write(bytes(range(1, 201)))
    if path.stat().st_blocks > 1 << 20:
        pytest.skip("this file system has no holes")
    done = check(path)
    assert not done.findings
    assert done.unread == [
        f"{path}: most of the {done_bytes(path)} bytes up to its last entry are holes; no broker leaves such a file"
    ]


def done_bytes(path: Path) -> str:
    """The bytes of its whole entries."""
    width = damage.index_format_of(str(path)).size
    return f"{path.stat().st_size // width * width:,}"


def test_quick_leaves_out_the_zeros_after_the_entries(copy: Copy) -> None:
    path = copy("clean/plain-0") / "00000000000000000190.index"
    entries = path.stat().st_size
    with path.open("ab") as f:
        f.write(bytes(10_485_760 - entries))
    quick, full = check(path, level=QUICK), check(path)
    assert not grave(quick) and not grave(full)
    assert quick.coverage.entries == full.coverage.entries == entries // 8
    unread = 10_485_760 - entries - (64 << 10)
    assert quick.coverage.bytes_skipped == unread and full.coverage.bytes_skipped == 0
    assert quick.coverage.bytes_checked == full.coverage.bytes_checked - unread == entries + (64 << 10)
    assert [s.why for s in quick.coverage.skipped if s.what == str(path)] == [
        "--quick does not read the zeros after its entries"
    ]
