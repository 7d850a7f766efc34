"""How densely an index covers its log, and whether the two indexes of a segment end together. Never more than notes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kidx.checks.against_log import OffsetEntries
from kidx.checks.making import finding
from kidx.evidence import Evidence
from kidx.findings import Finding
from kidx.formats.indexes import OFFSET_INDEX
from kidx.segments.walk import walk

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Ints = npt.NDArray[np.int64]

_ENOUGH_ENTRIES = 8  # to know what is usual here: index.interval.bytes is in no file
_TIMES_USUAL = 4
_MOST_TIMES_ALONE = 3  # rolls, closes and restarts write a time entry without an offset entry


def sparse(entries: OffsetEntries, log: Evidence, last_position: int) -> Iterator[Finding]:
    """A note about the widest stretch of the log without an entry, if it is far wider than usual.

    A batch is indexed when index.interval.bytes lie before it, so what counts is where the last batch before the next
    entry starts, not where that batch ends: one batch can be larger than any interval.
    """
    import numpy as np

    if len(entries.positions) < _ENOUGH_ENTRIES:
        return
    distances = np.diff(np.append(entries.positions, last_position))
    usual = int(np.percentile(distances[:-1], 25))
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


def apart(time_index: str, offsets: Ints, times: Ints) -> Iterator[Finding]:
    """A note about several time entries past the last offset entry. Both arguments are the entries' offsets."""
    last = int(offsets[-1]) if len(offsets) else -1
    alone = int((times > last).sum())
    if alone > _MOST_TIMES_ALONE:
        said = f"its last {alone:,} entries lie past the last entry of the offset index"
        yield finding("KX118", time_index, said, expected=_MOST_TIMES_ALONE, found=alone)
