"""What the page cache holds of a file, and reading without changing that.

A broker serves consumers from the page cache. Reading a whole log fills it with what no consumer wants and evicts what
they do (KIP-824). Linux 6.14 can read "uncached" (RWF_DONTCACHE): pages that the read had to bring in are dropped after
it, others stay. On older kernels mincore says before the read what is cached, and fadvise drops the rest after it.

Readahead is off (POSIX_FADV_RANDOM): neither way drops all the pages that it brings in.
"""

from __future__ import annotations

import errno
import os
from contextlib import suppress

PAGE_BYTES = os.sysconf("SC_PAGESIZE")
_LARGEST_FOLIO_PAGES = (2 << 20) // PAGE_BYTES
_RWF_DONTCACHE = 0x80  # linux/fs.h
_REFUSALS = (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS)


class NeutralReader:
    """Reads one descriptor and leaves in the page cache what was there before, no more and no less.

    Where neither way works (an older kernel, and a file whose pages are hidden from this user) it only reads.
    """

    def __init__(self, fd: int, size: int) -> None:
        self._fd, self._size = fd, size
        self._uncached = hasattr(os, "preadv")
        self._resident: bytes | None = None  # one byte a page, as it was before; asked for only where it is needed
        if hasattr(os, "posix_fadvise"):
            with suppress(OSError):  # advice only
                os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)

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
        """Drop the pages just read that were not resident before; the last one only when it was read to its end."""
        if self._resident is None:
            return
        page, behind = start // PAGE_BYTES, -(-end // PAGE_BYTES) if end >= self._size else end // PAGE_BYTES
        while (page := self._resident.find(b"\0", page, behind)) >= 0:
            until = self._resident.find(b"\1", page, behind)
            until = behind if until < 0 else until
            # Pages come in blocks (folios), which are dropped only whole: one may begin before this read.
            page = max(self._resident.rfind(b"\1", 0, page) + 1, page - _LARGEST_FOLIO_PAGES)
            os.posix_fadvise(self._fd, page * PAGE_BYTES, (until - page) * PAGE_BYTES, os.POSIX_FADV_DONTNEED)
            page = until


def mincore(fd: int, size: int) -> bytes:
    """One byte a page, bit 0 set where it is in memory; the file is mapped for it and never touched. Raises OSError."""
    import ctypes  # imported here: reading needs neither, and they cost a short run several milliseconds
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

    To its owner and to CAP_FOWNER, who alone may open with O_NOATIME, as evidence does first; and to users who may
    write to it.
    """
    import fcntl

    if fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_NOATIME:
        return True
    return os.access(f"/proc/self/fd/{fd}", os.W_OK, effective_ids=True)
