"""What Kafka's search would touch for the same question as RocketMQ's."""

from __future__ import annotations

from typing import Any

from kidx.formats.indexes import OFFSET_INDEX, TIME_INDEX, IndexFormat
from kidx.lookup.search import Recorder, warm_search
from kidx.pages.geometry import pages_touched
from kidx.rocketmq.store import Queue

INDEX_INTERVAL_BYTES = 4096  # Kafka's index.interval.bytes


def kafka_search(queue: Queue, offset: int) -> dict[str, Any]:
    """What Kafka would touch if this queue's messages were in one segment with the default index interval.

    A time index entry is written at most every 4,096 bytes of log, so the number of messages and their mean size say
    how many entries there are; the search then goes where the answer's offset lies among them. Kafka reads one time
    index, then one offset index, then walks the log for at most an interval: its sizes are known, not its bytes.
    """
    count = max(0, queue.max_offset - queue.min_offset)
    if not count:
        return {"entries": 0, "time_index": [], "offset_index": [], "log_bytes": 0}
    mean = _mean_size(queue)
    every = max(1, -(-INDEX_INTERVAL_BYTES // mean))  # messages an entry
    entries, rank = count // every, min(max(0, offset - queue.min_offset), count - 1)
    return {
        "entries": entries,
        "time_index": _pages(TIME_INDEX, entries, rank // every),
        "offset_index": _pages(OFFSET_INDEX, entries, rank // every),
        "log_bytes": (rank % every + 1) * mean,
    }


def _pages(index: IndexFormat, entries: int, target: int) -> list[int]:
    recorder = Recorder(lambda slot: slot)
    warm_search(recorder, entries, index.warm_entries, target)
    return pages_touched((slot for slot, _ in recorder.probes), index.size)


def _mean_size(queue: Queue) -> int:
    """Mean size of the last file's messages, bytes: units hold sizes, so the commit log is not read."""
    file = queue.files[-1]
    sizes = [
        size
        for position in range(0, min(file.wrote, queue.unit_bytes * 1000), queue.unit_bytes)
        if 0 < (size := queue.unit(file, position)[1]) < 1 << 30
    ]
    return max(1, sum(sizes) // len(sizes)) if sizes else 1
