"""Look-ups by the million: the slots and the page paths of Kafka's searches, as arrays.

ManyLookups searches one index for many targets. Its results equal those of kidx.lookup.search on every index whose
numbers strictly rise; where they do not, a search may end anywhere, and only the plain search can find out.

probed_slots needs no index: which slots a search reads depends on the index's length, the slot it ends in, and whether
it hits an entry exactly. So searches of a growing index are simulated from lengths and slots alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kidx.lookup.search import STANDARD, WARM
from kidx.pages.geometry import PAGE_BYTES
from kidx.pages.paths import PagePaths

if TYPE_CHECKING:
    import numpy.typing as npt

NO_SLOT = -1
_ORDER_BITS = 32  # the low half of a packed sort key: the target's place


class Found(NamedTuple):
    """Where look-ups end: `slots` (int32, -1 none) are largest lower bounds, `paths` (int32) are row numbers of
    PagePaths.pages. Both have the shape of the targets.
    """

    slots: npt.NDArray[np.int32]
    paths: npt.NDArray[np.int32]


class ManyLookups:
    """An ordered index's keys (or values), int64, shape (entries,), to be searched for arrays of targets.

    Raises ValueError where the numbers do not strictly rise.
    """

    def __init__(self, numbers: npt.NDArray[np.int64], entry_bytes: int, warm_entries: int) -> None:
        if (numbers[1:] <= numbers[:-1]).any():
            raise ValueError("the numbers do not strictly rise, so where a search ends depends on its path")
        self.entries, self._entry_bytes, self._warm_entries = len(numbers), entry_bytes, warm_entries
        self._numbers = numbers
        first, last = (int(numbers[0]), int(numbers[-1])) if len(numbers) else (0, 0)
        self._low, self._high = first - 1, last + 1  # stand for all targets before the first and past the last
        # Numbers as distances from _low: narrow ones sort and search twice as fast.
        fits = self._high - self._low < 2**32 and self._low >= -(2**63) and self._high < 2**63
        self._narrow = (numbers - self._low).astype(np.uint32) if fits else None
        self._paths: dict[tuple[str, int], PagePaths] = {}

    def paths(self, kind: str = WARM, page_bytes: int = PAGE_BYTES) -> PagePaths:
        """The page paths of that search, computed once."""
        key = (kind, page_bytes)
        if key not in self._paths:
            warm_entries = None if kind == STANDARD else self._warm_entries
            self._paths[key] = PagePaths(self.entries, self._entry_bytes, warm_entries, page_bytes)
        return self._paths[key]

    def look_up(
        self, targets: Sequence[int] | npt.NDArray[np.int64], kind: str = WARM, page_bytes: int = PAGE_BYTES
    ) -> Found:
        """Search for every target (int64, fewer than 2^32) and find the number of its page path."""
        targets = np.asarray(targets, np.int64)
        paths = self.paths(kind, page_bytes)
        if not self.entries:
            return Found(np.full(len(targets), -1, np.int32), np.zeros(len(targets), np.int32))
        numbers, sorted_targets, order = self._sorted(targets)
        after = np.searchsorted(numbers, sorted_targets, side="right")  # the slot + 1, as PagePaths counts
        equal = (after > 0) & (numbers.take(after - 1, mode="clip") == sorted_targets)
        slots, numbers_of_paths = np.empty((2, len(targets)), np.int32)
        slots[order] = after - 1
        numbers_of_paths[order] = np.where(equal, paths.exact.take(after), paths.between.take(after))
        return Found(slots, numbers_of_paths)

    def lower(self, targets: Sequence[int] | npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
        """The largest lower bounds alone (int32, shape of `targets`), -1 for none."""
        return (np.searchsorted(self._numbers, np.asarray(targets, np.int64), side="right") - 1).astype(np.int32)

    def _sorted(self, targets: npt.NDArray[np.int64]) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]:
        """The numbers to search, the sorted targets, and their places before: rising targets walk the index once."""
        if self._narrow is None:
            order = np.argsort(targets)
            return self._numbers, targets[order], order
        # One sort of (target, place) packed in 64 bits is several times faster than an argsort.
        packed = (np.clip(targets, self._low, self._high) - self._low).view(np.uint64)
        packed <<= np.uint64(_ORDER_BITS)
        packed |= np.arange(len(targets), dtype=np.uint64)
        packed.sort()
        order = packed.astype(np.uint32)
        packed >>= np.uint64(_ORDER_BITS)
        return self._narrow, packed.astype(np.uint32), order

    def upper(
        self, slots: npt.NDArray[np.int32], targets: Sequence[int] | npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int32]:
        """The smallest upper bounds (-1 none) that belong to the lower bounds `slots`.

        As in the plain search, a target equal to entry 0 gets slot 1.
        """
        if not self.entries:
            return slots
        exact = (slots > 0) & (self._numbers.take(slots, mode="clip") == np.asarray(targets, np.int64))
        upper = np.where(exact, slots, slots + 1).astype(np.int32)
        return np.where(upper < self.entries, upper, np.int32(-1))


def probed_slots(
    entries: npt.NDArray[np.int64], slots: npt.NDArray[np.int64], warm_entries: int | None, *, exact: bool = False
) -> npt.NDArray[np.int64]:
    """Slots read by searches that end in `slots` of indexes of `entries` entries; shape (searches, most reads).

    `warm_entries` is the warm section's length in entries, None for the standard search. `exact`: the target equals the
    entry found; otherwise it lies behind it. Rows end in NO_SLOT where they are shorter. Slots must be within 0 and
    entries - 1.
    """
    count = len(entries)
    zero = np.zeros(count, np.int64)
    if warm_entries is None:
        columns = [zero]
        low, high = zero.copy(), entries - 1
    else:
        first_warm = np.maximum(0, entries - 1 - warm_entries)
        in_warm = first_warm < slots if exact else first_warm <= slots
        columns = [first_warm, np.where(in_warm, NO_SLOT, 0)]
        low = np.where(in_warm, first_warm, 0)
        high = np.where(in_warm, entries - 1, first_warm)
    going = low < high
    while going.any():
        middle = (low + high + 1) >> 1
        columns.append(np.where(going, middle, NO_SLOT))
        over = middle > slots
        high = np.where(going & over, middle - 1, high)
        low = np.where(going & ~over, middle, low)
        going &= low < high
        if exact:
            going &= middle != slots
    return np.stack(columns, axis=1)


def pages_in_order(
    probed: npt.NDArray[np.int64], entry_bytes: int, page_bytes: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The pages that rows of probed slots touch: (row, page) as two int64 arrays, in order.

    A page touched by two reads in a row is listed once; one that is touched again later is listed again.
    """
    start = probed * entry_bytes
    first = np.where(probed == NO_SLOT, -1, start // page_bytes)
    last = np.where(probed == NO_SLOT, -1, (start + entry_bytes - 1) // page_bytes)
    both = np.stack([first, last], axis=2).reshape(len(probed), 2 * probed.shape[1])
    keep = both >= 0
    keep[:, 1:] &= both[:, 1:] != both[:, :-1]
    row, column = np.nonzero(keep)
    return row, both[row, column]
