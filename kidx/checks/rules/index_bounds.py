"""Fields of an index's entries that cannot be: negative, too large, outside the segment."""

from __future__ import annotations

import numpy as np

from kidx.checks.rule import BOUNDS, FIELDS, check
from kidx.checks.subjects.indexes import LARGEST_OFFSET, Bools, Entries, SearchedEntries, TransactionEntries
from kidx.checks.texts import CONFIRM_BY_REBUILD, LOADS_IT, REBUILD, TIERED
from kidx.findings import ERROR, Finding, Rule
from kidx.formats.indexes import MAX_RELATIVE_OFFSET

NEGATIVE_OFFSET = Rule(
    code="KX103",
    name="negative-offset",
    severity=ERROR,
    title="An entry's relative offset is negative",
    broker=(
        "Before 2.3 a broker noticed it at start in the last entry alone (last offset below the base offset) and "
        "rebuilt the indexes; since 2.3 it does not check. Its search takes a wrong turn at such an entry." + TIERED
    ),
    story=(
        "A relative offset is an offset minus the segment's base offset, 0 to 2,147,483,647. A negative one is "
        "overwritten data, or an offset further from the base than 31 bits can express: old cleaners could merge "
        "segments into one like that (KAFKA-5413, offset overflow); since 2.0 a broker splits it at start "
        "(KAFKA-6264). If the segment's offsets span more than 2^31 (`kidx stat` shows that), the segment has to be "
        "split; otherwise only the index is damaged. " + CONFIRM_BY_REBUILD
    ),
    repair=REBUILD,
)

OFFSET_OVERFLOW = Rule(
    code="KX104",
    name="offset-overflow",
    severity=ERROR,
    title="Base offset and relative offset add up to more than any offset",
    broker=LOADS_IT + "the sum wraps to a negative number in its arithmetic." + TIERED,
    story=(
        "Offsets are 64-bit signed. Base offsets near 2^63 do not occur in practice, so the file's name is usually "
        "what is wrong: compare it with the first batch of the .log."
    ),
    repair="rename the file to the base offset of its segment",
)

NEGATIVE_POSITION = Rule(
    code="KX109",
    name="negative-position",
    severity=ERROR,
    title="An entry's position in the log is negative",
    broker=LOADS_IT + "a look-up that ends on this entry asks the log for a negative position and fails.",
    story=(
        "A segment is at most 2^31-1 bytes, so positions are 0 to 2,147,483,647. A negative one is overwritten data. "
        + CONFIRM_BY_REBUILD
    ),
    repair=REBUILD,
)

NEGATIVE_TIMESTAMP = Rule(
    code="KX111",
    name="negative-timestamp",
    severity=ERROR,
    title="An entry's timestamp is negative",
    broker=(
        "Before 2.3 a broker noticed it only where it was the last entry and smaller than the first; since 2.3 it does "
        "not check. As the last entry it makes the segment look older than any retention time." + TIERED
    ),
    story=(
        "A time index gets an entry when the largest timestamp so far grows, starting from -1 (none): a negative one "
        "is never written. The bytes were overwritten. " + CONFIRM_BY_REBUILD
    ),
    repair=REBUILD,
)

OFFSET_BEYOND_SEGMENT = Rule(
    code="KX112",
    name="offset-beyond-segment",
    severity=ERROR,
    title="An entry's offset belongs to the next segment or a later one",
    broker=LOADS_IT + "look-ups for offsets near the end of the segment are led past it and find nothing." + TIERED,
    story=(
        "A segment holds offsets from its own base up to the next segment's. An index that goes further belongs to "
        "another segment (renamed, restored under the wrong name), was overwritten, or describes a log that was "
        "truncated since. " + CONFIRM_BY_REBUILD
    ),
    repair=REBUILD,
)

FIRST_ENTRY_AT_BASE = Rule(
    code="KX113",
    name="first-entry-at-base",
    severity=ERROR,
    title="An offset index entry names the segment's very beginning",
    broker=(
        LOADS_IT
        + "if only the offset or the position is wrong, look-ups that end on the entry start at a wrong place."
        + TIERED
    ),
    story=(
        "A broker indexes a batch only when index.interval.bytes lie before it, so no entry has position 0, and none "
        "names the base offset itself: without an entry a look-up starts at the beginning anyway. " + CONFIRM_BY_REBUILD
    ),
    repair=REBUILD,
)

_INT = f"0..{MAX_RELATIVE_OFFSET}"


def negative_offset_finding(entries: SearchedEntries, row: int) -> Finding:
    """The finding about one row."""
    found = int(entries.offsets[row])
    text = f"its relative offset is {found}; it can only be {_INT}"
    return entries.finding(NEGATIVE_OFFSET, row, text, expected=_INT, found=found)


