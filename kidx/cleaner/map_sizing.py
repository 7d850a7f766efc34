"""How much memory a cleaning needs, and how often its map's keys collide."""

from __future__ import annotations

from math import inf, log
from typing import NamedTuple

from kidx.cleaner.digests import Digest
from kidx.cleaner.map_filling import dirty_keys
from kidx.cleaner.offset_map import OFFSET_BYTES
from kidx.cleaner.plan import Plan


class Need(NamedTuple):
    """`keys` is how many different keys the dirty part has, `entries` how many the map must take to get through it.

    That is one entry more than there are keys, because a full map ends the pass at the next keyed record, even if its
    key is known. If the last keyed record has a new key, no record follows and no extra entry is needed.
    """

    keys: int
    entries: int


def need_of(plan: Plan) -> Need:
    """What one pass over the plan's dirty part needs. If its map did not take all keys, the log is read again."""
    keys, ends_new = (_count(plan)) if plan.map_full else (plan.offset_map.size, plan.ends_new)
    return need_for(keys, ends_new=ends_new)


def need_for(keys: int, *, ends_new: bool) -> Need:
    """What this many distinct keys need; `ends_new`: the last keyed record has a new key."""
    return Need(keys, keys if ends_new or not keys else keys + 1)


def _count(plan: Plan) -> tuple[int, bool]:
    """Different keys by their digests, and whether the last keyed record brings a new one."""
    digest_of = plan.offset_map.digest.one
    seen: set[bytes] = set()
    ends_new = False
    for key, _ in dirty_keys(plan.reader, plan.dirty):
        before = len(seen)
        seen.add(digest_of(key))
        ends_new = len(seen) > before
    return len(seen), ends_new


def smallest_buffer(entries: int, digest: Digest, load_factor: float, threads: int) -> int:
    """The smallest log.cleaner.dedupe.buffer.size, in bytes, whose map takes that many entries before it is full."""
    slots = max(1, int(entries / load_factor))
    while int(slots * load_factor) < entries:
        slots += 1
    while slots > 1 and int((slots - 1) * load_factor) >= entries:
        slots -= 1
    return slots * (digest.size + OFFSET_BYTES) * threads


def expected_collision_rate(size: int, slots: int) -> float:
    """Expected probes beyond the first, per put of `size` new keys, under uniform hashing."""
    if not size:
        return 0.0
    load = size / slots
    return log(1 / (1 - load)) / load - 1 if load < 1 else inf
