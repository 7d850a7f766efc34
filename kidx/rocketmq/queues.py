"""A ConsumeQueue as a broker has it after loading: recover, truncate, dispatch again, correct the min offset.

Sources: org.apache.rocketmq.store.ConsumeQueue of 4.9.8 and 5.5.1.
"""

from __future__ import annotations

from kidx.rocketmq.files import MappedFile, MappedFiles, OpenFiles
from kidx.rocketmq.formats import PRE_BLANK_SIZE, UNIT, leading_units
from kidx.rocketmq.layout import StoreFile
from kidx.rocketmq.messages import Message

WIDTH = UNIT.size
_CHUNK_BYTES = WIDTH << 10
_BLANK = UNIT.struct.pack(0, PRE_BLANK_SIZE, 0)


class ConsumeQueue(MappedFiles):
    """One queue. `min_logic` is its min offset in bytes, `max_physical` the end of the last message with a unit."""

    unit_bytes = WIDTH
    kind = "simple"

    def __init__(
        self, opened: OpenFiles, topic: str, queue_id: int, files: list[StoreFile], file_size: int, five: bool
    ) -> None:
        super().__init__(opened, files, file_size)
        self.topic, self.queue_id, self._five = topic, queue_id, five
        self.min_logic, self.max_physical = 0, -1

    @property
    def min_offset(self) -> int:
        """First queue offset that the broker serves."""
        return self.min_logic // WIDTH

    @property
    def max_offset(self) -> int:
        """The queue offset that the next message gets."""
        return self.end_offset // WIDTH

    def unit(self, file: MappedFile, position: int) -> tuple[int, int, int]:
        """(commit-log offset, size, tag code) at a position of a file, written or not."""
        offset, size, tag_code = UNIT.struct.unpack(file.read(position, WIDTH))
        return offset, size, tag_code

    def unit_at(self, offset: int) -> tuple[MappedFile, int] | None:
        """File and position of a queue offset (getIndexBuffer), None if the broker has none."""
        logic = offset * WIDTH
        if logic < self.min_logic or (file := self.find(logic)) is None:
            return None
        position = logic % self.file_size
        return (file, position) if position < file.wrote else None

    def recover(self) -> None:
        """Find the end as the broker does (recover_units)."""
        if last := self.recover_units(WIDTH, leading_units):
            file, used = last
            offset, size, _ = self.unit(file, used - WIDTH)
            self.max_physical = offset + size

    def drop_from(self, log_end: int) -> None:
        """Drop units at or past the commit log's end (truncateDirtyLogicFiles).

        The first unit of the last file is not checked: an all-zero file, which a crash can leave, yields one phantom.
        """
        self.max_physical = log_end
        while self.files:
            file = self.files[-1]
            if self.unit(file, 0)[0] >= log_end:
                self.files.pop()
                continue
            file.wrote = WIDTH * (1 + self._units_before(log_end, file))
            last, size, _ = self.unit(file, file.wrote - WIDTH)
            self.max_physical = last + size
            return

    def _units_before(self, log_end: int, file: MappedFile) -> int:
        """How many valid units follow a file's first one before one leads to `log_end` or further."""
        count, valid = 0, file.leading(WIDTH, leading_units, first=1)
        while count < valid:
            chunk = file.read((1 + count) * WIDTH, min(_CHUNK_BYTES, (valid - count) * WIDTH))
            for offset, _, _ in UNIT.struct.iter_unpack(chunk):
                if offset >= log_end:
                    return count
                count += 1
        return count

    def put(self, message: Message, tag_code: int) -> None:
        """Add a message's unit, in memory (putMessagePositionInfo), unless the queue has it already."""
        if message.physical_offset + message.size <= self.max_physical:
            return
        expected = message.queue_offset * WIDTH
        file = self.last_or_new(expected)
        if file.first_made and message.queue_offset and not file.wrote:
            self.min_logic = expected
            for _ in range(expected % self.file_size // WIDTH):
                file.append(_BLANK)
        if message.queue_offset and expected < file.base + file.wrote:
            return
        self.max_physical = message.physical_offset + message.size
        file.append(UNIT.struct.pack(message.physical_offset, message.size, tag_code))

    def correct_min_offset(self, log_start: int) -> None:
        """Set the min offset as a broker does when it has loaded; `log_start` is where the commit log begins."""
        if self._five:
            self._correct_by_bisection(log_start)
        elif self.files:
            file = self.files[0]
            used = file.wrote // WIDTH * WIDTH
            for start in range(0, used, _CHUNK_BYTES):
                chunk = file.read(start, min(_CHUNK_BYTES, used - start))
                for at, (offset, _, _) in enumerate(UNIT.struct.iter_unpack(chunk)):
                    if offset >= log_start:
                        self.min_logic = file.base + start + at * WIDTH
                        return

    def _correct_by_bisection(self, log_start: int) -> None:
        if not self.files:
            self.min_logic, self.max_physical = 0, -1
            return
        last, first = self.files[-1], self.files[0]
        if self.min_logic > self.end_offset:
            return
        if last.wrote >= WIDTH and self.unit(last, last.wrote - WIDTH)[0] < log_start:
            self.min_logic = last.base + last.wrote
            return
        start = self.min_logic - first.base
        intact, start = start >= 0, max(0, start)
        if start >= first.wrote or (intact and self.unit(first, start)[0] >= log_start):
            return
        low, high = 0, first.wrote - start - WIDTH
        while high - low > WIDTH:
            middle = (low + high) // 2 // WIDTH * WIDTH
            offset = self.unit(first, start + middle)[0]
            if offset == log_start:
                low = high = middle
            elif offset > log_start:
                high = middle
            else:
                low = middle
        for at in range(low, high + 1, WIDTH):
            if self.unit(first, start + at)[0] >= log_start:
                self.min_logic = first.base + start + at
                return