@check(SearchedEntries, NEGATIVE_OFFSET, finding=negative_offset_finding, stage=FIELDS)
def negative_offset(entries: SearchedEntries) -> Bools | None:
    """Rows with a negative relative offset, bool, shape (n,)."""
    return None if entries.in_order else entries.offsets < 0


def negative_position_finding(entries: SearchedEntries, row: int) -> Finding:
    """The finding about one row."""
    found = int(entries.other[row])
    text = f"its position in the log is {found}; it can only be {_INT}"
    return entries.finding(NEGATIVE_POSITION, row, text, expected=_INT, found=found)


@check(SearchedEntries, NEGATIVE_POSITION, finding=negative_position_finding, stage=FIELDS)
def negative_position(entries: SearchedEntries) -> Bools | None:
    """Rows with a negative position, bool, shape (n,)."""
    return None if entries.in_order or not entries.is_offset_index else entries.other < 0


def negative_timestamp_finding(entries: SearchedEntries, row: int) -> Finding:
    """The finding about one row."""
    found = int(entries.other[row])
    text = f"its timestamp is {found}; only timestamps from 0 on are indexed"
    return entries.finding(NEGATIVE_TIMESTAMP, row, text, expected=">= 0", found=found)


@check(SearchedEntries, NEGATIVE_TIMESTAMP, finding=negative_timestamp_finding, stage=FIELDS)
def negative_timestamp(entries: SearchedEntries) -> Bools | None:
    """Rows with a negative timestamp, bool, shape (n,)."""
    return None if entries.in_order or entries.is_offset_index else entries.other < 0


def first_entry_finding(entries: SearchedEntries, row: int) -> Finding:
    """The finding about the first row."""
    offset, position = int(entries.offsets[row]) + entries.facts.base_offset, int(entries.other[row])
    text = f"it says offset {offset} is at position {position}; no broker indexes the first batch of a segment"
    return entries.finding(FIRST_ENTRY_AT_BASE, row, text, found={"offset": offset, "position": position})


@check(SearchedEntries, FIRST_ENTRY_AT_BASE, finding=first_entry_finding, stage=FIELDS)
def first_entry_at_base(entries: SearchedEntries) -> Bools | None:
    """The first entry of an offset index, where it names the base offset or position 0; bool, shape (n,)."""
    if not entries.is_offset_index or entries.first or all(entries.stored(0)):
        return None
    at_base = np.zeros(len(entries), bool)
    at_base[0] = True
    return at_base


def offset_overflow_finding(entries: SearchedEntries, row: int) -> Finding:
    """The finding about one row."""
    found, largest = int(entries.offsets[row]), LARGEST_OFFSET - entries.facts.base_offset
    text = f"its relative offset {found} leads past the largest offset there is"
    return entries.finding(OFFSET_OVERFLOW, row, text, expected=f"<= {largest}", found=found)


@check(SearchedEntries, OFFSET_OVERFLOW, finding=offset_overflow_finding, stage=BOUNDS)
def offset_overflow(entries: SearchedEntries) -> Bools | None:
    """Rows whose absolute offset is no int64, bool, shape (n,)."""
    largest = LARGEST_OFFSET - entries.facts.base_offset
    if largest >= MAX_RELATIVE_OFFSET:
        return None
    return entries.offsets > largest


def _beyond_segment(entries: Entries, row: int, name: str, found: int) -> Finding:
    bound = f"<= {(entries.facts.next_base_offset or 0) - 1}"
    text = f"its {name} {found} is not in this segment; it has to be {bound}"
    return entries.finding(OFFSET_BEYOND_SEGMENT, row, text, expected=bound, found=found)


def beyond_segment_finding(entries: SearchedEntries, row: int) -> Finding:
    """The finding about one row."""
    return _beyond_segment(entries, row, "offset", int(entries.offsets[row]) + entries.facts.base_offset)


@check(SearchedEntries, OFFSET_BEYOND_SEGMENT, finding=beyond_segment_finding, stage=BOUNDS)
def offset_beyond_segment(entries: SearchedEntries) -> Bools | None:
    """Rows for an offset of the next segment or a later one, bool, shape (n,)."""
    end, base = entries.facts.next_base_offset, entries.facts.base_offset
    if end is None or (entries.in_order and entries.relative_offset(-1) < end - base):
        return None
    return entries.offsets >= end - base


def marker_beyond_segment_finding(entries: TransactionEntries, row: int) -> Finding:
    """The finding about one row."""
    return _beyond_segment(entries, row, "last offset", int(entries.fields["last_offset"][row]))


@check(TransactionEntries, OFFSET_BEYOND_SEGMENT, finding=marker_beyond_segment_finding, stage=BOUNDS)
def marker_beyond_segment(entries: TransactionEntries) -> Bools | None:
    """Rows whose marker is at an offset of the next segment or a later one, bool, shape (n,)."""
    end = entries.facts.next_base_offset
    return None if end is None else entries.fields["last_offset"] >= end
