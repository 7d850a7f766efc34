"""Which pages of a file an index's entries lie on.

The operating system reads and caches files by pages, so a probe of one entry costs the page that holds it. 8-byte
entries divide a page evenly; 12-byte ones do not, and an entry that straddles two pages costs both.
"""

from __future__ import annotations

from collections.abc import Iterable

PAGE_BYTES = 4096


def pages_of_bytes(start: int, end: int, page_bytes: int = PAGE_BYTES) -> range:
    """The pages that the bytes from `start` up to, not including, `end` lie on; none where there are no bytes."""
    return range(start // page_bytes, -(-end // page_bytes) if end > start else start // page_bytes)


def pages_of_slot(slot: int, entry_bytes: int, page_bytes: int = PAGE_BYTES) -> range:
    """The page of an entry, or the pages that it straddles."""
    return pages_of_bytes(slot * entry_bytes, (slot + 1) * entry_bytes, page_bytes)


def pages_touched(slots: Iterable[int], entry_bytes: int, page_bytes: int = PAGE_BYTES) -> list[int]:
    """The distinct pages that reading these slots touches, in order of first touch."""
    seen: dict[int, None] = {}
    for slot in slots:
        seen.update(dict.fromkeys(pages_of_slot(slot, entry_bytes, page_bytes)))
    return list(seen)
