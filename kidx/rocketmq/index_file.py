"""An IndexFile: a hash table on disk from topic#key to commit-log offsets, searched and filled as a broker does.

Source: org.apache.rocketmq.store.index.IndexFile and IndexHeader.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kidx.evidence import Evidence
from kidx.rocketmq.files import OpenFiles
from kidx.rocketmq.formats import INDEX_ENTRY, INDEX_HEADER
from kidx.rocketmq.java import divide
from kidx.text.java import positive_hash

DEFAULT_SLOTS, DEFAULT_ENTRIES = 5_000_000, 20_000_000
MOST_SLOTS = 1 << 25  # 128 MiB of them
_INT_MAX = 2**31 - 1
_CHUNK_BYTES = 1 << 22
_MOST_COMPARED = 1 << 20  # entries that are read while a shape is inferred


class IndexEntry(NamedTuple):
    """An entry's fields, as formats.INDEX_ENTRY has them."""

    hash: int
    commit_log_offset: int
    seconds: int
    previous: int


class IndexFile:
    """One index file with room for `slots` and `entries`, which no file records. `path` is None for one in memory."""

    begin_timestamp: int
    end_timestamp: int
    begin_offset: int
    end_offset: int
    used_slots: int
    count: int

    def __init__(self, opened: OpenFiles, path: str | None, slots: int, entries: int) -> None:
        self.path, self.slots, self.entries = path, slots, entries
        self._opened = opened
        self._slot_patches: dict[int, int] = {}
        self._entry_patches: dict[int, IndexEntry] = {}
        head = self._read(0, INDEX_HEADER.size)
        (
            self.begin_timestamp,
            self.end_timestamp,
            self.begin_offset,
            self.end_offset,
            self.used_slots,
            self.count,
        ) = INDEX_HEADER.struct.unpack(head.ljust(INDEX_HEADER.size, b"\0"))
        self.count = max(1, self.count)  # IndexHeader.load: an unwritten header counts as empty

    def slot(self, number: int) -> int:
        """The newest entry of a slot's chain, 0 without one."""
        if number in self._slot_patches:
            return self._slot_patches[number]
        at = INDEX_HEADER.size + 4 * number
        return int.from_bytes(self._read(at, 4), signed=True)

    def entry(self, number: int) -> IndexEntry | None:
        """An entry by its number, from 1; None past the file's end."""
        if number in self._entry_patches:
            return self._entry_patches[number]
        data = self._read(self.entry_at(number), INDEX_ENTRY.size)
        return IndexEntry(*INDEX_ENTRY.struct.unpack(data)) if len(data) == INDEX_ENTRY.size else None

    def _read(self, position: int, length: int) -> bytes:
        return self._opened.get(self.path).read(position, length) if self.path else b""

    def entry_at(self, number: int) -> int:
        """An entry's position in the file, bytes."""
        return INDEX_HEADER.size + 4 * self.slots + INDEX_ENTRY.size * number

    def matches_time(self, begin: int, end: int) -> bool:
        """Whether a search in [begin, end] looks into this file (isTimeMatched)."""
        return (
            (begin < self.begin_timestamp and end > self.end_timestamp)
            or self.begin_timestamp <= begin <= self.end_timestamp
            or self.begin_timestamp <= end <= self.end_timestamp
        )

    def select(self, key: str, begin: int, end: int) -> Iterator[int]:
        """Commit-log offsets under a key's hash, newest first, each entry's time in [begin, end] (selectPhyOffset).

        Only hashes are compared, so another key of the same hash is found too.
        """
        wanted = positive_hash(key)
        number = self.slot(wanted % self.slots)
        if self.count <= 1:
            return
        seen = 0
        while 0 < number <= self.count and seen <= self.count:  # a chain longer than the file is a cycle
            found = self.entry(number)
            if found is None or found.seconds < 0:
                return
            time = self.begin_timestamp + found.seconds * 1000
            if found.hash == wanted and begin <= time <= end:
                yield found.commit_log_offset
            if found.previous == number or time < begin:
                return
            number, seen = found.previous, seen + 1

    def put(self, key: str, offset: int, timestamp: int) -> bool:
        """Add an entry in memory (putKey); returns False if the file is full."""
        if self.count >= self.entries:
            return False
        hashed = positive_hash(key)
        slot = hashed % self.slots
        previous = self.slot(slot)
        previous = previous if 0 < previous <= self.count else 0
        seconds = divide(timestamp - self.begin_timestamp, 1000) if self.begin_timestamp > 0 else 0
        self._entry_patches[self.count] = IndexEntry(hashed, offset, min(max(seconds, 0), _INT_MAX), previous)
        self._slot_patches[slot] = self.count
        if self.count <= 1:
            self.begin_offset, self.begin_timestamp = offset, timestamp
        self.used_slots += previous == 0
        self.count += 1
        self.end_offset, self.end_timestamp = offset, timestamp
        return True


def infer_shape(opened: OpenFiles, path: str) -> tuple[int, int] | None:
    """(slots, entries) of an index file, inferred from its content; None if that is impossible.

    The header states where the last entry points, so that entry is searched for; a shape counts only if all chains of
    the file agree with it. The default shape is tried first. Holes are not searched, nor are more than MOST_SLOTS slots
    considered, or more than a million entries read.
    """
    file = opened.get(path)
    body = file.size - INDEX_HEADER.size
    if body == 4 * DEFAULT_SLOTS + INDEX_ENTRY.size * DEFAULT_ENTRIES:
        return DEFAULT_SLOTS, DEFAULT_ENTRIES
    head = IndexFile(opened, path, 1, 1)
    last = head.count - 1
    if last < 1:
        return None
    left = _MOST_COMPARED
    for at in _occurrences(file, head.end_offset):
        slots, odd = divmod(at - 4 - INDEX_ENTRY.size * last - INDEX_HEADER.size, 4)
        entries, rest = divmod(body - 4 * slots, INDEX_ENTRY.size)
        if 0 < slots <= MOST_SLOTS and not odd and not rest and entries > last:
            agree, compared = _chains_agree(opened, path, slots, entries)
            if agree:
                return slots, entries
            left -= compared
            if left <= 0:
                break
    return None


def _occurrences(file: Evidence, end_offset: int) -> Iterator[int]:
    """Positions at which the last entry's commit-log offset may be."""
    wanted = end_offset.to_bytes(8, signed=True)
    for begin, behind in file.data_ranges(INDEX_HEADER.size):
        if not end_offset:  # zeros are everywhere
            yield from range(begin + -begin % 4, behind, 4)
            continue
        for start in range(begin, behind, _CHUNK_BYTES):
            chunk = file.read(start, min(_CHUNK_BYTES, behind - start) + len(wanted) - 1)
            at = chunk.find(wanted)
            while at >= 0:
                yield start + at
                at = chunk.find(wanted, at + 1)


def _chains_agree(opened: OpenFiles, path: str, slots: int, entries: int, most: int = 4096) -> tuple[bool, int]:
    """Whether the newest entries are in the chains of the slots given by their hashes, and how many were read."""
    file = IndexFile(opened, path, slots, entries)
    expected: dict[int, int] = {}  # by slot: the entry that the one after it in the chain names
    newest = file.count - 1
    for number in range(newest, max(0, newest - most), -1):
        compared = newest - number + 1
        found = file.entry(number)
        if found is None or found.hash < 0 or not 0 <= found.previous < number:
            return False, compared
        slot = found.hash % slots
        if expected.get(slot, file.slot(slot)) != number:
            return False, compared
        expected[slot] = found.previous
    return True, min(newest, most)
