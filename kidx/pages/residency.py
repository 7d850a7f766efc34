"""Which pages of a file are in the page cache now, without bringing any in.

mincore(2) reports page by page, for a mapping of the file that is never touched. For users who neither own the file nor
may write to it, it reports all pages as resident (since Linux 5.2, to prevent spying on others' reads): then the result
is unknown here, never a guess. cachestat(2), Linux 6.5, counts pages.
"""

from __future__ import annotations

import ctypes
from typing import NamedTuple

from kidx.evidence import Evidence
from kidx.evidence.page_cache import PAGE_BYTES, may_know, mincore

_SYS_CACHESTAT = 451  # the same on every architecture


class Residency(NamedTuple):
    """`pages` is how many the file has, `resident` which are in memory; None, with `why`, if the system hides it."""

    pages: int
    resident: list[int] | None
    why: str | None


class _Range(ctypes.Structure):
    _fields_ = (("offset", ctypes.c_uint64), ("length", ctypes.c_uint64))


class _Counts(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_uint64) for name in ("cached", "dirty", "writeback", "evicted", "lately_evicted"))


def residency_of(evidence: Evidence) -> Residency:
    """The residency of an open file's pages; nothing of the file is read."""
    fd, size = evidence.fileno(), evidence.size
    pages = -(-size // PAGE_BYTES)
    if fd < 0:
        return Residency(pages, None, "not a file: standard input or bytes in memory have no pages in the page cache")
    if pages == 0:
        return Residency(0, [], None)
    if not may_know(fd):
        return Residency(pages, None, "the system reports this only to root, the owner and users who may write")
    try:
        vector = mincore(fd, size)
    except OSError as e:
        return Residency(pages, None, f"mincore failed: {(e.strerror or str(e)).lower()}")
    resident = [page for page, flag in enumerate(vector) if flag & 1]
    counted = cached_pages(fd)
    if counted is not None and counted == 0 and len(resident) == pages:
        return Residency(pages, None, "mincore says that all pages are resident and cachestat that none is")
    return Residency(pages, resident, None)


def cached_pages(fd: int) -> int | None:
    """How many of a file's pages are cached (cachestat), None if this system does not report it."""
    libc = ctypes.CDLL(None, use_errno=True)
    asked, counts = _Range(0, 0), _Counts()
    if libc.syscall(_SYS_CACHESTAT, fd, ctypes.byref(asked), ctypes.byref(counts), 0):
        return None
    return int(counts.cached)
