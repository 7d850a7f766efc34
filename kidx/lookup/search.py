"""Kafka's two searches over an index, reading the same slots in the same order.

Source: org.apache.kafka.storage.internals.log.AbstractIndex (indexSlotRangeFor, binarySearch). Both searches take a
function that reads one slot's number, and call it exactly where Kafka parses an entry: which slots are read, and in
which order, determines the pages that a look-up touches. No numpy here: a look-up must start fast.
"""

from collections.abc import Callable
from typing import NamedTuple

WARM, STANDARD = "warm", "standard"
KEY, VALUE = "key", "value"
LOWER, UPPER = "lower", "upper"

ReadSlot = Callable[[int], int]


class Bounds(NamedTuple):
    """The result of a search, as slots: the largest lower bound and the smallest upper bound, -1 for none.

    Kafka never compares entry 0 for equality: a target equal to it gets slot 0 as lower, but slot 1 as upper bound.
    """

    lower: int
    upper: int


NOTHING = Bounds(-1, -1)
BEFORE_ALL = Bounds(-1, 0)


def standard_search(read: ReadSlot, entries: int, target: int) -> Bounds:
    """The binary search before Kafka 2.2 (KAFKA-6432): entry 0 first, then the middles of the entire index."""
    if entries == 0:
        return NOTHING
    if read(0) > target:
        return BEFORE_ALL
    return _bisect(read, target, 0, entries - 1, entries)


def warm_search(read: ReadSlot, entries: int, warm_entries: int, target: int) -> Bounds:
    """The search since KAFKA-6432: first the end, which in-sync followers and consumers keep in memory.

    `warm_entries` is how many entries the warm section holds; it begins that many before the last one.
    """
    if entries == 0:
        return NOTHING
    first_warm = first_warm_slot(entries, warm_entries)
    if read(first_warm) < target:
        return _bisect(read, target, first_warm, entries - 1, entries)
    if read(0) > target:
        return BEFORE_ALL
    return _bisect(read, target, 0, first_warm, entries)


def first_warm_slot(entries: int, warm_entries: int) -> int:
    """Where the warm section starts: AbstractIndex's firstHotEntry."""
    return max(0, entries - 1 - warm_entries)


def search(read: ReadSlot, entries: int, warm_entries: int, target: int, kind: str = WARM) -> Bounds:
    """The search of that kind, WARM or STANDARD."""
    if kind == STANDARD:
        return standard_search(read, entries, target)
    return warm_search(read, entries, warm_entries, target)


def _bisect(read: ReadSlot, target: int, low: int, high: int, entries: int) -> Bounds:
    while low < high:
        middle = (low + high + 1) >> 1
        found = read(middle)
        if found > target:
            high = middle - 1
        elif found < target:
            low = middle
        else:
            return Bounds(middle, middle)
    return Bounds(low, -1 if low == entries - 1 else low + 1)


class Recorder:
    """A slot reader that records its reads: `probes` holds (slot, number read) in order."""

    __slots__ = ("_read", "probes")

    def __init__(self, read: ReadSlot) -> None:
        self._read = read
        self.probes: list[tuple[int, int]] = []

    def __call__(self, slot: int) -> int:
        found = self._read(slot)
        self.probes.append((slot, found))
        return found
