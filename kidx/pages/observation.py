"""Observe a look-up: evict a file's pages, read as the look-up does, and see which pages came in.

Kafka maps its indexes, so reads here use a mapping, too, with MADV_RANDOM: without it the kernel reads ahead, up to
2,048 pages for one look-up, and the pages that came in would not be those that were needed. This works only on file
systems whose pages can be evicted: tmpfs keeps all of them.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from kidx.errors import CannotRead, KidxError
from kidx.evidence import Evidence
from kidx.evidence.page_cache import mincore
from kidx.logdir.tree import holds_evidence
from kidx.pages.residency import cached_pages

_TMPFS_MAGICS = {0x01021994: "tmpfs", 0x858458F6: "ramfs"}


class Observation(NamedTuple):
    """Pages that came in, in page order, major faults, and the time; None, with `why`, if they cannot be observed."""

    pages: list[int] | None
    faults: int | None
    microseconds: float | None
    why: str | None


class CannotObserve(KidxError):
    """Raised when pages cannot be evicted or observed; the message gives the reason."""


class Specimen:
    """A file whose pages may be evicted: a private copy of the evidence, or, on explicit request, the original."""

    def __init__(self, fd: int, size: int) -> None:
        self._fd, self._size = fd, size

    def observe(self, look_up: Callable[[Callable[[int, int], bytes]], object]) -> Observation:
        """Evict, run `look_up(read)`, where read(position, length) returns bytes of a mapping, and see what came in."""
        os.posix_fadvise(self._fd, 0, 0, os.POSIX_FADV_DONTNEED)
        left = [page for page, flag in enumerate(mincore(self._fd, self._size)) if flag & 1]
        if left:
            return Observation(
                None, None, None, f"{len(left)} pages stayed after eviction: somebody else has them mapped"
            )
        with mmap.mmap(self._fd, self._size, access=mmap.ACCESS_READ) as mapping:
            mapping.madvise(mmap.MADV_RANDOM)

            def read(position: int, length: int) -> bytes:
                return mapping[position : position + length]

            before = resource.getrusage(resource.RUSAGE_SELF).ru_majflt
            started = time.perf_counter()
            look_up(read)
            took = (time.perf_counter() - started) * 1e6
            faults = resource.getrusage(resource.RUSAGE_SELF).ru_majflt - before
            came = [page for page, flag in enumerate(mincore(self._fd, self._size)) if flag & 1]
        return Observation(came, faults, took, None)


@contextmanager
def private_copy(evidence: Evidence, directory: str | None = None) -> Iterator[Specimen]:
    """A temporary copy, in TMPDIR or `directory`, deleted afterwards. Raises CannotObserve, CannotRead."""
    place = directory or tempfile.gettempdir()
    if holds_evidence(place):
        raise CannotObserve(f"{place}: Kafka's files are there, and kidx puts no copy among them; set TMPDIR")
    with tempfile.TemporaryFile(dir=place, prefix="kidx-observe-") as copy:
        try:
            for chunk in evidence.chunks():
                copy.write(chunk)
            copy.flush()
            os.fsync(copy.fileno())  # dirty pages cannot be evicted
        except OSError as e:
            raise CannotObserve(
                f"{evidence.path}: no private copy could be made: {(e.strerror or str(e)).lower()}"
            ) from None
        _must_be_evictable(copy.fileno(), evidence.size, "the temporary directory; set TMPDIR to one on a disk")
        yield Specimen(copy.fileno(), evidence.size)


@contextmanager
def original(evidence: Evidence) -> Iterator[Specimen]:
    """The file itself: its pages are evicted, which slows its broker. Raises CannotObserve."""
    if evidence.fileno() < 0:
        raise CannotRead(f"{evidence.path}: not a file; only a file's own pages can be evicted")
    _must_be_evictable(evidence.fileno(), evidence.size, "the file's own place; observe a private copy")
    yield Specimen(evidence.fileno(), evidence.size)


def _must_be_evictable(fd: int, size: int, where: str) -> None:
    if size == 0:
        raise CannotObserve("an empty file has no pages to observe")
    kind = _TMPFS_MAGICS.get(_file_system_magic(fd))
    if kind:
        raise CannotObserve(f"{kind} keeps all pages in memory and evicts none; it holds {where}")
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    if cached_pages(fd) not in (None, 0):
        raise CannotObserve(f"the system did not evict pages when requested, in {where}")


def _file_system_magic(fd: int) -> int:
    """statfs's f_type, which os.fstatvfs leaves out; 0 if it is unavailable."""
    libc = ctypes.CDLL(None, use_errno=True)
    buffer = (ctypes.c_long * 64)()
    return int(buffer[0]) & 0xFFFFFFFF if libc.fstatfs(fd, buffer) == 0 else 0
