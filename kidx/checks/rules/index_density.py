"""How densely an index covers its log, and whether the two indexes of a segment end together. Never more than notes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kidx.checks.rule import check
from kidx.checks.subjects.logs import CheckedLog, SegmentIndexes
from kidx.checks.texts import REBUILD
from kidx.findings import NOTE, Finding, Rule
from kidx.formats.indexes import OFFSET_INDEX
from kidx.segments.walk import walk

INDEXES_APART = Rule(
    code="KX118",
    name="indexes-apart",
    severity=NOTE,
    title="The time index continues past the end of the offset index",
    broker="No version compares the two. Look-ups by time then walk further through the log than they need.",
    story=(
        "Both indexes get an entry at the same moment, except that a time index gets a last one when the segment rolls "
        "or the log closes. Several time entries past the last offset entry mean many restarts with little data in "
        "between, or an offset index that lost its end. Without the log, these cases look the same."
    ),
    repair=REBUILD,
)

SPARSE_INDEX = Rule(
    code="KX208",
    name="sparse-index",
    severity=NOTE,
    title="Two entries are much further apart in the log than index.interval.bytes",
    broker="Readers scan more of the log than necessary. There is no other effect.",
    story=(
        "A leader writes an entry after every index.interval.bytes (4096 by default). Entries further apart are left "
        "by appends of many batches at once (a follower that catches up, before KAFKA-806), by a full index, or by "
        "entries that were lost. A rebuilt index is dense again."
    ),
    repair=REBUILD,
)

_ENOUGH_ENTRIES = 8  # to know what is usual here: index.interval.bytes is in no file
_TIMES_USUAL = 4
_MOST_TIMES_ALONE = 3  # rolls, closes and restarts write a time entry without an offset entry


@check(SegmentIndexes, INDEXES_APART)
def indexes_apart(indexes: SegmentIndexes) -> Iterator[Finding] | None:
    """Several time entries past the last offset entry."""
    offsets, times = indexes.offsets.fields["offset"], indexes.times.fields["offset"]
    last = int(offsets[-1]) if len(offsets) else -1
    alone = len(times) - int(times.searchsorted(last, "right"))
    if alone <= _MOST_TIMES_ALONE:
        return None
    text = f"its last {alone:,} entries lie past the last entry of the offset index"
    return iter([INDEXES_APART.finding(indexes.times.path, text, expected=_MOST_TIMES_ALONE, found=alone)])


@check(CheckedLog, SPARSE_INDEX)
def sparse_index(log: CheckedLog) -> Iterator[Finding] | None:
    """The widest range of the log without an entry, if it is far wider than usual.

    A batch is indexed when index.interval.bytes lie before it, so what counts is where the last batch before the next
    entry starts, not where that batch ends: one batch can be larger than any interval.
    """
    entries = log.offsets
    if entries is None or not log.result.whole or len(entries.positions) < _ENOUGH_ENTRIES:
        return None
    distances = np.diff(entries.positions)
    at_end = log.result.last_position - int(entries.positions[-1])
    if max(int(distances.max()), at_end) <= _TIMES_USUAL * int(distances.min()):
        return None  # no distance is far wider than the shortest one, so what is usual need not be known
    usual = int(np.sort(distances)[len(distances) // 4])  # a quarter of them is shorter
    distances = np.append(distances, at_end)
    widest = int(distances.argmax())
    if int(distances[widest]) <= _TIMES_USUAL * usual:
        return None
    return _sparse(log, widest, int(distances[widest]), usual)


def _sparse(log: CheckedLog, widest: int, distance: int, usual: int) -> Iterator[Finding]:
    entries = log.offsets
    assert entries is not None
    start = int(entries.positions[widest])
    before_end = max((b.position for b in walk(log.evidence, start, start + distance)), default=start) - start
    if before_end > _TIMES_USUAL * usual:
        slot = int(entries.slots[widest])
        yield SPARSE_INDEX.finding(
            entries.file,
            f"after entry {slot:,} the log goes on for {before_end:,} bytes without one; entries here are usually "
            f"{usual:,} bytes apart",
            span=(slot * OFFSET_INDEX.size, (slot + 1) * OFFSET_INDEX.size),
            slot=slot,
            expected=usual,
            found=before_end,
        )
