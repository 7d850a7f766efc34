"""Where a queue file's units end: used, then a zero tail (preallocation), then bytes of a torn unit."""

from __future__ import annotations

from typing import NamedTuple

from kidx.errors import CannotRead
from kidx.evidence import Evidence

_GAPS_FROM_BYTES = 16 << 20


class UsedUnits(NamedTuple):
    """`units`: whole ones up to the last that is not all zero; then whole zero ones; then `torn_bytes`."""

    units: int
    zero_tail_bytes: int
    torn_bytes: int


def used_units(width: int, evidence: Evidence) -> UsedUnits:
    """Find the end of a file of units of `width` bytes, reading backwards only as far as there are zeros.

    Raises CannotRead for a large file that consists mostly of holes before its last unit: a broker fills its queues
    without gaps, and the units in the gaps would take memory that the file itself does not take.
    """
    slots, torn = divmod(evidence.size, width)
    end = evidence.nonzero_end(0, slots * width)
    if end > _GAPS_FROM_BYTES:
        written = sum(behind - start for start, behind in evidence.data_ranges(0, end))
        if 2 * written < end:
            raise CannotRead(
                f"{evidence.path}: {end - written:,} of the {end:,} bytes up to its last unit are holes; no queue of a "
                "broker has any"
            )
    units = -(-end // width)
    return UsedUnits(units, (slots - units) * width, torn)
