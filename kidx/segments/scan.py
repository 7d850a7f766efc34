"""Scanning a log from end to end: every batch's header, every CRC, in bounded memory."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from struct import Struct
from typing import TYPE_CHECKING

from kidx.evidence import Evidence
from kidx.formats.batches import (
    CRC_START,
    HEADER_BYTES,
    LEGACY_CRC_START,
    OVERHEAD_BYTES,
    PREFIX,
    fault_at,
    parse_batch,
)
from kidx.formats.checksums import crc32c
from kidx.segments.walk import END, Ending, ending_of
from kidx.segments.windows import Window

if TYPE_CHECKING:
    from kidx.segments.array_reader import ArrayReader
    from kidx.segments.windows import Ints

    IndexPositions = Sequence[int] | Ints | Callable[[], Sequence[int] | Ints] | None

NEUTRAL_BYTES = 32 << 20  # size from which a log is read past the page cache; smaller ones evict little
_LENGTH_MAGIC_CRC = Struct(">8xi4xbI")  # of a v2 header
DENSE_BYTES = 8192  # average batch size below which arrays and chained CRCs win over a plain loop
_PLAIN_BUFFER_BYTES = 512 << 10
_PLAIN_WINDOW_BATCHES = 1024
_PLAIN_WINDOW_BYTES = 32 << 20
_FIRST_LOOK_BATCHES = 16


class Scan(Iterator[Window]):
    """The windows of a log, which end at `position`. After the last one, `ending` states how the log ended.

    A window's buffer is valid until the next window is read; its headers and columns stay.
    """

    def __init__(
        self, evidence: Evidence, index_positions: IndexPositions, start: int, end: int, check_crc: bool, hold: bool
    ) -> None:
        self.evidence, self.end, self.check_crc, self.hold = evidence, end, check_crc, hold
        self.position = start
        self.ending: Ending | None = None
        self._index_positions = index_positions
        self._array_reader: ArrayReader | None = None
        self._plain = _PlainReader(evidence, end, check_crc)
        self._dense = hold
        self._most_batches = _FIRST_LOOK_BATCHES  # of a plain window; small at first, to learn how large batches are

    def __next__(self) -> Window:
        if self.ending is not None:
            raise StopIteration
        window = self._next_window()
        if window is None:
            raise StopIteration
        self.position = window.end
        return window

    def _next_window(self) -> Window | None:
        position, remaining = self.position, self.end - self.position
        if remaining <= 0:
            self.ending = Ending(END, position)
            return None
        if self._dense:
            reader = self._open_array_reader()
            head, at = reader.load(position, self.end), 0
        else:
            head, at = self._plain.header_at(position, min(HEADER_BYTES, remaining))
        if fault := fault_at(head, at, remaining):
            self.ending = ending_of(self.evidence, position, self.end, fault.torn, fault.why, fault.missing_bytes)
            return None
        _, length, _, magic = PREFIX.unpack_from(head, at)
        if self._dense and magic == 2 and length + OVERHEAD_BYTES <= reader.capacity:
            window = reader.window()
        else:
            window = self._plain.window(position, self._most_batches)
            self._most_batches = _PLAIN_WINDOW_BATCHES
        self._dense = self.hold or (window.end - window.start) < len(window) * DENSE_BYTES
        return window

    def _open_array_reader(self) -> ArrayReader:
        """Created when it is first needed: a log of large batches is scanned without numpy."""
        if self._array_reader is None:
            from kidx.segments.array_reader import ArrayReader

            given = self._index_positions() if callable(self._index_positions) else self._index_positions
            self._array_reader = ArrayReader(self.evidence, given, self.check_crc, self.hold)
        return self._array_reader


def scan(
    evidence: Evidence,
    index_positions: IndexPositions = None,
    *,
    start: int = 0,
    end: int | None = None,
    check_crc: bool = True,
    hold: bool = False,
) -> Scan:
    """Every batch from the batch boundary `start` to `end` (default: the file's), in windows of a few MiB at most.

    `index_positions` are the offset index's positions, in any order and state, or a function that returns them, called
    only if they are useful. They are parallel starting points, and used only where batches lead to them.
    `hold` keeps each window's bytes for RecordDecoder. Damage is not an error: a wrong CRC is in the window, a broken
    structure ends the scan, and `ending` states where and why; an entry that crosses `end` is torn there.
    A large file (NEUTRAL_BYTES) is read without changing what the page cache holds. Raises CannotRead and its children
    where the file cannot be read.
    """
    spare_page_cache(evidence)
    end = evidence.size if end is None else min(end, evidence.size)
    return Scan(evidence, index_positions, start, end, check_crc, hold)


def spare_page_cache(log: Evidence) -> None:
    """Read a large log without filling the page cache. Call it before forking, or each process imports the module."""
    if log.size >= NEUTRAL_BYTES:
        log.spare_page_cache()


class _PlainReader:
    """Entries of any format one after another, their CRCs computed piece by piece in bounded memory."""

    def __init__(self, evidence: Evidence, end: int, check_crc: bool) -> None:
        self._evidence, self._end, self._check_crc = evidence, end, check_crc
        self._buffer: memoryview | None = None
        self._at = self._filled_to = 0  # the buffer holds these bytes of the file

    def window(self, position: int, most_batches: int) -> Window:
        """The entries from `position` on, at least one; the window ends at a fault or when it is large enough."""
        start = position
        positions: list[int] = []
        bad: list[int] = []
        headers = bytearray()
        stop = min(self._end, start + _PLAIN_WINDOW_BYTES)
        while position < stop and len(positions) < most_batches:
            position = self._batches_in_buffer(position, stop, most_batches, positions, headers, bad)
            if position >= stop or len(positions) >= most_batches:
                break
            remaining = self._end - position
            buffer, at = self.header_at(position, min(remaining, HEADER_BYTES))
            if fault_at(buffer, at, remaining):
                break
            batch = parse_batch(buffer, at, position)
            if self._check_crc and self._crc(position, batch.size, batch.magic) != batch.crc:
                bad.append(len(positions))
            headers += batch.header_bytes()
            positions.append(position)
            position = batch.next_position
        return Window(start, position, positions, headers, bad if self._check_crc else None, None)

    def _batches_in_buffer(
        self, position: int, stop: int, most_batches: int, positions: list[int], headers: bytearray, bad: list[int]
    ) -> int:
        """Add the v2 batches that the buffer holds completely; returns where the next entry starts."""
        buffer, first, filled = self._buffer, self._at, self._filled_to - self._at
        if buffer is None or not self._check_crc or position < first:
            return position
        at, stop = position - first, min(stop - first, filled - HEADER_BYTES + 1)
        head_of, room = _LENGTH_MAGIC_CRC.unpack_from, most_batches - len(positions)
        while at < stop and room:
            length, magic, crc = head_of(buffer, at)
            end = at + length + OVERHEAD_BYTES
            if magic != 2 or length < HEADER_BYTES - OVERHEAD_BYTES or end > filled:
                break
            if crc32c(buffer[at + CRC_START : end]) != crc:
                bad.append(len(positions))
            headers += buffer[at : at + HEADER_BYTES]
            positions.append(at + first)
            at = end
            room -= 1
        return at + first

    def header_at(self, position: int, length: int) -> tuple[memoryview, int]:
        """A buffer with `length` bytes from `position`, and where they start in it."""
        if not self._at <= position or position + length > self._filled_to:
            if self._check_crc:
                self._fill(position)
            else:  # only headers are wanted
                self._buffer = memoryview(self._evidence.read(position, length))
                self._at, self._filled_to = position, position + length
        assert self._buffer is not None
        return self._buffer, position - self._at

    def _crc(self, position: int, size: int, magic: int) -> int:
        """The CRC of the entry's protected bytes; refills the buffer as needed."""
        function = crc32c if magic == 2 else zlib.crc32
        at, end = position + (CRC_START if magic == 2 else LEGACY_CRC_START), position + size
        crc = 0
        while at < end:
            if at >= self._filled_to:
                self._fill(at)
            assert self._buffer is not None
            upto = min(end, self._filled_to)
            crc = function(self._buffer[at - self._at : upto - self._at], crc)
            at = upto
        return int(crc)

    def _fill(self, position: int) -> None:
        if self._buffer is None:
            self._buffer = memoryview(bytearray(_PLAIN_BUFFER_BYTES))
        came = self._evidence.read_into(position, self._buffer[: min(_PLAIN_BUFFER_BYTES, self._end - position)])
        self._at, self._filled_to = position, position + came
