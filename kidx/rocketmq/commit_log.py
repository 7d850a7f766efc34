"""The commit log as loaded by a broker: where it starts and ends, and the message that a queue unit points to."""

from __future__ import annotations

from collections.abc import Iterator

from kidx.rocketmq.files import MappedFile, MappedFiles, OpenFiles
from kidx.rocketmq.formats import BORN_V6
from kidx.rocketmq.java import JavaThrows, int32, remainder
from kidx.rocketmq.layout import StoreFile
from kidx.rocketmq.messages import MAX_MESSAGE_BYTES, Blank, Broken, Message, decode

_WINDOW_BYTES = 1 << 20
SYS_FLAG_AT = 36


class CommitLog(MappedFiles):
    """The commit log's files; the store's recovery sets `end_offset`."""

    def __init__(self, opened: OpenFiles, files: list[StoreFile], file_size: int) -> None:
        super().__init__(opened, files, file_size)

    def select(self, offset: int, size: int) -> tuple[MappedFile, int] | None:
        """The file and position of a message of that size (CommitLog.getMessage), None where the log has none.

        Raises JavaThrows where sizes overflow a Java int, as the store does.
        """
        file = self.find(offset, offset == 0)
        if file is None:
            return None
        position = int32(offset % self.file_size)
        if int32(position + size) > file.wrote:
            return None
        if size < 0 or position + size > file.size:
            raise JavaThrows("IllegalArgumentException", f"a unit's size is {size}")
        return file, position

    def roll(self, offset: int) -> int:
        """Where the commit-log file after that of `offset` starts."""
        return offset + self.file_size - remainder(offset, self.file_size)

    def store_timestamp(self, offset: int, size: int, checks_end: bool) -> tuple[int, tuple[MappedFile, int] | None]:
        """The parts of a message that a time search reads: its store time, and (file, position) of the message.

        -1 if the log does not have it (pickupStoreTimestamp); `checks_end` is 5.1's test against the log's end.
        Raises JavaThrows for a size too small to hold the fields.
        """
        if offset < self.first_offset or (checks_end and offset + size > self.end_offset):
            return -1, None
        found = self.select(offset, size)
        if found is None:
            return -1, None
        file, position = found
        head = file.read(position, min(size, 76))
        if len(head) < SYS_FLAG_AT + 4:
            raise JavaThrows("IndexOutOfBoundsException", f"a unit's size is {size}, too small for a message")
        flag = int.from_bytes(head[SYS_FLAG_AT : SYS_FLAG_AT + 4], signed=True)
        at = 68 if flag & BORN_V6 else 56
        if len(head) < at + 8:
            raise JavaThrows("IndexOutOfBoundsException", f"a unit's size is {size}, too small for a message")
        return int.from_bytes(head[at : at + 8], signed=True), found


class _Window:
    """Bytes of a file by position, read forward, 1 MiB at a time."""

    def __init__(self, file: MappedFile) -> None:
        self._file, self._at, self._data = file, 0, b""

    def get(self, position: int, length: int) -> bytes:
        if position < self._at or position + length > self._at + len(self._data):
            self._at, self._data = position, self._file.read(position, max(_WINDOW_BYTES, length))
        return self._data[position - self._at : position - self._at + length]


def walk(file: MappedFile, limit: int | None = None) -> Iterator[tuple[int, Message | Blank | Broken]]:
    """(position, record) for each record of a commit-log file; a Blank or a Broken is the last.

    Reads in windows of 1 MiB, so memory stays bounded by the largest message.
    """
    end, position, window = file.size if limit is None else limit, 0, _Window(file)
    while position < end:
        remaining = end - position
        size = int.from_bytes(window.get(position, min(4, remaining)), signed=True)
        found = decode(
            window.get(position, min(size, MAX_MESSAGE_BYTES) if 8 <= size <= remaining else min(8, remaining)),
            remaining,
        )
        yield position, found
        if not isinstance(found, Message):
            return
        position += found.size


def take_end_marker(found: Message | Blank | Broken, remaining: int, five: bool) -> bool:
    """Whether a recovering broker treats this as the end of a file and continues with the next.

    5.x checks the size first and stops at a blank record with an impossible size.
    """
    return isinstance(found, Blank) and (not five or 0 <= found.size <= remaining)
