"""Finding every batch boundary in a range of a log at once.

A log is a chain: only a batch's length tells where the next one starts. But the offset index has many batch positions,
so the chain is followed from all of them in parallel ("lanes"), with numpy, until each lane arrives at the next one's
start. This also proves the starts: the first is certain, and so is each one at which a proved lane arrives.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kidx.formats.batches import HEADER_BYTES, OVERHEAD_BYTES, SMALLEST_ENTRY

if TYPE_CHECKING:
    import numpy.typing as npt

    Ints = npt.NDArray[np.int64]

_FEW_LANES = 16  # below this, a step of all lanes costs more than single steps
_SMALLEST = min(SMALLEST_ENTRY.values())


def boundaries(sizes: npt.NDArray[np.int32], filled: int, starts: Ints) -> Ints:
    """The ends of all complete entries in the chain from byte 0, ascending, int64.

    `sizes[p]` is the length field of an entry that starts at byte p, big-endian, `filled` how many bytes there are.
    `starts` are ascending guesses of entries' positions after 0; wrong ones are ignored. The chain ends before an entry
    that is incomplete or whose length is impossible.
    """
    ends = _by_lanes(sizes, filled, starts) if len(starts) >= _FEW_LANES else None
    return _by_hops(sizes, filled) if ends is None else ends


def _by_lanes(sizes: npt.NDArray[np.int32], filled: int, starts: Ints) -> Ints | None:
    """The ends, or None if a lane passes the next one's start or finds an impossible length."""
    current = np.concatenate((np.zeros(1, np.int64), starts))
    limits = np.concatenate((starts, [filled - HEADER_BYTES + 1]))  # the last lane: while there is a complete header
    found = []
    while len(current):
        ends = sizes[current].astype(np.int64)
        ends += OVERHEAD_BYTES
        if ends.min() < _SMALLEST:
            return None
        ends += current
        going_on = ends < limits
        if np.count_nonzero(going_on) < len(going_on):
            passed = ends > limits
            if passed[:-1].any() or (passed[-1] and limits[-1] != filled - HEADER_BYTES + 1):
                return None
            if ends[-1] > filled:  # the last lane's last entry is incomplete
                ends, going_on, limits = ends[:-1], going_on[:-1], limits[:-1]
            found.append(ends)
            current, limits = ends[going_on], limits[going_on]
        else:
            found.append(ends)
            current = ends
    if not found:
        return np.empty(0, np.int64)
    # Sorting brings the lanes' steps into file order; 32 bits sort twice as fast as 64.
    result = np.concatenate(found).astype(np.int32)
    result.sort()
    return result.astype(np.int64)


def _by_hops(sizes: npt.NDArray[np.int32], filled: int) -> Ints:
    found = []
    at = 0
    size_at = sizes.item
    while at + HEADER_BYTES <= filled:
        size = size_at(at) + OVERHEAD_BYTES
        at += size
        if size < _SMALLEST or at > filled:
            break
        found.append(at)
    return np.array(found, np.int64)
