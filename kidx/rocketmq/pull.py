"""A pull as the broker would batch it, and whether it would send the consumer to a slave for the next one.

Source: DefaultMessageStore.getMessage, isTheBatchFull and checkInDiskByCommitOffset of 4.5.2, 4.9.3, 4.9.4, 4.9.8 and
5.5.1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kidx.rocketmq.batch_queues import BatchConsumeQueue
from kidx.rocketmq.config import StoreConfig
from kidx.rocketmq.formats import UNIT
from kidx.rocketmq.queues import ConsumeQueue
from kidx.rocketmq.replayed_queues import ReplayedQueue
from kidx.rocketmq.store import Queue, Store

_FILTER_BYTES = 16000  # units looked at in one pull, in bytes of the queue (maxFilterMessageSize)
_MOST_PULL_BYTES = 128 << 20  # MAX_PULL_MSG_SIZE, 5.x


@dataclass
class Pull:
    """The result of a pull. `pulling_offset` is maxPhyOffsetPulling: the START of the last message examined.

    `behind_bytes` is the commit log's end minus that offset; if it exceeds `memory_bytes`, the slave is suggested.
    """

    status: str
    next_offset: int
    min_offset: int
    max_offset: int
    messages: int = 0
    bytes: int = 0
    pulling_offset: int | None = None
    behind_bytes: int | None = None
    memory_bytes: int = 0
    suggest_slave: bool = False
    stopped_by: str | None = None


def pull(store: Store, topic: str, queue_id: int, offset: int, most: int, memory_bytes: int) -> Pull:
    """Answer getMessage(topic, queue, offset, most) of a loaded store on a machine with that much page cache.

    `memory_bytes` is what the broker computes of TOTAL_PHYSICAL_MEMORY_SIZE and accessMessageInMemoryMaxRatio. Raises
    JavaThrows where the store throws.
    """
    queue = store.replayed.get((topic, queue_id)) if store.layout.rocksdb else store.queue(topic, queue_id)
    if queue is None or queue.max_offset == 0:
        minimum = queue.min_offset if queue else 0
        return Pull("NO_MESSAGE_IN_QUEUE", 0, minimum, 0, memory_bytes=memory_bytes)
    least, end = queue.min_offset, queue.max_offset
    outside = None
    if offset < least:
        outside = "OFFSET_TOO_SMALL", least
    elif offset == end:
        outside = "OFFSET_OVERFLOW_ONE", offset
    elif offset > end:
        outside = "OFFSET_OVERFLOW_BADLY", 0 if store.version.past_end_restarts and least == 0 else end
    if outside:
        return Pull(*outside, least, end, memory_bytes=memory_bytes)
    found = Pull("NO_MATCHED_MESSAGE", offset, least, end, memory_bytes=memory_bytes)
    units = _units(queue, offset, most)
    pulling = 0
    if units is None:
        per_file = 1 if isinstance(queue, ReplayedQueue) else queue.file_size // queue.unit_bytes
        found.status, found.next_offset = "OFFSET_FOUND_NULL", offset + per_file - offset % per_file
        if not store.five:
            return found
    else:
        pulling = _take(store, found, units, offset, most, queue.unit_bytes)
    found.pulling_offset = pulling
    found.behind_bytes = store.end - pulling
    found.suggest_slave = found.behind_bytes > memory_bytes
    return found


def _take(
    store: Store, found: Pull, units: Iterator[tuple[int, int, int, int]], offset: int, most: int, unit_bytes: int
) -> int:
    """Go through the units of one queue file; maxPhyOffsetPulling. 4.x sets that before the batch-full test."""
    five, pulling, next_file = store.five, 0, None
    filter_bytes = max(_FILTER_BYTES, most * (unit_bytes if five else UNIT.size))
    for queue_offset, count, at, size in units:
        if (queue_offset - offset) * unit_bytes >= filter_bytes or (five and found.next_offset >= found.max_offset):
            found.stopped_by = "units looked at"
            break
        skipped = next_file is not None and at < next_file
        if not five:
            pulling = at
        if five or not skipped:
            full = batch_full(store.config, five, found, size, count, most, store.end - at <= found.memory_bytes)
            if full:
                found.stopped_by = full
                break
        pulling = at
        found.next_offset = queue_offset + count
        if skipped:
            continue
        if store.log.select(at, size) is None:
            if found.bytes == 0:
                found.status = "MESSAGE_WAS_REMOVING"
            next_file = store.log.roll(at)
            continue
        found.messages += count
        found.bytes += size
        found.status, next_file = "FOUND", None
    return pulling


def batch_full(
    config: StoreConfig, five: bool, found: Pull, size: int, count: int, most: int, in_memory: bool
) -> str | None:
    """Which limit a further message would exceed, None for none (isTheBatchFull); never for the first message."""
    if found.bytes == 0 or found.messages == 0:
        return None
    if (found.messages + count > most) if five else most <= found.messages:
        return "the messages asked for"
    if five and found.bytes + size > _MOST_PULL_BYTES:
        return "the most bytes of a pull"
    where = "in memory" if in_memory else "on disk"
    if found.bytes + size > (config.memory_bytes_in_memory if in_memory else config.disk_bytes):
        return f"bytes, {where}"
    if found.messages > (config.memory_count_in_memory if in_memory else config.disk_count) - 1:
        return f"count, {where}"
    return None


def _units(queue: Queue | ReplayedQueue, offset: int, most: int) -> Iterator[tuple[int, int, int, int]] | None:
    """(queue offset, messages, commit-log offset, size) from an offset to the end of its file: no pull goes further."""
    if isinstance(queue, ReplayedQueue):
        return ((unit.offset, 1, unit.commit_log_offset, unit.size) for unit in queue.from_offset(offset, most))
    if isinstance(queue, BatchConsumeQueue):
        return _batch_units(queue, offset)
    return _simple_units(queue, offset)


def _simple_units(queue: ConsumeQueue, offset: int) -> Iterator[tuple[int, int, int, int]] | None:
    place = queue.unit_at(offset)
    if place is None:
        return None
    file, start = place

    def units() -> Iterator[tuple[int, int, int, int]]:
        for number, position in enumerate(range(start, file.wrote - UNIT.size + 1, UNIT.size)):
            at, size, _ = queue.unit(file, position)
            yield offset + number, 1, at, size

    return units()


def _batch_units(queue: BatchConsumeQueue, offset: int) -> Iterator[tuple[int, int, int, int]] | None:
    place = queue.unit_for(offset)
    if place is None:
        return None
    file, start = place

    def units() -> Iterator[tuple[int, int, int, int]]:
        for position in range(start, file.wrote - queue.unit_bytes + 1, queue.unit_bytes):
            unit = queue.unit(file, position)
            yield unit.base_offset, unit.batch_size, unit.commit_log_offset, unit.size

    return units()
