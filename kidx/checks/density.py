"""How densely an index covers its log, and whether the two indexes of a segment end together. Never more than notes."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator
from operator import sub
from typing import TYPE_CHECKING

from kidx.checks.against_log import OffsetEntries
from kidx.checks.making import finding
from kidx.evidence import Evidence
from kidx.findings import Finding
from kidx.formats.indexes import OFFSET_INDEX
from kidx.segments.walk import walk

if TYPE_CHECKING:
    from kidx.checks.against_log import Numbers

_ENOUGH_ENTRIES = 8  # to know what is usual here: index.interval.bytes is in no file
_TIMES_USUAL = 4
_MOST_TIMES_ALONE = 3  # rolls, closes and restarts write a time entry without an offset entry


def sparse(entries: OffsetEntries, log: Evidence, last_position: int) -> Iterator[Finding]:
    """A note about the widest stretch of the log without an entry, if it is far wider than usual.

    A batch is indexed when index.interval.bytes lie before it, so what counts is where the last batch before the next
    entry starts, not where that batch ends: one batch can be larger than any interval.
    """
    if len(entries.positions) < _ENOUGH_ENTRIES or _even(entries.positions, last_position):
        return
    import numpy as np

    distances = np.diff(np.concatenate((entries.positions, [last_position])))
    usual = int(np.sort(distances[:-1])[(len(distances) - 1) // 4])  # a quarter of them is shorter
    widest = int(distances.argmax())
    if int(distances[widest]) <= _TIMES_USUAL * usual:
        return
    start = int(entries.positions[widest])
    end = start + int(distances[widest])
    before_end = max((b.position for b in walk(log, start, end)), default=start) - start
    if before_end > _TIMES_USUAL * usual:
        slot = int(entries.slots[widest])
        at = slot * OFFSET_INDEX.size
        yield finding(
            "KX208",
            entries.file,
            f"after entry {slot:,} the log goes on for {before_end:,} bytes without one; entries here are usually "
            f"{usual:,} bytes apart",
            span=(at, at + OFFSET_INDEX.size),
            slot=slot,
            expected=usual,
            found=before_end,
        )


def _even(positions: Numbers, last_position: int) -> bool:
    """Whether no distance is far wider than the shortest one, as nearly always; then what is usual need not be known.

    The distance from the last entry to `last_position` is no measure of what is usual.
    """
    if isinstance(positions, array):
        distances: list[int] = list(map(sub, positions[1:], positions))
        shortest, widest = min(distances), max(distances)
    else:
        between = positions[1:] - positions[:-1]
        shortest, widest = int(between.min()), int(between.max())
    at_end = last_position - int(positions[-1])
    return max(widest, at_end) <= _TIMES_USUAL * shortest


def apart(time_index: str, offsets: Numbers, times: Numbers) -> Iterator[Finding]:
    """A note about several time entries past the last offset entry. Both are the entries' offsets, ascending."""
    last = int(offsets[-1]) if len(offsets) else -1
    alone = len(times) - bisect_right(times, last)
    if alone > _MOST_TIMES_ALONE:
        said = f"its last {alone:,} entries lie past the last entry of the offset index"
        yield finding("KX118", time_index, said, expected=_MOST_TIMES_ALONE, found=alone)
