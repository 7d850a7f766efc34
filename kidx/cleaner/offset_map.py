"""Kafka's offset map: the latest offset of every key in a fixed piece of memory, keys known by their digest alone.

Source: org.apache.kafka.storage.internals.log.SkimpyOffsetMap. Slot for slot and count for count the same, so that a
plan made with it forgets and collides where the cleaner does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kidx.cleaner.bulk_put import place
from kidx.cleaner.digests import digest_named
from kidx.errors import KidxError, UsageError

OFFSET_BYTES = 8
EMPTY_BYTES = 24  # a slot whose first 24 bytes are zero is empty, whatever the digest's size
MAX_MEMORY_BYTES = 2**31 - 1


class OffsetMapFull(KidxError):
    """Raised by a put into a map whose every slot is taken, even for a key that is there, as in Kafka."""


class OffsetMap:
    """A map from keys to offsets in `memory_bytes` bytes; `digest` is one of kidx.cleaner.digests.NAMES.

    `slots` is how many entries fit, `size` how many there are, `latest_offset` the offset of the last put or update
    (-1: none). `lookups` counts puts and gets, `probes` the slots they looked at. Raises UsageError for an unknown
    digest, or memory that Kafka would not take.
    """

    def __init__(self, memory_bytes: int, digest: str = "MD5") -> None:
        self.digest = digest_named(digest)
        self.entry_bytes = self.digest.size + OFFSET_BYTES
        if not self.entry_bytes <= memory_bytes <= MAX_MEMORY_BYTES:
            raise UsageError(
                f"offset map of {memory_bytes} bytes: one entry takes {self.entry_bytes}, and Kafka's limit is "
                f"{MAX_MEMORY_BYTES} bytes a cleaner thread"
            )
        self.memory_bytes = memory_bytes
        self.slots = memory_bytes // self.entry_bytes
        self._bytes = bytearray(memory_bytes)
        self._reset_counts()

    def _reset_counts(self) -> None:
        self.size = self.lookups = self.probes = 0
        self.latest_offset = -1

    def __len__(self) -> int:
        return self.size

    @property
    def utilization(self) -> float:
        """The share of slots that are taken."""
        return self.size / self.slots

    @property
    def collision_rate(self) -> float:
        """Probes beyond the first, a look-up; NaN before the first look-up, as in Kafka."""
        return (self.probes - self.lookups) / self.lookups if self.lookups else float("nan")

    def clear(self) -> None:
        """Empty the map and zero its counters."""
        self._bytes[:] = bytes(self.memory_bytes)
        self._reset_counts()

    def update_latest_offset(self, offset: int) -> None:
        """Say up to which offset the log was read, where that is past the last put."""
        self.latest_offset = offset

    def to_bytes(self) -> bytes:
        """The slot array: digest and big-endian offset a slot, zeros where empty, what is left over at the end zero."""
        return bytes(self._bytes)

    def put(self, key: bytes, offset: int) -> None:
        """Set a key's offset. Raises OffsetMapFull."""
        if self.size >= self.slots:
            raise self._full()
        self.lookups += 1
        digest = self.digest.one(key)
        attempt = 0
        while True:
            at = self._position_of(digest, attempt)
            if not any(self._bytes[at : at + EMPTY_BYTES]):
                self._bytes[at : at + len(digest)] = digest
                self.size += 1
                break
            if self._bytes[at : at + len(digest)] == digest:
                break
            attempt += 1
        self._bytes[at + len(digest) : at + self.entry_bytes] = offset.to_bytes(OFFSET_BYTES, "big", signed=True)
        self.latest_offset = offset

    def get(self, key: bytes) -> int:
        """A key's offset, -1 where it has none. Bounded, so that a full map ends the search too."""
        self.lookups += 1
        digest = self.digest.one(key)
        for attempt in range(self.slots + len(digest) - 4):
            at = self._position_of(digest, attempt)
            if not any(self._bytes[at : at + EMPTY_BYTES]):
                return -1
            if self._bytes[at : at + len(digest)] == digest:
                return int.from_bytes(self._bytes[at + len(digest) : at + self.entry_bytes], "big", signed=True)
        return -1

    def put_many(self, keys: Sequence[bytes], offsets: Iterable[int]) -> None:
        """Put keys in order, as so many calls of `put` would, in arrays.

        Raises OffsetMapFull at the first put into a full map; those before it are done. Raises UsageError where keys
        and offsets are not equally many.
        """
        done = place(self, keys, offsets)
        if done < len(keys):
            raise self._full()

    def _full(self) -> OffsetMapFull:
        return OffsetMapFull(
            f"the offset map is full: {self.slots} slots in {self.memory_bytes} bytes; give it more memory "
            "(log.cleaner.dedupe.buffer.size)"
        )

    def _position_of(self, digest: bytes, attempt: int) -> int:
        """The byte of the slot that a digest's probe number `attempt` looks at.

        A probe is four bytes of the digest, one byte further each time; once they are used up, the last four plus a
        count. Java's int arithmetic: the sum wraps, and |-2^31| is 0 (Utils.abs).
        """
        self.probes += 1
        last = len(digest) - 4
        at = min(attempt, last)
        probe = int.from_bytes(digest[at : at + 4], "big") + max(0, attempt - last)
        probe = (probe + 2**31) % 2**32 - 2**31
        return (0 if probe == -(2**31) else abs(probe)) % self.slots * self.entry_bytes
