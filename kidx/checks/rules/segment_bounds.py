"""Batches whose offsets do not belong to their segment."""

from __future__ import annotations

from kidx.checks.rule import BOUNDS, LOG, check
from kidx.checks.subjects.logs import Batches, Bools
from kidx.findings import ERROR, Finding, Rule
from kidx.formats.indexes import MAX_RELATIVE_OFFSET

SEGMENT_OVERFLOW = Rule(
    code="KX309",
    name="segment-overflow",
    severity=ERROR,
    title="A batch's offset is too far from the segment's base for an index",
    broker=(
        "Since 2.0 a broker splits such a segment when it loads it (KAFKA-6264). If a later batch is in range again, "
        "as after a flipped bit, the split is refused: recovery throws, and the broker does not start. Before 2.0, "
        "appending to the index or recovery threw (IndexOffsetOverflowException), and the cleaner died."
    ),
    story=(
        "Indexes hold offsets relative to the base in 31 bits. Old versions could merge segments into one whose "
        "offsets span more."
    ),
)

BATCH_OUTSIDE_SEGMENT = Rule(
    code="KX310",
    name="batch-outside-segment",
    severity=ERROR,
    title="A batch holds offsets that do not belong to its segment",
    broker=(
        "Segments are chosen by their names: records outside are never found, or found twice. After a clean stop the "
        "log's end falls to the base offset of a last segment whose name is too high (seen with 4.3)."
    ),
    story=(
        "A segment holds offsets from its name's up to the next segment's. The file was renamed, restored under "
        "another name, or a segment with another base was put next to it; an overwritten base offset looks the same."
    ),
)


def overflow_finding(batches: Batches, row: int) -> Finding:
    """The finding about one row."""
    base, last = batches.facts.base_offset, int(batches.window.last_offset[row])
    text = f"its last offset {last} is more than 2^31-1 past the segment's base {base}"
    return batches.finding(SEGMENT_OVERFLOW, row, text, expected=base + MAX_RELATIVE_OFFSET, found=last)


@check(Batches, SEGMENT_OVERFLOW, finding=overflow_finding, stage=BOUNDS, distrust=LOG)
def segment_overflow(batches: Batches) -> Bools | None:
    """Credible batches whose last offset is too far from the base for an index, bool, shape (n,)."""
    base, last = batches.facts.base_offset, batches.window.last_offset
    if batches.contiguous and int(last[-1]) - base <= MAX_RELATIVE_OFFSET:
        return None
    return batches.credible & (last - base > MAX_RELATIVE_OFFSET)


def outside_finding(batches: Batches, row: int) -> Finding:
    """The finding about one row."""
    facts = batches.facts
    first, last = int(batches.first_offsets[row]), int(batches.window.last_offset[row])
    end = "" if facts.next_base_offset is None else f" to {facts.next_base_offset - 1}"
    text = f"it holds offsets {first} to {last}; the segment's are {facts.base_offset}{end}"
    return batches.finding(BATCH_OUTSIDE_SEGMENT, row, text, found=[first, last])


@check(Batches, BATCH_OUTSIDE_SEGMENT, finding=outside_finding, stage=BOUNDS, distrust=LOG)
def batch_outside_segment(batches: Batches) -> Bools | None:
    """Credible batches before the segment's base or in the next segment, bool, shape (n,); KX309's excepted."""
    base, end = batches.facts.base_offset, batches.facts.next_base_offset
    first, last = batches.first_offsets, batches.window.last_offset
    if batches.contiguous and base <= int(first[0]) and (end is None or int(last[-1]) < end):
        return None
    outside = first < base
    if end is not None:
        outside |= (last >= end) & ~(last - base > MAX_RELATIVE_OFFSET)
    return batches.credible & outside
