"""What the page cache holds of a file, and reading without changing that.

A broker serves consumers from the page cache. Who dumps a whole log fills it with what no consumer wants and so pushes
out what they do (KIP-824). Linux 6.14 can read "uncached" (RWF_DONTCACHE): pages that the read had to bring in go again
after it, others stay. Before that the same comes from asking first, by mincore, and advising afterwards.
"""

from __future__ import annotations

import errno
import os

PAGE_BYTES = os.sysconf("SC_PAGESIZE")
_LARGEST_FOLIO_PAGES = (2 << 20) // PAGE_BYTES
_RWF_DONTCACHE = 0x80  # linux/fs.h
_REFUSALS = (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS)


class NeutralReader:
    """Reads one descriptor and leaves in the page cache what was there before, no more and no less.

    Where neither way is open (an older kernel, and a file whose pages are hidden from this user) it only reads.
    """

    def __init__(self, fd: int, size: int) -> None:
        self._fd, self._size = fd, size
        self._uncached = hasattr(os, "preadv")
        self._resident: bytes | None = None  # one byte a page, as it was before; asked for only where it is needed

    def read_into(self, buffer: memoryview, position: int) -> int:
        """As os.preadv with one buffer. Raises OSError."""
        if self._uncached:
            try:
                return os.preadv(self._fd, [buffer], position, _RWF_DONTCACHE)
            except OSError as e:
                if e.errno not in _REFUSALS:
                    raise
                self._uncached = False
                self._resident = self._ask()
        came = os.preadv(self._fd, [buffer], position)
        self._forget(position, position + came)
        return came

    def _ask(self) -> bytes | None:
        if not may_know(self._fd):
            return None
        try:
            return bytes(flag & 1 for flag in mincore(self._fd, self._size))
        except OSError:
            return None

    def _forget(self, start: int, end: int) -> None:
        """Let those of the pages just read go that were not resident before; the last one only when it is done with."""
        if self._resident is None:
            return
        page, behind = start // PAGE_BYTES, -(-end // PAGE_BYTES) if end >= self._size else end // PAGE_BYTES
        while (page := self._resident.find(b"\0", page, behind)) >= 0:
            until = self._resident.find(b"\1", page, behind)
            until = behind if until < 0 else until
            # Readahead brings pages in blocks (folios), which go only as a whole: one may begin before this read.
            page = max(self._resident.rfind(b"\1", 0, page) + 1, page - _LARGEST_FOLIO_PAGES)
            os.posix_fadvise(self._fd, page * PAGE_BYTES, (until - page) * PAGE_BYTES, os.POSIX_FADV_DONTNEED)
            page = until


def mincore(fd: int, size: int) -> bytes:
    """One byte a page, bit 0 set where it is in memory; the file is mapped for it and never touched. Raises OSError."""
    import ctypes  # here, for reading needs neither, and ctypes' import is a share of a short run
    import mmap

    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long)
    libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
    libc.mincore.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
    address = libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, fd, 0)
    if address in (None, ctypes.c_void_p(-1).value):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    try:
        vector = (ctypes.c_ubyte * -(-size // PAGE_BYTES))()
        if libc.mincore(address, size, vector):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        return bytes(vector)
    finally:
        libc.munmap(address, size)


def may_know(fd: int) -> bool:
    """Whether mincore tells the truth about this file (mm/mincore.c, can_do_mincore).

    To its owner and to CAP_FOWNER, which is just who may open with O_NOATIME, as evidence does first; and to who may
    write to it.
    """
    import fcntl

    if fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_NOATIME:
        return True
    return os.access(f"/proc/self/fd/{fd}", os.W_OK, effective_ids=True)
