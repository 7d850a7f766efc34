"""Two models of a page cache: plain LRU, and the two lists that Linux keeps.

A page is any integer. `replay` takes the pages touched, in order, and says which touches found their page missing.
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
    """The page that was not touched for longest makes room."""

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
    """Linux's inactive and active list, as far as mapped file pages go (mm/vmscan.c, mm/workingset.c).

    A missing page enters the inactive list. A touch only sets its accessed bit; what that is worth is decided when
    room is needed: the oldest inactive page is dropped if it was not touched since it came or was last looked at, goes
    round once more if it was touched once, and becomes active the second time. Active pages are demoted while they
    outnumber the inactive ones. A page that comes back soon after it was dropped (its refault distance is within the
    active list) becomes active at once.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._inactive: OrderedDict[int, int] = OrderedDict()  # page -> ACCESSED | REFERENCED bits, oldest first
        self._active: OrderedDict[int, int] = OrderedDict()
        self._dropped_at: OrderedDict[int, int] = OrderedDict()  # shadow entries: page -> the clock when it was dropped
        self._clock = 0  # drops so far

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
        dropped_at = self._dropped_at.pop(page, None)
        if dropped_at is not None and self._clock - dropped_at <= len(self._active):
            self._active[page] = _ACCESSED
        else:
            self._inactive[page] = _ACCESSED

    def _make_room(self) -> None:
        inactive, active = self._inactive, self._active
        while True:
            while len(active) > len(inactive):
                page, _ = active.popitem(last=False)
                inactive[page] = 0
            page, bits = inactive.popitem(last=False)
            if bits & _ACCESSED and bits & _REFERENCED:
                active[page] = 0
            elif bits & _ACCESSED:
                inactive[page] = _REFERENCED
            else:
                self._clock += 1
                self._dropped_at[page] = self._clock
                if len(self._dropped_at) > self.capacity:
                    self._dropped_at.popitem(last=False)
                return


_ACCESSED, _REFERENCED = 1, 2
