"""Where a queue file's units end: used, then a zero tail (preallocation), then bytes of a torn unit."""

from __future__ import annotations

from typing import NamedTuple

from kidx.evidence import Evidence


class UsedUnits(NamedTuple):
    """`units`: whole ones up to the last that is not all zero; then whole zero ones; then `torn_bytes`."""

    units: int
    zero_tail_bytes: int
    torn_bytes: int


def used_units(width: int, evidence: Evidence) -> UsedUnits:
    """Find the end of a file of units of `width` bytes, reading backwards only as far as there are zeros.

    Raises CannotRead where its units are mostly holes: a broker fills its queues without gaps.
    """
    slots, torn = divmod(evidence.size, width)
    end = evidence.nonzero_end(0, slots * width)
    evidence.must_be_written(end)
    units = -(-end // width)
    return UsedUnits(units, (slots - units) * width, torn)
