"""Appending entries exactly as Kafka's classes do, or not at all.

Sources: org.apache.kafka.storage.internals.log.OffsetIndex.append, TimeIndex.maybeAppend, TransactionIndex.append and
AbstractIndex (constructor, isFull, relativeOffset). Kafka's calls append one entry each and keep those before a refused
one; kidx appends all entries or none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kidx.errors import Refused, UsageError
from kidx.formats.indexes import (
    DEFAULT_MAX_INDEX_BYTES,
    MAX_RELATIVE_OFFSET,
    OFFSET_INDEX,
    TIME_INDEX,
    TRANSACTION_INDEX,
)
from kidx.surgery.index_file import IndexFile
from kidx.surgery.replace import Change

_MAX_POSITION = 2**31 - 1  # a position is a Java int
_INT64 = range(-(2**63), 2**63)
_NO_TIMESTAMP = -1


def plan_append(
    index: IndexFile,
    entries: Iterable[Sequence[int]],
    *,
    max_index_size: int | None = None,
    keep_allocated: bool = False,
    on_roll: bool = False,
) -> Change:
    """The change that appends `entries`: (offset, position), (timestamp, offset) or a transaction's four.

    A new file, or one given a `max_index_size` (bytes, rounded down to whole entries), is trimmed to its entries at the
    end as a clean close does, unless `keep_allocated`; a preallocated one stays so. `on_roll`: the time index's
    reserved last slot may be used. Raises Refused, naming the entry.
    """
    index.refuse_torn()
    index.refuse_disorder()
    if index.format is TRANSACTION_INDEX:
        added = _Transactions(index).append_all(entries)
        return Change(index.path, "append", index.data, index.kept(index.extent.entries, added))
    allocated = _allocated_bytes(index, max_index_size)
    rules = _Offsets(index) if index.format is OFFSET_INDEX else _Times(index)
    rules.capacity = allocated // index.format.size
    if index.format is TIME_INDEX and not on_roll:
        rules.capacity -= 1
    added = rules.append_all(entries)
    zeros = max(0, allocated - index.entries_bytes - len(added)) if keep_allocated or index.preallocated else 0
    return Change(index.path, "append", index.data, index.kept(index.extent.entries, added, zeros))


def _allocated_bytes(index: IndexFile, max_index_size: int | None) -> int:
    width = index.format.size
    if max_index_size is None:
        if index.data is not None:
            return index.data.size
        max_index_size = DEFAULT_MAX_INDEX_BYTES
    if max_index_size < width:
        raise Refused(f"{index.path}: a maximum size of {max_index_size} bytes holds no entry; one has {width} bytes")
    allocated = max_index_size // width * width
    if allocated < index.entries_bytes:
        raise Refused(
            f"{index.path}: {index.extent.entries} entries of {width} bytes do not fit {max_index_size} bytes; "
            "nothing was written"
        )
    return allocated


class _Appending:
    """Appends entries one by one under the rules of one class; `capacity` is the most entries of the file, None for no
    limit.
    """

    capacity: int | None = None

    def __init__(self, index: IndexFile) -> None:
        self.index, self.count = index, index.extent.entries
        self._entry: Sequence[int] = ()

    def append_all(self, entries: Iterable[Sequence[int]]) -> bytes:
        """The bytes to add. Raises Refused at the first entry that Kafka would refuse."""
        pack = self.index.format.struct.pack
        added = bytearray()
        for self._entry in entries:
            if self.capacity is not None and self.count >= self.capacity:
                raise self.refused(f"the index is full with {self.count} entries; {self._room()}")
            fields = self.append(*self._entry)
            if fields is not None:
                added += pack(*fields)
                self.count += 1
        return bytes(added)

    def append(self, *entry: int) -> tuple[int, ...] | None:
        """The stored fields of the next entry, None for one that is silently ignored. Raises Refused."""
        raise NotImplementedError

    def relative(self, offset: int) -> int:
        """The relative offset. Raises Refused if it does not fit."""
        relative = offset - self.index.base_offset
        if not 0 <= relative <= MAX_RELATIVE_OFFSET:
            raise self.refused(
                f"offset {offset} is {relative} from the base offset {self.index.base_offset}, "
                f"and only 0 to {MAX_RELATIVE_OFFSET} fits (overflow)"
            )
        return relative

    def refused(self, why: str) -> Refused:
        """The refusal of the current entry."""
        return Refused(f"{self.index.path}: entry {':'.join(map(str, self._entry))}: {why}; nothing was written")

    def _room(self) -> str:
        reserved = "; its last slot is kept for the roll" if self.index.format is TIME_INDEX else ""
        return f"--max-index-size gives it more{reserved}"


class _Offsets(_Appending):
    """OffsetIndex.append."""

    def __init__(self, index: IndexFile) -> None:
        super().__init__(index)
        last = index.last()
        self._last = None if last is None else last[0] + index.base_offset

    def append(self, *entry: int) -> tuple[int, ...]:
        offset, position = entry
        if self._last is not None and offset <= self._last:
            raise self.refused(f"offset {offset} is not after the last one, {self._last} (wrong order)")
        relative = self.relative(offset)
        if not 0 <= position <= _MAX_POSITION:
            raise self.refused(f"position {position} does not fit; a position is 0 to {_MAX_POSITION} (overflow)")
        self._last = offset
        return relative, position


class _Times(_Appending):
    """TimeIndex.maybeAppend."""

    def __init__(self, index: IndexFile) -> None:
        super().__init__(index)
        last = index.last()
        self._last = (_NO_TIMESTAMP, index.base_offset) if last is None else (last[0], last[1] + index.base_offset)

    def append(self, *entry: int) -> tuple[int, ...] | None:
        timestamp, offset = entry
        last_timestamp, last_offset = self._last
        if self.count and offset < last_offset:
            raise self.refused(f"offset {offset} is before the last one, {last_offset} (wrong order)")
        if self.count and timestamp < last_timestamp:
            raise self.refused(f"timestamp {timestamp} is before the last one, {last_timestamp} (wrong order)")
        if timestamp <= last_timestamp:
            return None
        if timestamp not in _INT64:
            raise self.refused("the timestamp does not fit 64 bits (overflow)")
        relative = self.relative(offset)
        self._last = (timestamp, offset)
        return timestamp, relative


class _Transactions(_Appending):
    """TransactionIndex.append.

    Kafka's class forgets the last offset of a file that it opened; kidx compares with the file's last entry too, and
    refuses one before the base offset, which TransactionIndex.sanityCheck calls corrupt.
    """

    def __init__(self, index: IndexFile) -> None:
        super().__init__(index)
        last = index.last()
        self._last = None if last is None else last[3]

    def append(self, *entry: int) -> tuple[int, ...]:
        producer_id, first, last, last_stable = entry
        if self._last is not None and last <= self._last:
            raise self.refused(f"last offset {last} is not after the one before, {self._last} (wrong order)")
        if last < self.index.base_offset:
            raise self.refused(f"last offset {last} is before the base offset {self.index.base_offset}")
        if any(value not in _INT64 for value in entry):
            raise self.refused("a number does not fit 64 bits (overflow)")
        self._last = last
        return 0, producer_id, first, last, last_stable


FIELDS = {
    OFFSET_INDEX: ("offset", "position"),
    TIME_INDEX: ("timestamp", "offset"),
    TRANSACTION_INDEX: ("producer_id", "first_offset", "last_offset", "last_stable_offset"),
}


def parse_entry(index: IndexFile, text: str) -> tuple[int, ...]:
    """An entry argument: its fields' numbers with colons between. Raises UsageError."""
    names = FIELDS[index.format]
    parts = text.split(":")
    if len(parts) == len(names) and all(p.isascii() and p.removeprefix("-").isdigit() for p in parts):
        return tuple(map(int, parts))
    shape = ":".join(n.upper() for n in names)
    raise UsageError(f"{text!r} is no entry for this {index.format.name}: {shape} is wanted, whole numbers")
