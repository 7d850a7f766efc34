"""The units of all queues in the order of the commit log: starting points from which messages are checked in arrays."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from kidx.rocketmq.commit_log import CommitLog
    from kidx.rocketmq.ext_units import ExtFiles
    from kidx.rocketmq.subjects.queue_file import Ints, Mask, QueueUnits

# What lies where a unit points.
UNKNOWN, NO_MESSAGE, OTHER_SIZE, SIZES_DISAGREE, MESSAGE = range(5)


class LogUnits:
    """Every unit that leads into the commit log, sorted by offset: int64 columns, shape (n,).

    `queue` says which of `queues` a unit is of. `at` is the commit-log offset, `size` bytes. The scan of the log sets
    `target` (int8, one of the constants above), and of a MESSAGE `tag_hash` and `store_timestamp` (epoch ms, only
    where its tag hash is not the tag code).
    """

    def __init__(self, queues: Sequence[QueueUnits]) -> None:
        def joined(parts: list[Ints]) -> Ints:
            return parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, np.int64), *parts])

        at = joined([q.at for q in queues])
        columns: tuple[Ints, ...] = (
            np.arange(len(queues)).repeat([len(q.at) for q in queues])
            if len(queues) > 1
            else np.zeros(len(at), np.int64),
            joined([q.queue_offset for q in queues]),
            at,
            joined([q.size for q in queues]),
            joined([q.tag_code for q in queues]),
        )
        if np.count_nonzero(at[1:] < at[:-1]):
            order = at.argsort(kind="stable")
            columns = tuple(column.take(order) for column in columns)
        self.queues = queues
        self.queue, self.queue_offset, self.at, self.size, self.tag_code = columns
        self.target = np.zeros(len(at), np.int8)
        self.tag_hash, self.store_timestamp = self.tag_code.copy(), np.zeros(len(at), np.int64)

    def within(self, start: int, end: int) -> tuple[int, int]:
        """The range of units that point into [start, end) of the commit log."""
        return int(self.at.searchsorted(start)), int(self.at.searchsorted(end))

    def queue_of(self, unit: int) -> QueueUnits:
        """The queue file that a unit is in."""
        return self.queues[int(self.queue[unit])]

    def slot(self, unit: int) -> int:
        """Which unit of its file a unit is."""
        return int(self.queue_offset[unit]) - self.queue_of(unit).first_offset


class ScannedUnits:
    """The units after the scan of the commit log, which ends at `log_end`.

    `light` are units of queues that a message was dispatched to besides its own; `unclean`: the broker was killed.
    `delay_levels_ms` are the broker's, None where they are unknown.
    """

    def __init__(
        self,
        units: LogUnits,
        log: CommitLog,
        ext: ExtFiles,
        log_end: int,
        *,
        light: set[int],
        unclean: bool,
        delay_levels_ms: tuple[int, ...] | None = None,
    ) -> None:
        self.units, self.log, self.ext, self.log_end = units, log, ext, log_end
        self.light, self.unclean, self.delay_levels_ms = light, unclean, delay_levels_ms

    @cached_property
    def past(self) -> Mask:
        """Units whose message would end past the commit log's end: bool, shape (n,)."""
        past: Mask = self.units.at + self.units.size > self.log_end
        return past

    def rows(self, target: int) -> Ints:
        """Units that do not point past the end and lead to that."""
        rows: Ints = ((self.units.target == target) & ~self.past).nonzero()[0]
        return rows
