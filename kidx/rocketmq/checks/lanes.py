"""The units of all queues as starting points in the commit log: sorted by where they point, checked in arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kidx.rocketmq.checks.units import Ints, QueueUnits

UNKNOWN, GOOD, NO_MESSAGE, OTHER_SIZE, NOT_WHOLE = range(5)  # what stands where a lane points


@dataclass
class Lanes:
    """Every unit that leads into the commit log, by offset. `source` says which of `queues` it is from.

    `state` is filled by the scan; `tag_hash` and `store_timestamp` are the message's own, for lanes that are GOOD.
    """

    queues: Sequence[QueueUnits]
    source: Ints
    slot: Ints
    queue_offset: Ints
    at: Ints
    size: Ints
    tag_code: Ints
    state: npt.NDArray[np.int8]
    tag_hash: Ints
    store_timestamp: Ints

    def within(self, start: int, end: int) -> slice:
        """The lanes that point into [start, end) of the commit log."""
        return slice(int(np.searchsorted(self.at, start)), int(np.searchsorted(self.at, end)))


def lanes_of(queues: Sequence[QueueUnits]) -> Lanes:
    """All queues' units as lanes."""

    def joined(parts: list[Ints]) -> Ints:
        return np.concatenate(parts) if parts else np.empty(0, np.int64)

    at = joined([q.at for q in queues])
    order = np.argsort(at, kind="stable")
    counts = [len(q.at) for q in queues]
    count = len(at)
    return Lanes(
        queues,
        np.repeat(np.arange(len(queues)), counts)[order],
        joined([q.slot for q in queues])[order],
        joined([q.queue_offset for q in queues])[order],
        at[order],
        joined([q.size for q in queues])[order],
        joined([q.tag_code for q in queues])[order],
        np.zeros(count, np.int8),
        np.zeros(count, np.int64),
        np.zeros(count, np.int64),
    )
