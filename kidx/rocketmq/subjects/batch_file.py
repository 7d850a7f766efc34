"""One file of a BatchConsumeQueue: its units as columns, and the messages they lead to."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from kidx.rocketmq.batch_queues import WIDTH
from kidx.rocketmq.files import OpenFiles
from kidx.rocketmq.formats import BATCH_UNIT
from kidx.rocketmq.layout import StoreFile
from kidx.rocketmq.used_units import used_units

if TYPE_CHECKING:
    import numpy.typing as npt

    from kidx.rocketmq.subjects.log_file import Stray
    from kidx.rocketmq.subjects.queue_file import Ints, Mask


class BatchFile:
    """A file's units up to the last that is not all zero: `fields`, formats.BATCH_UNIT, shape (n,).

    `before` is the last valid unit of the queue's files before this one, shape (0,) or (1,). `messages` are those that
    no ConsumeQueue's unit leads to, by commit-log offset; the commit log is [log_start, log_end).
    """

    def __init__(
        self,
        opened: OpenFiles,
        queue: tuple[str, int],
        file: StoreFile,
        before: npt.NDArray[np.void],
        messages: Mapping[int, Stray],
        log: tuple[int, int],
        *,
        unclean: bool,
    ) -> None:
        self.queue, self.path, self.messages, self.unclean = queue, file.path, messages, unclean
        self.log_start, self.log_end = log
        evidence = opened.get(file.path)
        units = used_units(WIDTH, evidence).units
        self.fields = np.frombuffer(evidence.read(0, units * WIDTH), BATCH_UNIT.dtype)
        self._before = before

    @cached_property
    def valid(self) -> Mask:
        """Units that recovery accepts: bool, shape (n,). Source: BatchConsumeQueue.recover."""
        fields = self.fields
        valid: Mask = (fields["commit_log_offset"] >= 0) & (fields["size"] > 0)
        valid &= (fields["base_offset"] >= 0) & (fields["batch_size"] > 0)
        return valid

    @cached_property
    def chain(self) -> npt.NDArray[np.void]:
        """The valid units, the last one before this file ahead of them."""
        return np.concatenate([self._before, self.fields[self.valid]])

    @cached_property
    def chain_slots(self) -> Ints:
        """Slots of the units of the chain that have one before them."""
        slots = self.valid.nonzero()[0]
        return slots if len(self._before) else slots[1:]

    @cached_property
    def into_log(self) -> Ints:
        """Slots of the valid units that lead to messages the commit log should have."""
        return (self.valid & (self.fields["commit_log_offset"] >= self.log_start)).nonzero()[0]

    @cached_property
    def past(self) -> Mask:
        """Which units `into_log` lead past the commit log's end."""
        fields = self.fields[self.into_log]
        past: Mask = fields["commit_log_offset"].astype(np.int64) + fields["size"] > self.log_end
        return past

    @cached_property
    def with_message(self) -> list[tuple[int, Stray]]:
        """(slot, message) of every unit that leads to a message."""
        slots = self.into_log[~self.past]
        at = self.fields["commit_log_offset"][slots].tolist()
        return [(slot, self.messages[a]) for slot, a in zip(slots.tolist(), at, strict=True) if a in self.messages]
