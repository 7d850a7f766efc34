"""The order of an index's entries."""

from __future__ import annotations

import numpy as np

from kidx.checks.rule import BOUNDS, ORDER, REPEATS, check
from kidx.checks.subjects.indexes import Bools, Entries
from kidx.checks.texts import CONFIRM_BY_REBUILD, LOADS_IT, REBUILD, TIERED
from kidx.findings import ERROR, WARNING, Finding, Rule
from kidx.formats.indexes import OFFSET_INDEX, TIME_INDEX, TRANSACTION_INDEX

OFFSET_ORDER = Rule(
    code="KX105",
    name="offset-order",
    severity=ERROR,
    title="Offsets do not increase from entry to entry",
    broker=(
        LOADS_IT
        + "its binary search relies on the order and may miss the right entry. A consumer may get an older batch first "
        "(and skip it), or a wrong OFFSET_OUT_OF_RANGE." + TIERED
    ),
    story=(
        "A broker refuses to append an offset that is not larger than the last (InvalidOffsetException; in a time "
        "index: smaller). Out of order means that bytes were overwritten or moved: a bad disk, two writers on one "
        "directory, a restored copy that was patched together. The slot reported is the one whose removal restores "
        "the order, where that can be told. " + CONFIRM_BY_REBUILD
    ),
    repair=REBUILD,
)

POSITION_ORDER = Rule(
    code="KX106",
    name="position-order",
    severity=ERROR,
    title="Positions in the log do not increase from entry to entry",
    broker=(
        LOADS_IT
        + "a look-up that ends on this entry starts reading the log at a wrong place. Starting too late, it misses the "
        "offset; starting inside a batch, it reads garbage (CorruptRecordException)." + TIERED
    ),
    story=(
        "Later offsets lie later in the log, so positions rise with offsets. A position that does not was "
        "overwritten. fetchUpperBoundOffset, which searches by position, is misled too. " + CONFIRM_BY_REBUILD
    ),
    repair=REBUILD,
)

TIMESTAMP_ORDER = Rule(
    code="KX107",
    name="timestamp-order",
    severity=ERROR,
    title="Timestamps do not increase from entry to entry",
    broker=(
        "Before 2.3 a broker compared the last timestamp with the first at start and rebuilt if it was smaller; "
        "since 2.3 nobody looks. Time look-ups (offsetsForTimes, seek by time) take a wrong turn; and if it is the "
        "last entry, retention takes its timestamp for the segment's newest and may delete the segment too "
        "early." + TIERED
    ),
    story=(
        "A time index holds the largest timestamp so far, so it can only rise: records out of order in time do not "
        "unsettle it. One that falls or repeats was not written by a broker. " + CONFIRM_BY_REBUILD
    ),
    repair=REBUILD,
)

DUPLICATE_ENTRY = Rule(
    code="KX108",
    name="duplicate-entry",
    severity=WARNING,
    title="An entry is the same as the one before it",
    broker=LOADS_IT + "a look-up that ends on either entry finds the same place, so readers notice nothing." + TIERED,
    story=(
        "A broker never appends the same entry twice. Harmless to readers, but it shows that something else wrote to "
        "the file, or that a slot's own content was overwritten by its neighbour's. " + CONFIRM_BY_REBUILD
    ),
    repair=REBUILD,
)

TRANSACTION_ORDER = Rule(
    code="KX116",
    name="transaction-order",
    severity=ERROR,
    title="Transactions' last offsets do not increase from entry to entry",
    broker=(
        "Not checked when loading. truncateTo stops at the first entry past its offset and may leave later ones "
        "behind; a reader that stops at the first last-stable offset past its range may miss aborted transactions, "
        "and a read_committed consumer gets their records."
    ),
    story=(
        "A transaction gets its entry when its ABORT marker is appended, so the markers' offsets rise; a broker "
        "refuses anything else. Out of order means overwritten or patched. " + CONFIRM_BY_REBUILD
    ),
    repair=REBUILD,
)


