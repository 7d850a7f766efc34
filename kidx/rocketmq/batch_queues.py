"""A BatchConsumeQueue (5.0 on) as a broker has it after loading.

Source: org.apache.rocketmq.store.queue.BatchConsumeQueue of 5.5.1.
"""

from __future__ import annotations

from typing import NamedTuple

from kidx.rocketmq.files import MappedFile, MappedFiles, OpenFiles
from kidx.rocketmq.formats import BATCH_UNIT, leading_batch_units
from kidx.rocketmq.layout import StoreFile
from kidx.rocketmq.messages import Message

WIDTH = BATCH_UNIT.size


class BatchUnit(NamedTuple):
    """A unit's fields, as formats.BATCH_UNIT has them."""

    commit_log_offset: int
    size: int
    tag_code: int
    store_timestamp: int
    base_offset: int
    batch_size: int
    compact_offset: int
    reserved: int


class BatchConsumeQueue(MappedFiles):
    """One queue. `max_physical` is the start of the last message that has a unit, -1 without units."""

    unit_bytes = WIDTH
    kind = "batch"

    def __init__(self, opened: OpenFiles, topic: str, queue_id: int, files: list[StoreFile], file_size: int) -> None:
        super().__init__(opened, files, file_size)
        self.topic, self.queue_id = topic, queue_id
        self.max_physical, self.min_offset, self.max_offset = -1, -1, 0

    def unit(self, file: MappedFile, position: int) -> BatchUnit:
        """The unit at a position of a file."""
        return BatchUnit(*BATCH_UNIT.struct.unpack(file.read(position, WIDTH)))

    def recover(self) -> None:
        """Find the end as the broker does (recover_units)."""
        if last := self.recover_units(WIDTH, leading_batch_units):
            file, used = last
            self.max_physical = self.unit(file, used - WIDTH).commit_log_offset
        self._revise()

    def drop_from(self, log_end: int) -> None:
        """Drop units at or past the commit log's end; as in a ConsumeQueue, a last file's first unit is unchecked."""
        self.max_physical = log_end - 1
        while self.files:
            file = self.files[-1]
            if self.unit(file, 0).commit_log_offset >= log_end:
                self.files.pop()
                continue
            count, valid = 1, 1 + file.leading(WIDTH, leading_batch_units, first=1)
            while count < valid and self.unit(file, count * WIDTH).commit_log_offset < log_end:
                count += 1
            file.wrote = count * WIDTH
            self.max_physical = self.unit(file, file.wrote - WIDTH).commit_log_offset
            break
        self._revise()

    def put(self, message: Message, tag_code: int) -> None:
        """Add a message's unit, in memory, unless the queue has it or the message is not a batch."""
        base, count = message.batch()
        if base < 0 or count < 0 or message.physical_offset <= self.max_physical:
            return
        file = self.last_or_new(self.end_offset)
        unit = BatchUnit(
            message.physical_offset, message.size, tag_code, message.store_timestamp, base, count & 0x7FFF, -1, 0
        )
        file.append(BATCH_UNIT.struct.pack(*unit))
        self.max_physical, self.max_offset = message.physical_offset, base + count
        if file.first_made and self.min_offset == -1:
            self._revise()

    def correct_min_offset(self, log_start: int) -> None:
        """Set the min offset: past the first file's leading units of deleted messages."""
        self._revise()
        if self.files:
            for at in range(0, self.files[0].wrote, WIDTH):
                unit = self.unit(self.files[0], at)
                if unit.commit_log_offset >= log_start:
                    break
                self.min_offset = unit.base_offset + unit.batch_size

    def _revise(self) -> None:
        """Min and max offset from the first and the last unit (reviseMinOffsetInQueue, reviseMaxOffsetInQueue)."""
        if not self.files:
            self.min_offset, self.max_offset = -1, 0
            return
        first = self.files[0]
        self.min_offset = self.unit(first, 0).base_offset if first.wrote >= WIDTH else -1
        self.max_offset = 0
        for file in self.files[:-3:-1]:  # the last, or the one before it if the last is new
            if file.wrote >= WIDTH:
                last = self.unit(file, file.wrote - WIDTH)
                self.max_offset = last.base_offset + last.batch_size
                break

    def unit_for(self, offset: int) -> tuple[MappedFile, int] | None:
        """File and position of the batch that holds a queue offset (getBatchMsgIndexBuffer)."""
        if offset >= self.max_offset:
            return None
        holding = [f for f in self.files if f.wrote >= WIDTH and self.unit(f, 0).base_offset <= offset]
        if not holding:
            return None
        file = max(holding, key=lambda f: (f is self.files[-1], self.unit(f, 0).base_offset))
        left, last = 0, file.wrote - WIDTH
        right = last
        while left <= right:
            middle = (left + right) // 2 // WIDTH * WIDTH
            base = self.unit(file, middle).base_offset
            if base == offset:
                return file, middle
            if base > offset:
                right = middle - WIDTH
            elif middle == left:
                after = middle + WIDTH
                return file, after if after <= last and self.unit(file, after).base_offset <= offset else middle
            else:
                left = middle
        return None
