"""Where a queue file's units end: used, then a zero tail (preallocation), then bytes of a torn unit."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

_CHUNK_BYTES = 1 << 18


class UsedUnits(NamedTuple):
    """`units`: whole ones up to the last that is not all zero; then whole zero ones; then `torn_bytes`."""

    units: int
    zero_tail_bytes: int
    torn_bytes: int


def used_units(width: int, size: int, read: Callable[[int, int], bytes]) -> UsedUnits:
    """Find the end of a file of `size` bytes and units of `width`, reading backwards only as far as there are zeros."""
    slots, torn = divmod(size, width)
    end = slots * width
    while end > 0:
        start = max(0, end - _CHUNK_BYTES)
        chunk = read(start, end - start)
        used = len(chunk.rstrip(b"\0"))
        if used:
            units = (start + used - 1) // width + 1
            return UsedUnits(units, (slots - units) * width, torn)
        end = start
    return UsedUnits(0, slots * width, torn)