def _out_of_order(rule: Rule, entries: Entries, row: int, name: str, said: str) -> Finding:
    """The finding about an entry whose field breaks the order; a neighbour says what it should be."""
    field = "relative_offset" if name == "offset" else name
    base = entries.facts.base_offset if name == "offset" else 0
    values = entries.fields[field]
    or_equal = "" if entries.is_offset_index or name != "offset" else "="
    where, bound = "it", None
    if row:
        where, bound = "after the entry before it, it", f">{or_equal} {int(values[row - 1]) + base}"
    elif len(values) > 1:
        where, bound = "before the entry after it, it", f"<{or_equal} {int(values[1]) + base}"
    found = int(values[row]) + base
    said = f"its {said} {found} breaks the order; {where} has to be {bound}"
    return entries.finding(rule, row, said, expected=bound, found=found)


def offset_order_finding(entries: Entries, row: int) -> Finding:
    """The finding about one row."""
    return _out_of_order(OFFSET_ORDER, entries, row, "offset", "offset")


def position_order_finding(entries: Entries, row: int) -> Finding:
    """The finding about one row."""
    return _out_of_order(POSITION_ORDER, entries, row, "position", "position")


def timestamp_order_finding(entries: Entries, row: int) -> Finding:
    """The finding about one row."""
    return _out_of_order(TIMESTAMP_ORDER, entries, row, "timestamp", "timestamp")


def duplicate_finding(entries: Entries, row: int) -> Finding:
    """The finding about one row."""
    found = {
        "offset": int(entries.offsets[row]) + entries.facts.base_offset,
        entries.other_name: int(entries.other[row]),
    }
    return entries.finding(DUPLICATE_ENTRY, row, "it repeats the entry before it", found=found)


def transaction_order_finding(entries: Entries, row: int) -> Finding:
    """The finding about one row."""
    ends = entries.fields["last_offset"]
    before, found = int(ends[max(0, row - 1)]), int(ends[row])
    said = f"its last offset {found} breaks the order; the entry before says {before}"
    return entries.finding(TRANSACTION_ORDER, row, said, expected=f"> {before}", found=found)


@check(Entries, DUPLICATE_ENTRY, finding=duplicate_finding, stage=REPEATS)
def duplicate_entry(entries: Entries) -> Bools | None:
    """Rows of an offset or time index that equal the row before, bool, shape (n,)."""
    if entries.in_order or entries.format is TRANSACTION_INDEX:
        return None
    offsets, other = entries.offsets, entries.other
    same = np.zeros(len(offsets), bool)
    same[1:] = (offsets[1:] == offsets[:-1]) & (other[1:] == other[:-1])
    return same


@check(Entries, OFFSET_ORDER, finding=offset_order_finding, stage=ORDER)
def offset_order(entries: Entries) -> Bools | None:
    """Rows whose offset breaks the order, bool, shape (n,); those of a time index may repeat.

    Source: OffsetIndex.append, TimeIndex.maybeAppend.
    """
    if entries.in_order or entries.format is TRANSACTION_INDEX:
        return None
    return entries.disordered(entries.offsets, strict=entries.is_offset_index)


@check(Entries, OFFSET_ORDER, finding=offset_order_finding, stage=BOUNDS)
def base_offset_again(entries: Entries) -> Bools | None:
    """Rows of a time index that name the base offset, bool, shape (n,): timestamps rise, so only the first one can."""
    if entries.format is not TIME_INDEX or len(entries) < 2:
        return None
    if entries.in_order and entries.relative_offset(1) > 0:
        return None
    at_base: Bools = entries.offsets == 0
    at_base[0] = False  # the file's first entry; that of a later chunk is in the one before, too
    return at_base


@check(Entries, POSITION_ORDER, finding=position_order_finding, stage=ORDER)
def position_order(entries: Entries) -> Bools | None:
    """Rows of an offset index whose position breaks the order, bool, shape (n,)."""
    if entries.in_order or entries.format is not OFFSET_INDEX:
        return None
    return entries.disordered(entries.other, strict=True)


@check(Entries, TIMESTAMP_ORDER, finding=timestamp_order_finding, stage=ORDER)
def timestamp_order(entries: Entries) -> Bools | None:
    """Rows of a time index whose timestamp breaks the order, bool, shape (n,)."""
    if entries.in_order or entries.format is not TIME_INDEX:
        return None
    return entries.disordered(entries.other, strict=True)


@check(Entries, TRANSACTION_ORDER, finding=transaction_order_finding, stage=ORDER)
def transaction_order(entries: Entries) -> Bools | None:
    """Rows of a transaction index whose last offset is not larger than the one before, bool, shape (n,)."""
    if entries.format is not TRANSACTION_INDEX:
        return None
    return entries.disordered(entries.fields["last_offset"], strict=True)
