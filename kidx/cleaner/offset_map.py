"""Kafka's offset map: the latest offset of every key in a fixed amount of memory, keys identified by their digests.

Source: org.apache.kafka.storage.internals.log.SkimpyOffsetMap. Slots and counts are the same, so a plan made with this
map loses keys to collisions exactly where the cleaner does.

Many puts at once give the same slots, bytes and counts as single puts. A later key never moves an earlier one. So all
keys propose to their first slots together; each slot keeps its earliest proposer, and rejected keys go on to their next
slots (deferred acceptance). As every slot prefers the earlier key, the only stable outcome is that of serial puts. It
takes as many rounds as the longest probe sequence, each over the keys that have no slot yet.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from kidx.cleaner.digests import digest_named
from kidx.errors import KidxError, UsageError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

OFFSET_BYTES = 8
EMPTY_BYTES = 24  # a slot whose first 24 bytes are zero is empty, whatever the digest's size
MAX_MEMORY_BYTES = 2**31 - 1


class OffsetMapFull(KidxError):
    """Raised by a put into a full map, even for a key that it contains, as in Kafka."""


class OffsetMap:
    """A map from keys to offsets in `memory_bytes` bytes; `digest` is one of kidx.cleaner.digests.NAMES.

    `slots` is how many entries fit, `size` how many there are, `latest_offset` the offset of the last put or update
    (-1: none). `lookups` counts puts and gets, `probes` the slots they read. Raises UsageError for an unknown
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
        """Mean number of probes beyond the first per look-up; NaN before the first look-up, as in Kafka."""
        return (self.probes - self.lookups) / self.lookups if self.lookups else float("nan")

    def clear(self) -> None:
        """Empty the map and zero its counters."""
        self._bytes[:] = bytes(self.memory_bytes)
        self._reset_counts()

    def update_latest_offset(self, offset: int) -> None:
        """Set the offset up to which the log was read, if that is past the last put."""
        self.latest_offset = offset

    def to_bytes(self) -> bytes:
        """The slot array: digest and big-endian offset per slot, zeros in empty slots and after the last slot."""
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
        """A key's offset, -1 if it has none. The number of probes is bounded, so a full map ends the search, too."""
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
        """Put keys in order: the same result as calling `put` for each, but in arrays.

        Raises OffsetMapFull at the first put into a full map; those before it are done. Raises UsageError if there are
        more keys than offsets, or fewer.
        """
        done = self._place(keys, offsets)
        if done < len(keys):
            raise self._full()

    def _place(self, keys: Sequence[bytes], offsets: Iterable[int]) -> int:
        """Put keys in order until the map is full; returns how many were put. Raises UsageError for unequal lengths."""
        import numpy as np

        values = offsets.tolist() if isinstance(offsets, np.ndarray) else list(offsets)
        if len(keys) != len(values):
            raise UsageError(f"{len(keys)} keys and {len(values)} offsets: each key takes one offset")
        room = self.slots - self.size
        latest = dict(zip(keys, values, strict=True))  # in order of first arrival, with the last offset of each
        done = len(keys)
        if len(latest) >= room:  # the map may fill up; later puts fail then, even of known keys
            done = self._puts_until_full(keys, room)
            if done < len(keys):
                keys, values = keys[:done], values[:done]
                latest = dict(zip(keys, values, strict=True))
        if latest and not self._place_distinct(latest, Counter(keys) if len(latest) < len(keys) else None):
            for key, offset in zip(keys, values, strict=True):
                self.put(key, offset)
        elif latest:
            self.lookups += len(keys)
            self.latest_offset = values[-1]
        return done

    def _puts_until_full(self, keys: Sequence[bytes], room: int) -> int:
        """How many puts succeed: all up to the one that takes the last free slot."""
        if room <= 0:
            return 0
        present = self._digests_present()
        seen: set[bytes] = set()
        for done, key in enumerate(keys):
            if key in seen:
                continue
            seen.add(key)
            digest = self.digest.one(key)
            if digest not in present:
                present.add(digest)
                room -= 1
                if room == 0:
                    return done + 1
        return len(keys)

    def _digests_present(self) -> set[bytes]:
        size, width, content = self.digest.size, self.entry_bytes, self.to_bytes()
        starts = range(0, self.slots * width, width)
        return {content[at : at + size] for at in starts if any(content[at : at + width])}

    def _place_distinct(self, latest: dict[bytes, int], times: Counter[bytes] | None) -> bool:
        """Find every key's slot, write digests and offsets, and count probes; `times` is how often each key is put.

        Returns False, with nothing changed, if two of the keys have the same digest (a real collision of the hash
        function): they share a slot, and whose offset stays depends on the order of all puts.
        """
        import numpy as np

        size, width, slots = self.digest.size, self.entry_bytes, self.slots
        n = len(latest)
        digests = np.frombuffer(self.digest.many(latest), np.uint8).reshape(n, size)
        as_one = digests.view(f"V{size}").ravel()
        table_digest = np.ndarray(slots, f"V{size}", self._bytes, 0, (width,))
        # holder[slot]: the key (by arrival) that has it; `n` none yet; -1 an entry from before, which outranks all.
        holder = np.full(slots, n, np.int32)
        if self.size:
            table = np.frombuffer(self._bytes, np.uint8)[: slots * width].reshape(slots, width)
            holder[table[:, :24].any(axis=1)] = -1
        slot_of = np.empty(n, np.int32)
        attempts = np.zeros(n, np.int32)
        known_slots = []  # of keys that were in the map before
        active = np.arange(n, dtype=np.int32)
        while len(active):
            slot = _slots(digests, active, attempts[active], slots)
            slot_of[active] = slot
            before = holder[slot]
            np.minimum.at(holder, slot, active)
            after = holder[slot]
            away = np.flatnonzero(after != active)
            losers, winners, lost_slot = active[away], after[away], slot[away]
            newcomer = winners >= 0
            if (as_one[losers[newcomer]] == as_one[winners[newcomer]]).any():
                return False
            same = ~newcomer
            same[same] = as_one[losers[same]] == table_digest[lost_slot[same]]
            known_slots.append(lost_slot[same])
            pushed_out = np.unique(before[(before != after) & (before != n)])
            active = np.sort(np.concatenate([losers[~same], pushed_out]))
            attempts[active] += 1
        known = np.concatenate(known_slots)
        if len(np.unique(known)) < len(known):
            return False
        table_digest[slot_of] = as_one
        table_offset = np.ndarray(slots, "V8", self._bytes, size, (width,))
        table_offset[slot_of] = np.fromiter(latest.values(), ">i8", n).view("V8")
        probes = attempts + np.int64(1)
        if times is not None:  # a key put again finds itself after as many probes
            probes *= np.fromiter((times[key] for key in latest), np.int64, n)
        self.probes += int(probes.sum())
        self.size += n - len(known)
        return True

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


def _slots(
    digests: npt.NDArray[np.uint8], keys: npt.NDArray[np.int32], attempts: npt.NDArray[np.int32], slots: int
) -> npt.NDArray[np.int32]:
    """The slots that these keys' next probes look at (SkimpyOffsetMap.positionOf, in slots), shape of `keys`."""
    import numpy as np

    n, size = digests.shape
    last = size - 4
    words = np.ndarray(n * size - 3, ">u4", digests.data, 0, (1,))  # four bytes starting at any byte
    probe = words[keys.astype(np.int64) * size + np.minimum(attempts, last)].astype(np.uint32)
    probe += np.maximum(attempts - last, 0).astype(np.uint32)  # wraps as Java's int does
    magnitude = np.abs(probe.view(np.int32))  # -2^31 stays itself here
    magnitude[magnitude < 0] = 0
    slot: npt.NDArray[np.int32] = magnitude % np.int32(slots)
    return slot
