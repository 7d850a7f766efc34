"""One file of a ConsumeQueue: its units as columns, and which of them lead into the commit log."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kidx.rocketmq.files import OpenFiles
from kidx.rocketmq.formats import PRE_BLANK_SIZE, UNIT
from kidx.rocketmq.layout import StoreFile
from kidx.rocketmq.used_units import used_units

if TYPE_CHECKING:
    import numpy.typing as npt

    Ints = npt.NDArray[np.int64]
    Mask = npt.NDArray[np.bool_]

WIDTH = UNIT.size
_CHUNK_UNITS = 1 << 14


class QueueUnits(NamedTuple):
    """A queue file's units that lead into the commit log: int64, shape (n,) each, in the file's order.

    `first_offset` is the queue offset of the file's first unit; `at` are commit-log offsets, `size` bytes.
    """

    topic: str
    queue_id: int
    path: str
    first_offset: int
    queue_offset: Ints
    at: Ints
    size: Ints
    tag_code: Ints


class QueueFile:
    """A file's units up to the last that is not all zero, and where the file stands in its queue.

    `number` counts the queue's files from 0. `follows_partial`: the file before it is not full. `offset_before` is the
    commit-log offset of the last unit before this file, -1 without one; `log_start` is where the commit log begins.
    """

    def __init__(
        self,
        opened: OpenFiles,
        file: StoreFile,
        number: int,
        *,
        last: bool,
        follows_partial: bool,
        offset_before: int,
        log_start: int,
    ) -> None:
        self.file, self.number, self.last, self.follows_partial = file, number, last, follows_partial
        self.offset_before, self.log_start = offset_before, log_start
        self.at, self.size, self.tag_code = read_units(opened, file)

    @property
    def first_offset(self) -> int:
        """Queue offset of the first unit."""
        return (self.file.base or 0) // WIDTH

    @property
    def full(self) -> bool:
        """Whether units reach the file's end."""
        return len(self.at) == self.file.size // WIDTH

    @cached_property
    def blank(self) -> Mask:
        """Pre-blank units: bool, shape (n,). Source: ConsumeQueue.fillPreBlank."""
        blank: Mask = self.at == 0
        if np.count_nonzero(blank):
            blank &= (self.size == PRE_BLANK_SIZE) & (self.tag_code == 0)
        return blank

    @cached_property
    def leading_blanks(self) -> int:
        """How many pre-blank units the queue begins with, 0 in other files than its first."""
        if self.number or not len(self.blank):
            return 0
        return len(self.blank) if self.blank.all() else int(self.blank.argmin())

    @cached_property
    def valid(self) -> Mask:
        """Units that recovery accepts: bool, shape (n,)."""
        valid: Mask = (self.at >= 0) & (self.size > 0)
        return valid

    @cached_property
    def real(self) -> Ints:
        """Slots of the units that belong to a message: int64, ascending."""
        return (self.valid & ~self.blank).nonzero()[0]

    @cached_property
    def real_at(self) -> Ints:
        """Commit-log offsets of the `real` units."""
        return self.at if len(self.real) == len(self.at) else self.at[self.real]

    @cached_property
    def expired(self) -> Mask:
        """Which of the `real` units lead to messages before the commit log's begin."""
        expired: Mask = self.real_at < self.log_start
        return expired

    def into_log(self, topic: str, queue_id: int) -> QueueUnits:
        """The units that lead to messages the commit log should have."""
        slots, columns = self.real, (self.at, self.size, self.tag_code)
        if np.count_nonzero(self.expired):
            slots = slots[~self.expired]
        if len(slots) != len(self.at):
            columns = self.at[slots], self.size[slots], self.tag_code[slots]
        return QueueUnits(topic, queue_id, self.file.path, self.first_offset, slots + self.first_offset, *columns)


def read_units(opened: OpenFiles, file: StoreFile) -> tuple[Ints, Ints, Ints]:
    """(commit-log offset, size, tag code) of every whole unit of a file, up to the last that is not all zero."""
    evidence = opened.get(file.path)
    count = used_units(WIDTH, evidence).units
    at, size, tag_code = (np.empty(count, np.int64) for _ in range(3))
    chunk = np.empty(min(count, _CHUNK_UNITS) * WIDTH, np.uint8)
    for start in range(0, count, _CHUNK_UNITS):
        data = chunk[: (count - start) * WIDTH].data
        evidence.read_into(start * WIDTH, data)
        units = np.ndarray(len(data) // WIDTH, UNIT.dtype, data)
        part = slice(start, start + len(units))
        at[part], size[part], tag_code[part] = units["commit_log_offset"], units["size"], units["tag_code"]
    return at, size, tag_code
