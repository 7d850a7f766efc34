"""Where a queue offset lies, by arithmetic: the unit of queue offset n is at byte 20 n of the queue."""

from __future__ import annotations

from typing import Any

from kidx.pages.geometry import pages_of_bytes
from kidx.rocketmq.batch_queues import BatchConsumeQueue
from kidx.rocketmq.java import JavaThrows
from kidx.rocketmq.store import Queue, Store

SERVED, BELOW, PAST, NO_QUEUE = "served", "below min offset", "past max offset", "no such queue"


def locate(store: Store, queue: Queue | None, offset: int) -> list[Any]:
    """[file, position, state, commit-log offset, size, tag code, store time, pages] of a queue offset.

    Fields are None past the queue's end; the store time is None if the commit log does not have the message.
    """
    if queue is None:
        return [None, None, NO_QUEUE, *[None] * 5]
    state = SERVED if queue.min_offset <= offset < queue.max_offset else BELOW if offset < queue.max_offset else PAST
    if isinstance(queue, BatchConsumeQueue):
        place = queue.unit_for(offset)
    else:
        file = queue.find(offset * queue.unit_bytes)
        place = (file, offset * queue.unit_bytes % queue.file_size) if file else None
    if state == PAST or place is None:
        return [None, None, state, *[None] * 5]
    file, position = place
    at, size, tag_code = queue.unit(file, position)[:3]
    try:
        timestamp = store.log.store_timestamp(at, size, checks_end=True)[0]
    except JavaThrows:
        timestamp = -1
    pages = list(pages_of_bytes(position, position + queue.unit_bytes))
    return [f"{file.base:020d}", position, state, at, size, tag_code, None if timestamp < 0 else timestamp, pages]
