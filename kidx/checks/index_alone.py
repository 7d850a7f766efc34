"""What an offset or time index says about itself: size, zero tail, order, bounds. Every entry is looked at.

A healthy chunk costs one read and four passes of numpy; only a chunk that fails them is looked at entry by entry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

from kidx.checks.making import finding
from kidx.checks.order import out_of_order
from kidx.evidence import Evidence
from kidx.findings import NOTE, Finding
from kidx.formats.indexes import OFFSET_INDEX, TIME_INDEX, Extent, IndexFormat, decode, extent_of
from kidx.light_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Arrays = dict[str, npt.NDArray[np.int64]]

_CHUNK_ENTRIES = 1 << 15
_OVERLAP = 64  # entries seen again with the next chunk, so that an order broken across the border has its neighbours
_BUFFER_SLOTS = _CHUNK_ENTRIES + 2 * _OVERLAP
_TAIL_READ_BYTES = 1 << 14
_LARGEST_OFFSET = 2**63 - 1


UNKNOWN_STOP = "whether its broker still writes to it, its surroundings do not tell"


class IndexFacts(NamedTuple):
    """What is known about an index from its surroundings.

    `next_base_offset` is the first offset that cannot be in this segment, None where nobody knows. `zero_tail` tells
    the severity of preallocation here and why; it is asked only where there is some.
    """

    base_offset: int
    next_base_offset: int | None = None
    zero_tail: Callable[[], tuple[str, str]] = lambda: (NOTE, UNKNOWN_STOP)

    @property
    def relative_limit(self) -> int:
        """The first relative offset that cannot be in this segment."""
        end = _LARGEST_OFFSET + 1 if self.next_base_offset is None else self.next_base_offset
        return end - self.base_offset


def check_index(evidence: Evidence, index_format: IndexFormat, facts: IndexFacts, extent: Extent) -> Iterator[Finding]:
    """Findings about an offset or time index by itself; `extent` as index_extent() gives it."""
    yield from check_extent(evidence, index_format, facts, extent)
    healthy = _healthy_offsets if index_format is OFFSET_INDEX else _healthy_times
    reader = _Chunks(evidence, index_format, extent.entries)
    limit = facts.relative_limit
    zeros: tuple[int, int] | None = None  # a run of all-zero entries that may go on in the next chunk
    for start, end, first, data in reader:
        if healthy(data, first == 0, limit):
            continue
        chunk = _Chunk(evidence.path, index_format, facts, start, end, first, data)
        for begin, stop in chunk.zero_runs():
            if zeros and begin <= zeros[1]:
                zeros = (zeros[0], max(zeros[1], stop))
                continue
            if zeros:
                yield _zero_run(evidence.path, index_format, *zeros)
            zeros = (begin, stop)
        yield from _entry_by_entry(chunk)
    if zeros:
        yield _zero_run(evidence.path, index_format, *zeros)


def index_extent(evidence: Evidence, index_format: IndexFormat) -> Extent:
    """Where an index's entries end; the read is short, for most indexes have no zero tail."""
    return extent_of(index_format, evidence.size, evidence.read, chunk_bytes=_TAIL_READ_BYTES)


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


def _zero_run(file: str, index_format: IndexFormat, begin: int, stop: int) -> Finding:
    count = stop - begin
    return finding(
        "KX102",
        file,
        f"{count:,} {'entry' if count == 1 else 'entries'} of nothing but zeros: no preallocation, for entries follow",
        span=(begin * index_format.size, stop * index_format.size),
        slot=begin,
        found=count,
    )


def _entry_by_entry(chunk: _Chunk) -> Iterator[Finding]:
    """Name what is wrong in one chunk, besides zeros. Each slot gets one finding, the most telling first."""
    import numpy as np

    offsets, other, facts = chunk.offsets, chunk.other, chunk.facts
    is_offset_index, at_start = chunk.is_offset_index, chunk.first == 0
    yield from chunk.report("KX103", offsets < 0, "relative_offset", "0..2147483647")
    yield from chunk.report(
        "KX109" if is_offset_index else "KX111",
        other < 0,
        chunk.other_name,
        "0..2147483647" if is_offset_index else ">= 0",
    )
    same = np.zeros(len(offsets), bool)
    same[1:] = (offsets[1:] == offsets[:-1]) & (other[1:] == other[:-1])
    yield from chunk.report("KX108", same)
    if is_offset_index and at_start:
        at_base = np.zeros(len(offsets), bool)
        at_base[0] = offsets[0] == 0 or other[0] == 0
        yield from chunk.report("KX113", at_base)
    yield from chunk.report("KX105", chunk.disordered(offsets, strict=is_offset_index), "offset")
    yield from chunk.report(
        "KX106" if is_offset_index else "KX107", chunk.disordered(other, strict=True), chunk.other_name
    )
    if not is_offset_index:  # timestamps rise, so none but the first entry can be for the base offset
        at_base = offsets == 0
        at_base[: 1 if at_start else 0] = False
        yield from chunk.report("KX105", at_base, "offset")
    largest = _LARGEST_OFFSET - facts.base_offset
    yield from chunk.report("KX104", offsets > largest, "relative_offset", f"<= {largest}")
    if facts.next_base_offset is not None:
        beyond = offsets >= facts.next_base_offset - facts.base_offset
        yield from chunk.report("KX112", beyond, "offset", f"<= {facts.next_base_offset - 1}")


