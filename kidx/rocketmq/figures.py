"""Figures of a loaded store: a row each for the commit log, every queue, the ext files, the index, the checkpoint."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kidx.rocketmq.batch_queues import BatchConsumeQueue
from kidx.rocketmq.java import JavaThrows
from kidx.rocketmq.store import DoesNotLoad, Queue, Store


class Figures(NamedTuple):
    """`min_offset` and `max_offset` count bytes in the commit log, queue offsets in a queue."""

    what: str
    name: str
    files: int
    allocated_bytes: int
    used_bytes: int | None = None
    entries: int | None = None
    min_offset: int | None = None
    max_offset: int | None = None
    first_timestamp: int | None = None
    last_timestamp: int | None = None
    note: str | None = None


def figures(store: Store) -> Iterator[Figures]:
    """The rows, commit log first."""
    layout, end = store.layout, store.end
    first = max(0, store.log.first_offset)
    allocated = sum(f.size for f in layout.commit_log)
    stopped = "unclean stop: as after recovery" if store.unclean else None
    yield Figures("commit_log", "", len(layout.commit_log), allocated, end - first, None, first, end, note=stopped)
    for topic, queue_id in store.names():
        if (queue := store.queue(topic, queue_id)) is not None:
            yield _queue(store, queue, f"{topic}/{queue_id}")
    if layout.rocksdb:
        yield Figures("queues", "", 0, 0, note="in RocksDB (5.2 on), which kidx does not read")
    for (topic, queue_id), files in sorted(layout.ext.items()):
        yield Figures("ext", f"{topic}/{queue_id}", len(files), sum(f.size for f in files))
    try:
        for file, index in zip(layout.index, store.index_files, strict=False):
            yield Figures(
                "index",
                file.name,
                1,
                file.size,
                40 + 4 * index.slots + 20 * index.count,
                index.count - 1,
                index.begin_offset,
                index.end_offset,
                index.begin_timestamp,
                index.end_timestamp,
                f"{index.used_slots} of {index.slots} slots used",
            )
    except DoesNotLoad as e:
        yield Figures("index", "", len(layout.index), sum(f.size for f in layout.index), note=str(e))
    if layout.checkpoint:
        point = store.checkpoint
        times = (point.physic_timestamp, point.logics_timestamp, point.index_timestamp)
        yield Figures(
            "checkpoint", "", 1, layout.checkpoint.size, first_timestamp=min(times), last_timestamp=max(times)
        )


def _queue(store: Store, queue: Queue, name: str) -> Figures:
    units = sum(file.wrote for file in queue.files) // queue.unit_bytes
    allocated = sum(file.size for file in queue.files)
    held = queue.max_offset - max(0, queue.min_offset) if isinstance(queue, BatchConsumeQueue) else None
    return Figures(
        "batch_queue" if isinstance(queue, BatchConsumeQueue) else "queue",
        name,
        len(queue.files),
        allocated,
        units * queue.unit_bytes,
        units,
        queue.min_offset,
        queue.max_offset,
        _time(store, queue, 0),
        _time(store, queue, -1),
        None if held is None else f"{held} messages in batches",
    )


def _time(store: Store, queue: Queue, which: int) -> int | None:
    """Store time of the first unit that the commit log still has in the first file, or of the last unit."""
    if not queue.files or queue.files[which].wrote < queue.unit_bytes:
        return None
    file = queue.files[which]
    position = file.wrote - queue.unit_bytes if which else 0
    if which == 0 and not isinstance(queue, BatchConsumeQueue):
        position = max(0, queue.min_logic - file.base)
        if position >= file.wrote:
            return None
    offset, size = queue.unit(file, position)[:2]
    try:
        timestamp = store.log.store_timestamp(offset, size, checks_end=True)[0]
    except JavaThrows:
        return None
    return timestamp if timestamp >= 0 else None
