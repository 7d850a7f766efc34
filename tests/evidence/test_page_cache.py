"""Reading leaves the page cache as it was, whichever way the kernel offers."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kidx.evidence import open_evidence, page_cache
from kidx.evidence.page_cache import PAGE_BYTES, may_know, mincore

PAGES = 300
HOT = {0, 7, 8, 9, 150, 151, 299}


@pytest.fixture
def partly_cached(tmp_path: Path) -> Path:
    """A file of which only the pages HOT are in memory, on a file system that can evict."""
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(os.urandom(PAGES * PAGE_BYTES))
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
        for page in HOT:
            os.pread(fd, 1, page * PAGE_BYTES)
        if not may_know(fd) or resident(path) != HOT:
            pytest.skip("this file system (tmpfs?) evicts nothing, or hides what is cached")
    finally:
        os.close(fd)
    return path


def resident(path: Path) -> set[int]:
    with open_evidence(str(path)) as evidence:
        return {page for page, flag in enumerate(mincore(evidence.fileno(), evidence.size)) if flag & 1}


@pytest.mark.parametrize("uncached_reads", (True, False))
@pytest.mark.parametrize("window", (PAGE_BYTES * 32, 100_000))
def test_what_was_cached_stays_and_no_more(
    partly_cached: Path, uncached_reads: bool, window: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not uncached_reads:
        monkeypatch.setattr(page_cache, "_RWF_DONTCACHE", 1 << 20)  # what an older kernel refuses
    with open_evidence(str(partly_cached)) as evidence:
        evidence.spare_page_cache()
        buffer = memoryview(bytearray(window))
        pieces = []
        for position in range(0, evidence.size, window):
            came = evidence.read_into(position, buffer)
            pieces.append(bytes(buffer[:came]))
    assert resident(partly_cached) == HOT
    assert b"".join(pieces) == partly_cached.read_bytes()
