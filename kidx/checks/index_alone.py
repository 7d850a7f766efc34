"""What an offset or time index says about itself: size, zero tail, order, bounds. Every entry is looked at.

A healthy chunk costs one read and four passes of numpy; only a chunk that fails them is looked at more closely, in
kidx.checks.index_entries.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from kidx.checks.index_facts import IndexFacts
from kidx.checks.making import FindingLimiter, SuppressedFindings, finding
from kidx.evidence import Evidence
from kidx.findings import NOTE, Finding
from kidx.formats.indexes import OFFSET_INDEX, TIME_INDEX, Extent, IndexFormat, extent_of

if TYPE_CHECKING:
    from kidx.checks.zero_runs import ZeroRuns

_CHUNK_ENTRIES = 1 << 15
_OVERLAP = 64  # entries seen again with the next chunk, so that an order broken across the border has its neighbours
_BUFFER_SLOTS = _CHUNK_ENTRIES + 2 * _OVERLAP


def check_index(
    evidence: Evidence, index_format: IndexFormat, facts: IndexFacts, extent: Extent
) -> Iterator[Finding | SuppressedFindings]:
    """Findings about an offset or time index by itself; `extent` as index_extent() gives it."""
    yield from check_extent(evidence, index_format, facts, extent)
    healthy = _healthy_offsets if index_format is OFFSET_INDEX else _healthy_times
    reader = _Chunks(evidence, index_format, extent.entries)
    limit = facts.relative_limit
    limiter = FindingLimiter()
    zeros: ZeroRuns | None = None
    for start, end, first, data in reader:
        if healthy(data, first == 0, limit):
            continue
        from kidx.checks.index_entries import Entries, check_entries
        from kidx.checks.zero_runs import ZeroRuns

        entries = Entries(index_format, facts, first, data)
        if zeros is None:
            zeros = ZeroRuns(evidence.path, index_format.size, limiter, ": no preallocation, for entries follow")
        yield from zeros.add(entries.zero, first)
        yield from check_entries(evidence.path, entries, start, end, limiter)
    if zeros is not None:
        yield from zeros.end()


def index_extent(evidence: Evidence, index_format: IndexFormat) -> Extent:
    """Where an index's entries end; the read is short, for most indexes have no zero tail."""
    return extent_of(index_format, evidence)


def check_extent(evidence: Evidence, index_format: IndexFormat, facts: IndexFacts, extent: Extent) -> Iterator[Finding]:
    """The zero tail and the torn entry."""
    end_of_entries = extent.entries * index_format.size
    if extent.zero_tail_bytes:
        severity, why = facts.zero_tail()
        if index_format is TIME_INDEX and evidence.size == TIME_INDEX.size:
            severity, why = NOTE, "or it is the entry of timestamp 0 at the segment's first offset"
        yield finding(
            "KX110",
            evidence.path,
            f"{end_of_entries:,} of {evidence.size:,} bytes used, the rest preallocated: {why}",
            span=(end_of_entries, end_of_entries + extent.zero_tail_bytes),
            expected=end_of_entries,
            found=evidence.size,
            severity=severity,
        )
    if extent.torn_bytes:
        whole = evidence.size - extent.torn_bytes
        yield finding(
            "KX101",
            evidence.path,
            f"{evidence.size:,} bytes is no multiple of {index_format.size}: the last {extent.torn_bytes} are a torn "
            "entry; the ones before it are whole",
            span=(whole, evidence.size),
            slot=whole // index_format.size,
            expected=index_format.size,
            found=extent.torn_bytes,
        )


class _Chunks:
    """An index's entries, chunk by chunk through one buffer: (start, end, first, raw bytes).

    The slots [start, end) are new in this chunk; the data begins at slot `first`, up to _OVERLAP before, and may go on
    up to _OVERLAP past `end`. The bytes are valid until the next chunk.
    """

    def __init__(self, evidence: Evidence, index_format: IndexFormat, entries: int) -> None:
        self.evidence, self.width, self.entries = evidence, index_format.size, entries

    def __iter__(self) -> Iterator[tuple[int, int, int, memoryview]]:
        if not self.entries:
            return
        buffer = memoryview(_buffer(_BUFFER_SLOTS * self.width, "bytes"))
        for start in range(0, self.entries, _CHUNK_ENTRIES):
            end = min(start + _CHUNK_ENTRIES, self.entries)
            first = max(0, start - _OVERLAP)
            last = min(self.entries, end + _OVERLAP)
            view = buffer[: (last - first) * self.width]
            self.evidence.read_into(first * self.width, view)
            yield start, end, first, view


@lru_cache(maxsize=8)
def _buffer(size: int, purpose: str) -> bytearray:
    """A buffer that every index of a process shares: fresh memory costs more than reading into it does."""
    return bytearray(size)


def _healthy_offsets(data: memoryview, from_start: bool, limit: int) -> bool:
    """Whether relative offsets and positions both rise strictly and are in bounds.

    Each entry is one 64-bit number, offset high and position low, both of 31 bits. In the difference of two
    neighbours the halves are then the two differences, and both are positive exactly if both 32-bit halves are.
    """
    import numpy as np

    count = len(data) // 8
    entries = np.frombuffer(_buffer(_BUFFER_SLOTS * 8, "entries"), np.int64)[:count]
    np.copyto(entries, np.frombuffer(data, ">i8"))
    if int(entries.view(np.int32).min()) < 0 or int(entries[-1]) >> 32 >= limit:
        return False
    if from_start and not (entries[0] >> 32 > 0 and entries[0] & 0xFFFFFFFF > 0):
        return False
    rises = np.frombuffer(_buffer(_BUFFER_SLOTS * 8, "rises"), np.int64)[: count - 1]
    np.subtract(entries[1:], entries[:-1], out=rises)
    return count == 1 or int(rises.view(np.int32).min()) > 0


def _healthy_times(data: memoryview, from_start: bool, limit: int) -> bool:
    """Whether timestamps rise strictly, relative offsets do not fall, and both are in bounds."""
    import numpy as np

    raw = np.frombuffer(data, np.dtype([("timestamp", ">i8"), ("offset", ">i4")]))
    timestamps, offsets = raw["timestamp"].astype(np.int64), raw["offset"].astype(np.int32)
    if timestamps[0] < 0 or offsets[0] < 0 or int(offsets[-1]) >= limit or (not from_start and offsets[0] == 0):
        return False
    if len(raw) == 1:
        return True
    if bool((timestamps[1:] <= timestamps[:-1]).any()) or bool((timestamps < 0).any()) or bool((offsets < 0).any()):
        return False
    return bool((offsets[1:] >= offsets[:-1]).all()) and int(offsets[1]) > 0
