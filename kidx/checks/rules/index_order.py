"""The order of an index's entries."""

from __future__ import annotations

import numpy as np

from kidx.checks.rule import BOUNDS, ORDER, REPEATS, check
from kidx.checks.subjects.indexes import Bools, SearchedEntries, TransactionEntries
from kidx.checks.texts import CONFIRM_BY_REBUILD, LOADS_IT, REBUILD, TIERED
from kidx.findings import ERROR, WARNING, Finding, Rule

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
        "directory, a restored copy that was patched together. The slot reported is the one whose removal restores the "
        "order, if there is one. " + CONFIRM_BY_REBUILD
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
        "Before 2.3 a broker compared the last timestamp with the first at start and rebuilt if it was smaller; since "
        "2.3 it does not check. Time look-ups (offsetsForTimes, seek by time) take a wrong turn; and if it is the last "
        "entry, retention takes its timestamp for the segment's newest and may delete the segment too "
        "early." + TIERED
    ),
    story=(
        "A time index holds the largest timestamp so far, so it can only rise: records that are out of order in time "
        "do not affect it. One that falls or repeats was not written by a broker. " + CONFIRM_BY_REBUILD
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


def offset_order_finding(entries: SearchedEntries, row: int) -> Finding:
    """The finding about one row."""
    offsets = entries.offsets + entries.facts.base_offset
    return entries.order_finding(OFFSET_ORDER, row, "offset", offsets, strict=entries.is_offset_index)


def position_order_finding(entries: SearchedEntries, row: int) -> Finding:
    """The finding about one row."""
    return entries.order_finding(POSITION_ORDER, row, "position", entries.other, strict=True)


def timestamp_order_finding(entries: SearchedEntries, row: int) -> Finding:
    """The finding about one row."""
    return entries.order_finding(TIMESTAMP_ORDER, row, "timestamp", entries.other, strict=True)


def duplicate_finding(entries: SearchedEntries, row: int) -> Finding:
    """The finding about one row."""
    found = {
        "offset": int(entries.offsets[row]) + entries.facts.base_offset,
        entries.other_name: int(entries.other[row]),
    }
    return entries.finding(DUPLICATE_ENTRY, row, "it repeats the entry before it", found=found)


def transaction_order_finding(entries: TransactionEntries, row: int) -> Finding:
    """The finding about one row."""
    return entries.order_finding(TRANSACTION_ORDER, row, "last offset", entries.fields["last_offset"], strict=True)


@check(SearchedEntries, DUPLICATE_ENTRY, finding=duplicate_finding, stage=REPEATS)
def duplicate_entry(entries: SearchedEntries) -> Bools | None:
    """Rows that equal the row before, bool, shape (n,)."""
    if entries.in_order:
        return None
    offsets, other = entries.offsets, entries.other
    same = np.zeros(len(offsets), bool)
    same[1:] = (offsets[1:] == offsets[:-1]) & (other[1:] == other[:-1])
    return same


@check(SearchedEntries, OFFSET_ORDER, finding=offset_order_finding, stage=ORDER)
def offset_order(entries: SearchedEntries) -> Bools | None:
    """Rows whose offset breaks the order, bool, shape (n,); those of a time index may repeat.

    Source: OffsetIndex.append, TimeIndex.maybeAppend.
    """
    if entries.in_order:
        return None
    return entries.disordered(entries.offsets, strict=entries.is_offset_index)


@check(SearchedEntries, OFFSET_ORDER, finding=offset_order_finding, stage=BOUNDS)
def base_offset_again(entries: SearchedEntries) -> Bools | None:
    """Rows of a time index that name the base offset, bool, shape (n,): timestamps rise, so only the first one can."""
    if entries.is_offset_index or len(entries) < 2:
        return None
    if entries.in_order and entries.relative_offset(1) > 0:
        return None
    at_base: Bools = entries.offsets == 0
    at_base[0] = False  # the file's first entry; that of a later chunk is in the one before, too
    return at_base


@check(SearchedEntries, POSITION_ORDER, finding=position_order_finding, stage=ORDER)
def position_order(entries: SearchedEntries) -> Bools | None:
    """Rows of an offset index whose position breaks the order, bool, shape (n,)."""
    if entries.in_order or not entries.is_offset_index:
        return None
    return entries.disordered(entries.other, strict=True)


@check(SearchedEntries, TIMESTAMP_ORDER, finding=timestamp_order_finding, stage=ORDER)
def timestamp_order(entries: SearchedEntries) -> Bools | None:
    """Rows of a time index whose timestamp breaks the order, bool, shape (n,)."""
    if entries.in_order or entries.is_offset_index:
        return None
    return entries.disordered(entries.other, strict=True)


@check(TransactionEntries, TRANSACTION_ORDER, finding=transaction_order_finding, stage=ORDER)
def transaction_order(entries: TransactionEntries) -> Bools | None:
    """Rows whose last offset is not larger than the one before, bool, shape (n,)."""
    return entries.disordered(entries.fields["last_offset"], strict=True)
