"""Which pages a search touches on its way to each slot: a table computed once and used for any number of look-ups.

In an ordered index the slots that a search probes depend only on where it ends: on the slot, on whether an equal entry
stopped it early, and on the section in which the target lies. Once a bisection is inside a page that it has touched, it
touches no other, so there are about as many different paths as pages, not as slots.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kidx.pages.geometry import PAGE_BYTES, pages_of_bytes, pages_of_slot

if TYPE_CHECKING:
    import numpy.typing as npt

Path = tuple[int, ...]
NO_PAGE = -1


class PagePaths:
    """The page paths of one search over an ordered index of `entries` entries.

    `exact[slot + 1]` and `between[slot + 1]` (int32, shape (entries + 1,)) are numbers of paths: for a target equal to
    the slot's entry, and for one past it but before the next; index 0 is a target before all. `pages` (int32, shape
    (paths, longest)) has each path's distinct pages in order of first touch, filled up with NO_PAGE.
    `warm_entries` is None for the standard search.
    """

    def __init__(self, entries: int, entry_bytes: int, warm_entries: int | None, page_bytes: int = PAGE_BYTES) -> None:
        self.entries, self._entry_bytes, self._page_bytes = entries, entry_bytes, page_bytes
        self._numbers: dict[Path, int] = {}
        self.exact = np.zeros(entries + 1, np.int32)
        self.between = np.zeros(entries + 1, np.int32)
        if entries:
            self._walk(warm_entries)
        else:
            self._number(())
        self.pages = self._page_table()

    def touches(self, numbers: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
        """How many of the look-ups with these path numbers touch each page, up to the last page touched."""
        times = np.bincount(numbers, minlength=len(self.pages))
        touched = self.pages != NO_PAGE
        weights = np.broadcast_to(times[:, None], self.pages.shape)[touched]
        return np.bincount(self.pages[touched], weights=weights).astype(np.int64)

    def _walk(self, warm_entries: int | None) -> None:
        last = self.entries - 1
        if warm_entries is None:
            root = self._extend((), 0)
            self.exact[0] = self.between[0] = self._number(root)
            self._fill(0, last, root)
            self.exact[1] = self.between[1]  # entry 0 is never a middle: equal to it ends as past it does
            return
        first_warm = max(0, last - warm_entries)
        warm = self._extend((), first_warm)
        cold = self._extend(warm, 0)
        self.exact[0] = self.between[0] = self._number(cold)
        self._fill(0, first_warm, cold)
        equal_to_first = self.between[1]  # not past the warm section's first entry: the cold section is searched
        self._fill(first_warm, last, warm)
        self.exact[1] = equal_to_first

    def _fill(self, low: int, high: int, path: Path) -> None:
        """Note the paths of every end of a bisection of [low, high] that has touched `path` before."""
        todo = [(low, high, path)]
        while todo:
            low, high, path = todo.pop()
            pages = pages_of_bytes((low + 1) * self._entry_bytes, (high + 1) * self._entry_bytes, self._page_bytes)
            if low == high or (len(pages) == 1 and pages[0] in path):
                number = self._number(path)
                self.between[low + 1 : high + 2] = number
                self.exact[low + 2 : high + 2] = number
                continue
            middle = (low + high + 1) >> 1
            path = self._extend(path, middle)
            todo += ((low, middle - 1, path), (middle, high, path))
            self.exact[middle + 1] = self._number(path)

    def _extend(self, path: Path, slot: int) -> Path:
        for page in pages_of_slot(slot, self._entry_bytes, self._page_bytes):
            if page not in path:
                path = (*path, page)
        return path

    def _number(self, path: Path) -> int:
        return self._numbers.setdefault(path, len(self._numbers))

    def _page_table(self) -> npt.NDArray[np.int32]:
        longest = max(map(len, self._numbers))
        table = np.full((len(self._numbers), longest), NO_PAGE, np.int32)
        for path, number in self._numbers.items():
            table[number, : len(path)] = path
        return table
