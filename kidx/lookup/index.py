"""An index opened for look-ups: single entries by pread, no numpy.

Sources: org.apache.kafka.storage.internals.log.OffsetIndex (lookup, fetchUpperBoundOffset) and TimeIndex (lookup).
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from kidx.errors import WrongFormat
from kidx.evidence import Evidence
from kidx.formats.indexes import Extent, IndexFormat, decode, entries_array, extent_of
from kidx.lookup.search import KEY, LOWER, UPPER, WARM, Bounds, ReadSlot, search

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from kidx.lookup.many_lookups import ManyLookups
    from kidx.lookup.search_path import LookUp

MANY = 2000  # look-ups from which arrays are faster than single searches, numpy's import included


class IndexReader:
    """The valid entries of an index: without its zero tail (preallocation) and a torn entry. A context manager.

    A key is what the index is ordered by and searched for (an offset; a time index's timestamp), a value what it maps
    to (a position; a time index's offset). Offsets are absolute. A transaction index has entries, but no search: it is
    read from its start (see kidx.lookup.aborted).
    """

    def __init__(self, evidence: Evidence, index_format: IndexFormat, base_offset: int) -> None:
        self.path, self.index_format, self.base_offset = evidence.path, index_format, base_offset
        self._evidence = evidence
        self._held: bytes | None = None

    def __enter__(self) -> IndexReader:
        return self

    def __exit__(self, *_: object) -> None:
        self._evidence.close()

    @cached_property
    def extent(self) -> Extent:
        """How the file divides into entries, zero tail and torn bytes."""
        return extent_of(self.index_format, self._evidence, search=True)

    @property
    def entries(self) -> int:
        """How many valid entries there are."""
        return self.extent.entries

    def hold(self) -> None:
        """Read all entries into memory, for many look-ups. Raises CannotRead where they are mostly holes."""
        self._evidence.must_be_written(self.entries * self.index_format.size)
        self._held = self._evidence.read(0, self.entries * self.index_format.size)

    def entry(self, slot: int) -> tuple[int, int]:
        """One entry's key and value, offsets absolute."""
        size = self.index_format.size
        if self._held is not None:
            stored = self.index_format.struct.unpack_from(self._held, slot * size)
        else:
            stored = self.index_format.struct.unpack(self._evidence.read(slot * size, size))
        return self.index_format.key_and_value(stored, self.base_offset)

    def to_numpy(self) -> npt.NDArray[np.void]:
        """Every entry as a structured array, shape (entries,): `offset` and `position`, `timestamp` and `offset`, or a
        transaction index's fields, each int64, offsets absolute.
        """
        self.hold()
        return entries_array(self.index_format, self._held or b"", self.base_offset)

    def column(self, by: str = KEY) -> npt.NDArray[np.int64]:
        """Every entry's key (or value) at once, int64, shape (entries,)."""
        self.hold()
        return decode(self.index_format, self._held or b"", self.base_offset)[
            self.index_format.key if by == KEY else self.index_format.value
        ]

    def many_lookups(self, by: str = KEY) -> ManyLookups | None:
        """The index prepared for millions of look-ups; None if its keys (or values) do not strictly rise."""
        from kidx.lookup.many_lookups import ManyLookups

        try:
            return ManyLookups(self.column(by), self.index_format.size, self.index_format.warm_entries)
        except ValueError:
            return None

    def reader(self, by: str = KEY) -> ReadSlot:
        """The function from slot to key, or to value, that a search compares."""
        entry, part = self.entry, 0 if by == KEY else 1
        return lambda slot: entry(slot)[part]

    def bounds(self, target: int, by: str = KEY, kind: str = WARM, read: ReadSlot | None = None) -> Bounds:
        """The largest lower and the smallest upper bound of a target; `read` replaces the reader, to record probes.

        Raises WrongFormat for a transaction index.
        """
        if not self.index_format.searched:
            raise WrongFormat(f"{self.path}: a {self.index_format.name} is read from its start; it has no search")
        return search(read or self.reader(by), self.entries, self.index_format.warm_entries, target, kind)

    def answer(self, slot: int, by: str = KEY, bound: str = LOWER) -> tuple[int, int] | None:
        """What Kafka's method returns for the slot found: the entry, or without one the method's fallback, if any.

        OffsetIndex.lookup falls back on (base offset, 0), TimeIndex.lookup on (-1, base offset). The others have none:
        fetchUpperBoundOffset (by value, upper) is then empty.
        """
        if slot >= 0:
            return self.entry(slot)
        if (by, bound) != (KEY, LOWER):
            return None
        return self.index_format.fallback(self.base_offset)

    def look_up(
        self, target: int, by: str = KEY, bound: str = LOWER, search: str = WARM, page_bytes: int = 4096
    ) -> LookUp:
        """Search for a key (or value) and record how: KEY or VALUE, LOWER or UPPER, WARM or STANDARD.

        `page_bytes` is the size of a page. Raises WrongFormat for a transaction index.
        """
        from kidx.lookup.search_path import look_up

        return look_up(self, target, by, bound, search, page_bytes)

    def lookup(self, target: int) -> tuple[int, int]:
        """OffsetIndex.lookup or TimeIndex.lookup: the last entry at or below the target, or the fallback."""
        found = self.answer(self.bounds(target).lower)
        assert found is not None  # by key and lower there is a fallback
        return found

    def fetch_upper_bound(self, position: int, size: int) -> tuple[int, int] | None:
        """OffsetIndex.fetchUpperBoundOffset: the first entry at or past `position + size` bytes, None without one."""
        return self.answer(self.bounds(position + size, "value").upper, "value", UPPER)
