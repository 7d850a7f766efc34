"""The units of all queues as starting points in the commit log: sorted by where they point, checked in arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from kidx.rocketmq.checks.units import Ints, QueueUnits

# What stands where a lane points: from GOOD on a message of that size, and of a SOUND one there is nothing to tell.
UNKNOWN, NO_MESSAGE, OTHER_SIZE, NOT_WHOLE, GOOD, SOUND = range(6)


class Lanes(NamedTuple):
    """Every unit that leads into the commit log, by offset. `source` says which of `queues` it is from.

    `state` is filled by the scan; `tag_hash` and `store_timestamp` are the message's own, where a lane is just GOOD.
    """

    queues: Sequence[QueueUnits]
    source: Ints
    queue_offset: Ints
    at: Ints
    size: Ints
    tag_code: Ints
    state: npt.NDArray[np.int8]
    tag_hash: Ints
    store_timestamp: Ints

    def within(self, start: int, end: int) -> slice:
        """The lanes that point into [start, end) of the commit log."""
        return slice(int(self.at.searchsorted(start)), int(self.at.searchsorted(end)))

    def slot(self, lane: int) -> int:
        """Which unit of its file a lane is."""
        return int(self.queue_offset[lane]) - self.queues[int(self.source[lane])].first_offset


def lanes_of(queues: Sequence[QueueUnits]) -> Lanes:
    """All queues' units as lanes."""

    def joined(parts: list[Ints]) -> Ints:
        return parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, np.int64), *parts])

    at = joined([q.at for q in queues])
    columns: tuple[Ints, ...] = (
        np.arange(len(queues)).repeat([len(q.at) for q in queues]) if len(queues) > 1 else np.zeros(len(at), np.int64),
        joined([q.queue_offset for q in queues]),
        at,
        joined([q.size for q in queues]),
        joined([q.tag_code for q in queues]),
    )
    if np.count_nonzero(at[1:] < at[:-1]):
        order = at.argsort(kind="stable")
        columns = tuple(column.take(order) for column in columns)
    source, queue_offset, at, size, tag_code = columns
    state, blank = np.zeros(len(at), np.int8), np.zeros((2, len(at)), np.int64)
    return Lanes(queues, source, queue_offset, at, size, tag_code, state, blank[0], blank[1])
