"""Many puts into an offset map at once, with the very slots, bytes and counts that putting them one by one gives.

Who gets a slot is decided by arrival alone: a key that came earlier is never moved by a later one. So all keys may
propose to their first slots together, each slot keeping its earliest proposer, and those turned away or pushed out go
on to their next slots: deferred acceptance. As every slot prefers by arrival, its one stable outcome is that of serial
arrival, and it takes as many rounds as the longest probe sequence, each over the keys still on their way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from kidx.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from kidx.cleaner.offset_map import OffsetMap


def place(offset_map: OffsetMap, keys: Sequence[bytes], offsets: Iterable[int]) -> int:
    """Put keys in order until the map is full; how many puts were done. Raises UsageError for unequal lengths."""
    import numpy as np

    values = offsets.tolist() if isinstance(offsets, np.ndarray) else list(offsets)
    if len(keys) != len(values):
        raise UsageError(f"{len(keys)} keys and {len(values)} offsets: each key takes one offset")
    room = offset_map.slots - offset_map.size
    latest = dict(zip(keys, values, strict=True))  # in order of first arrival, with the last offset of each
    done = len(keys)
    if len(latest) >= room:  # the map may fill up on the way; then the puts after that fail, those of known keys too
        done = _puts_until_full(offset_map, keys, room)
        if done < len(keys):
            keys, values = keys[:done], values[:done]
            latest = dict(zip(keys, values, strict=True))
    if latest and not _place_distinct(offset_map, latest, Counter(keys) if len(latest) < len(keys) else None):
        for key, offset in zip(keys, values, strict=True):
            offset_map.put(key, offset)
    elif latest:
        offset_map.lookups += len(keys)
        offset_map.latest_offset = values[-1]
    return done


def _puts_until_full(offset_map: OffsetMap, keys: Sequence[bytes], room: int) -> int:
    """How many puts succeed: all up to the one that takes the last free slot."""
    if room <= 0:
        return 0
    present = _digests_present(offset_map)
    seen: set[bytes] = set()
    for done, key in enumerate(keys):
        if key in seen:
            continue
        seen.add(key)
        digest = offset_map.digest.one(key)
        if digest not in present:
            present.add(digest)
            room -= 1
            if room == 0:
                return done + 1
    return len(keys)


def _digests_present(offset_map: OffsetMap) -> set[bytes]:
    size, width, content = offset_map.digest.size, offset_map.entry_bytes, offset_map.to_bytes()
    starts = range(0, offset_map.slots * width, width)
    return {content[at : at + size] for at in starts if any(content[at : at + width])}


def _place_distinct(offset_map: OffsetMap, latest: dict[bytes, int], times: Counter[bytes] | None) -> bool:
    """Find every key's slot, write digests and offsets, and count probes; `times` is how often each key is put.

    False, with nothing changed, where two of the keys have one digest (a real collision of the hash function): they
    share a slot, and only the order of all puts tells whose offset stays.
    """
    import numpy as np

    size, width, slots = offset_map.digest.size, offset_map.entry_bytes, offset_map.slots
    n = len(latest)
    digests = np.frombuffer(offset_map.digest.many(latest), np.uint8).reshape(n, size)
    as_one = digests.view(f"V{size}").ravel()
    table_digest = np.ndarray(slots, f"V{size}", offset_map._bytes, 0, (width,))
    # holder[slot]: the key (by arrival) that has it; `n` none yet; -1 an entry from before, which outranks all.
    holder = np.full(slots, n, np.int32)
    if offset_map.size:
        table = np.frombuffer(offset_map._bytes, np.uint8)[: slots * width].reshape(slots, width)
        holder[table[:, :24].any(axis=1)] = -1
    slot_of = np.empty(n, np.int32)
    attempts = np.zeros(n, np.int32)
    known_slots = []  # of keys that the map had before
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
    table_offset = np.ndarray(slots, "V8", offset_map._bytes, size, (width,))
    table_offset[slot_of] = np.fromiter(latest.values(), ">i8", n).view("V8")
    probes = attempts + np.int64(1)
    if times is not None:  # a key put again finds itself after as many probes
        probes *= np.fromiter((times[key] for key in latest), np.int64, n)
    offset_map.probes += int(probes.sum())
    offset_map.size += n - len(known)
    return True


def _slots(
    digests: npt.NDArray[np.uint8], keys: npt.NDArray[np.int32], attempts: npt.NDArray[np.int32], slots: int
) -> npt.NDArray[np.int32]:
    """The slots that these keys' next probes look at (SkimpyOffsetMap.positionOf, in slots), shape of `keys`."""
    import numpy as np

    n, size = digests.shape
    last = size - 4
    words = np.ndarray(n * size - 3, ">u4", digests.data, 0, (1,))  # four bytes from any byte
    probe = words[keys.astype(np.int64) * size + np.minimum(attempts, last)].astype(np.uint32)
    probe += np.maximum(attempts - last, 0).astype(np.uint32)  # wraps as Java's int does
    magnitude = np.abs(probe.view(np.int32))  # -2^31 stays itself here
    magnitude[magnitude < 0] = 0
    slot: npt.NDArray[np.int32] = magnitude % np.int32(slots)
    return slot