class _Chunk:
    """Some entries of an index as arrays, and which of them have been blamed already.

    Findings are made for the slots [start, end); the arrays begin at slot `first` and may go past `end`.
    """

    def __init__(
        self,
        file: str,
        index_format: IndexFormat,
        facts: IndexFacts,
        start: int,
        end: int,
        first: int,
        data: memoryview,
    ) -> None:
        self.file, self.format, self.facts = file, index_format, facts
        self.start, self.end, self.first = start, end, first
        self.is_offset_index = index_format is OFFSET_INDEX
        self.other_name = "position" if self.is_offset_index else "timestamp"
        fields = decode(index_format, data)
        self.offsets, self.other = fields["relative_offset"], fields[self.other_name]
        self.zero = (self.offsets == 0) & (self.other == 0)
        if first == 0 and not self.is_offset_index:
            self.zero[0] = False  # (0, base offset) can be real: a record of 1970 at the segment's start
        self.blamed: npt.NDArray[np.bool_] = self.zero.copy()

    def zero_runs(self) -> Iterator[tuple[int, int]]:
        """Runs of all-zero entries: first slot, slot after the last."""
        import numpy as np

        edges = np.diff(np.concatenate(([False], self.zero, [False])).astype(np.int8))
        begins, stops = np.nonzero(edges == 1)[0] + self.first, np.nonzero(edges == -1)[0] + self.first
        yield from zip(begins.tolist(), stops.tolist(), strict=True)

    def disordered(self, values: npt.NDArray[np.int64], *, strict: bool) -> npt.NDArray[np.bool_]:
        """Entries that break the order among those not blamed yet."""
        import numpy as np

        rest = np.nonzero(~self.blamed)[0]
        mask = np.zeros(len(values), bool)
        mask[rest[out_of_order(values[rest], strict=strict)]] = True
        return mask

    def report(
        self, code: str, mask: npt.NDArray[np.bool_], name: str | None = None, bound: str | None = None
    ) -> Iterator[Finding]:
        """A finding for each entry of the mask not blamed yet; `name` is the field, `bound` what it should keep to."""
        import numpy as np

        mask = mask & ~self.blamed
        self.blamed |= mask
        for index in np.nonzero(mask)[0].tolist():
            slot = index + self.first
            if not self.start <= slot < self.end:
                continue
            entry, before = self._entry(index), self._entry(index - 1) if index else None
            if bound is None and name and before:
                bound_here: str | None = f"{'>' if self.is_offset_index or name != 'offset' else '>='} {before[name]}"
            else:
                bound_here = bound
            at = slot * self.format.size
            said = _SENTENCES[code].format(bound=bound_here, **entry)
            yield finding(
                code,
                self.file,
                f"entry {slot:,}: {said}",
                span=(at, at + self.format.size),
                slot=slot,
                expected=bound_here,
                found=entry[name] if name else {n: entry[n] for n in ("offset", self.other_name)},
            )

    def _entry(self, index: int) -> dict[str, int]:
        relative = int(self.offsets[index])
        return {
            "relative_offset": relative,
            "offset": relative + self.facts.base_offset,
            self.other_name: int(self.other[index]),
        }


_SENTENCES = {
    "KX103": "its relative offset is {relative_offset}; it can only be {bound}",
    "KX104": "its relative offset {relative_offset} leads past the largest offset there is",
    "KX105": "its offset {offset} breaks the order; after the entry before it, it has to be {bound}",
    "KX106": "its position {position} breaks the order; after the entry before it, it has to be {bound}",
    "KX107": "its timestamp {timestamp} breaks the order; after the entry before it, it has to be {bound}",
    "KX108": "it repeats the entry before it",
    "KX109": "its position in the log is {position}; it can only be {bound}",
    "KX111": "its timestamp is {timestamp}; only timestamps from 0 on are indexed",
    "KX112": "its offset {offset} is not in this segment; it has to be {bound}",
    "KX113": "it says offset {offset} is at position {position}; no broker indexes the first batch of a segment",
}
