"""Two models of a page cache: plain LRU, and the two lists of Linux.

A page is any integer. `replay` takes the pages touched, in order, and returns which touches missed.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import Protocol

from kidx.errors import UsageError

POLICIES = ("lru", "two-list")


class PageCache(Protocol):
    """A cache of `capacity` pages."""

    capacity: int

    def replay(self, pages: Iterable[int]) -> list[int]:
        """Touch pages in order; the indexes, in `pages`, of the touches that missed."""
        ...

    def __contains__(self, page: int) -> bool: ...


def page_cache(policy: str, capacity: int) -> PageCache:
    """An empty cache. Raises UsageError for an unknown policy or a capacity below one page."""
    if capacity < 1:
        raise UsageError(f"a page cache of {capacity} pages holds nothing; give it at least one")
    if policy == "lru":
        return LruCache(capacity)
    if policy == "two-list":
        return TwoListCache(capacity)
    raise UsageError(f"policy {policy}: unknown; the policies are {', '.join(POLICIES)}")


class LruCache:
    """Evicts the least recently used page."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._order: OrderedDict[int, None] = OrderedDict()

    def __contains__(self, page: int) -> bool:
        return page in self._order

    def replay(self, pages: Iterable[int]) -> list[int]:
        """See PageCache."""
        order, capacity, missed = self._order, self.capacity, []
        to_end, drop = order.move_to_end, order.popitem
        for i, page in enumerate(pages):
            if page in order:
                to_end(page)
                continue
            missed.append(i)
            order[page] = None
            if len(order) > capacity:
                drop(last=False)
        return missed


class TwoListCache:
    """Linux's inactive and active list, for mapped file pages only (mm/vmscan.c, mm/workingset.c).

    A missing page enters the inactive list; the touch that brought it in does not count. A later touch only sets its
    accessed bit, which is evaluated when room is needed, 32 pages at a time: the oldest inactive page is dropped if it
    was not touched since it was last scanned, goes round once more if it was, and becomes active the second time.
    Active pages are demoted while they outnumber the inactive ones; also, at the rate at which inactive ones are
    scanned, while pages return that were dropped too early. Such a page (dropped no longer ago than the active list
    could have kept it) becomes active at once.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._inactive: OrderedDict[int, int] = OrderedDict()  # page -> _ACCESSED | _REFERENCED, oldest first
        self._active: OrderedDict[int, int] = OrderedDict()
        self._shadows: OrderedDict[int, int] = OrderedDict()  # dropped page -> its age then
        self._age = 0  # of the inactive list: drops and activations so far (lruvec's nonresident_age)
        self._came_back = False  # whether a dropped page became active since room was last made

    def __contains__(self, page: int) -> bool:
        return page in self._inactive or page in self._active

    def replay(self, pages: Iterable[int]) -> list[int]:
        """See PageCache."""
        inactive, active, missed = self._inactive, self._active, []
        for i, page in enumerate(pages):
            if page in inactive:
                inactive[page] |= _ACCESSED
            elif page in active:
                active[page] |= _ACCESSED
            else:
                missed.append(i)
                self._admit(page)
        return missed

    def _admit(self, page: int) -> None:
        if len(self._inactive) + len(self._active) >= self.capacity:
            self._make_room()
        shadow = self._shadows.pop(page, None)
        if shadow is not None and self._age - shadow <= len(self._active):
            self._activate(page, _ACCESSED)
            self._came_back = True
        else:
            self._inactive[page] = 0

    def _activate(self, page: int, bits: int) -> None:
        self._active[page] = bits
        self._age += 1

    def _make_room(self) -> None:
        inactive, active = self._inactive, self._active
        wanted = min(_RECLAIM_BATCH, -(-self.capacity // 8))
        active_a_look = len(active) / max(1, len(inactive)) if self._came_back else 0.0
        self._came_back = False
        credit = 0.0
        while wanted:
            credit += active_a_look
            while active and (credit >= 1 or len(active) > len(inactive)):
                demoted, _ = active.popitem(last=False)
                inactive[demoted] = 0
                credit = max(0.0, credit - 1)
            page, bits = inactive.popitem(last=False)
            if bits == _ACCESSED | _REFERENCED:
                self._activate(page, 0)
            elif bits & _ACCESSED:
                inactive[page] = _REFERENCED
            else:
                wanted -= 1
                self._age += 1
                self._shadows[page] = self._age
                if len(self._shadows) > self.capacity:
                    self._shadows.popitem(last=False)


_ACCESSED, _REFERENCED = 1, 2
_RECLAIM_BATCH = 32  # pages: SWAP_CLUSTER_MAX
