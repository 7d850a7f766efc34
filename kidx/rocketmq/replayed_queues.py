"""Queues rebuilt from the commit log alone, for stores whose queues are in RocksDB, which kidx does not read.

Every message states its queue and its offset there, so dispatching the complete log restores the content of the
database, as far as the broker had dispatched. Searches are those of
org.apache.rocketmq.store.queue.RocksDBConsumeQueueTable.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kidx.rocketmq.commit_log import CommitLog, walk
from kidx.rocketmq.messages import Message

NOTE = (
    "the queues are in RocksDB (storeType=defaultRocksDB, 5.2 on), which kidx does not read: answered from the commit "
    "log, as a dispatch of all of it fills them"
)


class ReplayedUnit(NamedTuple):
    """The unit of a message in a RocksDB queue."""

    offset: int
    commit_log_offset: int
    size: int
    store_timestamp: int


class ReplayedQueue:
    """One queue: its units by queue offset."""

    kind = "rocksdb"
    unit_bytes = 20

    def __init__(self) -> None:
        self.units: dict[int, ReplayedUnit] = {}

    @property
    def min_offset(self) -> int:
        """Queue offset of the first message that the commit log still has."""
        return min(self.units, default=0)

    @property
    def max_offset(self) -> int:
        """The queue offset that the next message gets."""
        return max(self.units, default=-1) + 1

    def from_offset(self, offset: int, most: int) -> Iterator[ReplayedUnit]:
        """Units from an offset on, at most `most`."""
        return (self.units[at] for at in range(offset, min(self.max_offset, offset + most)) if at in self.units)

    def by_time(self, time: int, boundary: str, version: tuple[int, ...]) -> int:
        """The offset that a broker of that version returns for a time, -1 for none; `boundary` is lower or upper.

        5.2 gives the nearest message. 5.3.0 and 5.3.1 know no time before the first or after the last message. No
        version corrects the answer to the queue's offsets. Source: binarySearchInCQByTime of 5.2.0, 5.3.1, 5.3.2,
        5.5.1.
        """
        return self._search(time, boundary == "lower", version) if self.units else 0

    def _search(self, time: int, lower: bool, version: tuple[int, ...]) -> int:
        floor, ceiling = self.min_offset, self.max_offset - 1
        if version >= (5, 3, 2):
            if self.units[ceiling].store_timestamp < time:
                return ceiling + 1 if lower else ceiling
            if self.units[floor].store_timestamp > time:
                return floor if lower else 0
        nearest = version < (5, 3, 0)
        low, high, left, right = floor, ceiling, -1, -1
        while high >= low:
            middle = low + (high - low) // 2
            stored = self.units[middle].store_timestamp if middle in self.units else None
            if stored is None:
                low = middle + 1
            elif stored == time:
                step = 0 if nearest else -1 if lower else 1
                while step and floor <= middle + step <= ceiling and self._is_at(middle + step, time):
                    middle += step
                return middle
            elif stored > time:
                high, right = middle - 1, middle
            else:
                low, left = middle + 1, middle
        if nearest:
            if min(left, right) < 0:
                return max(left, right)
            after, before = self.units[right].store_timestamp - time, time - self.units[left].store_timestamp
            return right if before > after else left
        return right if lower else left

    def _is_at(self, offset: int, time: int) -> bool:
        return offset in self.units and self.units[offset].store_timestamp == time


def replay(log: CommitLog) -> dict[tuple[str, int], ReplayedQueue]:
    """Every queue that the commit log's messages name, by topic and number."""
    queues: dict[tuple[str, int], ReplayedQueue] = {}
    for file in log.files:
        for position, found in walk(file, file.wrote):
            if isinstance(found, Message) and found.has_unit:
                queue = queues.setdefault((found.topic, found.queue_id), ReplayedQueue())
                queue.units[found.queue_offset] = ReplayedUnit(
                    found.queue_offset, file.base + position, found.size, found.store_timestamp
                )
    return queues
