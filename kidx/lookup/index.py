"""An offset or time index opened for look-ups: single entries by pread, no numpy.

Sources: org.apache.kafka.storage.internals.log.OffsetIndex (lookup, fetchUpperBoundOffset) and TimeIndex (lookup).
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from kidx.errors import WrongFormat
from kidx.evidence import Evidence
from kidx.formats.indexes import OFFSET_INDEX, Extent, IndexFormat, absolute_offset, decode, extent_of
from kidx.lookup.search import KEY, LOWER, UPPER, WARM, Bounds, ReadSlot, search

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

NO_TIMESTAMP = -1


class IndexReader:
    """An index over its valid entries alone: a zero tail is preallocation and a torn entry is none.

    A key is what the index is ordered by and searched for (an offset; a time index's timestamp), a value what it leads
    to (a position; a time index's offset). Offsets are absolute. Raises WrongFormat for an index that has no keys and
    values: the transaction index is a list (see kidx.lookup.aborted).
    """

    def __init__(self, evidence: Evidence, index_format: IndexFormat, base_offset: int) -> None:
        if not index_format.relative:
            raise WrongFormat(f"{evidence.path}: a {index_format.name} is read from its start; it has no search")
        self.path, self.index_format, self.base_offset = evidence.path, index_format, base_offset
        self._evidence = evidence
        self._held: bytes | None = None

    @cached_property
    def extent(self) -> Extent:
        """How the file divides into entries, zero tail and torn bytes."""
        return extent_of(self.index_format, self._evidence, search=True)

    @property
    def entries(self) -> int:
        """How many valid entries there are."""
        return self.extent.entries

    def hold(self) -> None:
        """Read all entries into memory at once: for many look-ups."""
        self._held = self._evidence.read(0, self.entries * self.index_format.size)

    def entry(self, slot: int) -> tuple[int, int]:
        """One entry's key and value, offsets absolute."""
        size = self.index_format.size
        if self._held is not None:
            key, value = self.index_format.struct.unpack_from(self._held, slot * size)
        else:
            key, value = self.index_format.struct.unpack(self._evidence.read(slot * size, size))
        if self.index_format is OFFSET_INDEX:
            return absolute_offset(self.base_offset, key), value
        return key, absolute_offset(self.base_offset, value)

    def column(self, by: str = KEY) -> npt.NDArray[np.int64]:
        """Every entry's key (or value) at once, shape (entries,)."""
        self.hold()
        return decode(self.index_format, self._held or b"", self.base_offset)[
            self.index_format.key if by == KEY else self.index_format.value
        ]

    def reader(self, by: str = KEY) -> ReadSlot:
        """The function from slot to key, or to value, that a search compares."""
        entry, part = self.entry, 0 if by == KEY else 1
        return lambda slot: entry(slot)[part]

    def bounds(self, target: int, by: str = KEY, kind: str = WARM, read: ReadSlot | None = None) -> Bounds:
        """The largest lower and the smallest upper bound of a target; `read` where the probes are to be watched."""
        return search(read or self.reader(by), self.entries, self.index_format.warm_entries, target, kind)

    def answer(self, slot: int, by: str = KEY, bound: str = LOWER) -> tuple[int, int] | None:
        """What Kafka's method answers for the slot found: the entry, and without one its fallback, if it has one.

        OffsetIndex.lookup falls back on (base offset, 0), TimeIndex.lookup on (-1, base offset). The others have none:
        fetchUpperBoundOffset (by value, upper) is then empty.
        """
        if slot >= 0:
            return self.entry(slot)
        if (by, bound) != (KEY, LOWER):
            return None
        return (self.base_offset, 0) if self.index_format is OFFSET_INDEX else (NO_TIMESTAMP, self.base_offset)

    def lookup(self, target: int) -> tuple[int, int]:
        """OffsetIndex.lookup or TimeIndex.lookup: the last entry at or below the target, or the fallback."""
        found = self.answer(self.bounds(target).lower)
        assert found is not None  # by key and lower there is a fallback
        return found

    def fetch_upper_bound(self, position: int, size: int) -> tuple[int, int] | None:
        """OffsetIndex.fetchUpperBoundOffset: the first entry at or past `position + size` bytes, None without one."""
        return self.answer(self.bounds(position + size, "value").upper, "value", UPPER)
