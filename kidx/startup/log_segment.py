"""A segment at a start: where a log ends, and what recovery keeps of it. Source: LogSegment, FileLogInputStream.

Kafka takes for a batch what has a size of 14 bytes at least and fits into the file; any magic above 1 is read as 2.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kidx.evidence import Evidence, open_evidence
from kidx.formats.batches import (
    CRC_START,
    HEADER_BYTES,
    LEGACY_CRC_START,
    OVERHEAD_BYTES,
    PREFIX_BYTES,
    SMALLEST_ENTRY,
)
from kidx.formats.checksums import crc32c
from kidx.formats.indexes import MAX_RELATIVE_OFFSET, OFFSET_INDEX
from kidx.lookup.search import warm_search
from kidx.segments.resume import resume
from kidx.segments.scan import scan
from kidx.startup.behaviours import BEHAVIOURS
from kidx.startup.outcome import BrokerRefuses

if TYPE_CHECKING:
    from kidx.segments.windows import Ints

_LEAST_SIZE = 14  # LegacyRecord.RECORD_OVERHEAD_V0
_CHUNK_BYTES = 64 << 10
_PIECE_BYTES = 1 << 20


class Bytes(NamedTuple):
    """Bytes `start` to `end` of a file (None: its end): a log as it is, cut, or split from another. No path: empty."""

    path: str | None
    start: int = 0
    end: int | None = None


class Header(NamedTuple):
    """What FileLogInputStream reads of a batch. `records` is its count, 1 for a v0 or v1 message."""

    position: int
    size: int
    base_offset: int
    last_offset: int
    magic: int
    records: int


class Recovery(NamedTuple):
    """A recovered segment: its bytes, those kept, and the offset after the last batch kept.

    `overflow` is set where an offset does not fit the base, `offsets_go_back` where an index entry is refused.
    """

    size: int
    valid_bytes: int
    end_offset: int
    overflow: bool = False
    offsets_go_back: bool = False


class ValidRun(NamedTuple):
    """Neighbouring valid batches, int64, shape (n,), n >= 1; `timestamp` is the largest of each. They end at `end`."""

    position: Ints
    last_offset: Ints
    timestamp: Ints
    end: int


class OpenLog:
    """A log's bytes, opened. A context manager."""

    def __init__(self, source: Bytes) -> None:
        self.path = source.path or ""
        self._evidence: Evidence | None = open_evidence(source.path) if source.path is not None else None
        whole = self._evidence.size if self._evidence else 0
        self.start = source.start
        self.size = (whole if source.end is None else min(source.end, whole)) - source.start

    def __enter__(self) -> OpenLog:
        return self

    def __exit__(self, *_: object) -> None:
        if self._evidence is not None:
            self._evidence.close()

    def read(self, position: int, length: int) -> bytes:
        """Up to `length` bytes from a position of the log."""
        length = min(length, self.size - position)
        return self._evidence.read(self.start + position, length) if self._evidence is not None and length > 0 else b""

    def headers(self, position: int = 0, name: str = "") -> Iterator[Header]:
        """FileLogInputStream from a position on; ends at the first batch that does not fit.

        Raises BrokerRefuses where Kafka throws CorruptRecordException; `name` is the file's name in its message.
        """
        chunk, chunk_at = b"", 0
        while position < self.size - PREFIX_BYTES:
            if position - chunk_at + HEADER_BYTES > len(chunk) or position < chunk_at:
                chunk, chunk_at = self.read(position, _CHUNK_BYTES), position
            at = position - chunk_at
            base = int.from_bytes(chunk[at : at + 8], signed=True)
            length = int.from_bytes(chunk[at + 8 : at + 12], signed=True)
            if length < _LEAST_SIZE:
                raise BrokerRefuses(
                    BEHAVIOURS["log-end-unreadable"], size_error(length, name or self.path), name or self.path
                )
            if position > self.size - OVERHEAD_BYTES - length:
                return
            magic = int.from_bytes(chunk[at + 16 : at + 17], signed=True)
            last, records = base, 1
            if magic >= 2:
                last = base + int.from_bytes(chunk[at + 23 : at + 27], signed=True)
                records = max(0, int.from_bytes(chunk[at + 57 : at + 61], signed=True))
            yield Header(position, length + OVERHEAD_BYTES, base, last, magic, records)
            position += length + OVERHEAD_BYTES

    def crc_holds(self, header: Header) -> bool:
        """DefaultRecordBatch.ensureValid, LegacyRecord.ensureValid."""
        if header.size < SMALLEST_ENTRY[2] and header.magic >= 2:
            return False
        start, at = (CRC_START, 17) if header.magic >= 2 else (LEGACY_CRC_START, 12)
        stored = int.from_bytes(self.read(header.position + at, 4))
        function, crc = (crc32c if header.magic >= 2 else zlib.crc32), 0
        position, end = header.position + start, header.position + header.size
        while position < end:
            piece = self.read(position, min(_PIECE_BYTES, end - position))
            crc = function(piece, crc)
            position += len(piece)
        return crc == stored

    def valid_runs(self) -> Iterator[ValidRun]:
        """Batches with a right CRC from the start on, to the first other one, window by window."""
        position = 0
        while self._evidence is not None and position < self.size:
            scanned = scan(self._evidence, start=self.start + position, end=self.start + self.size)
            for window in scanned:
                good = min(window.bad_crc) if window.bad_crc else len(window)
                if good:
                    end = int(window.position[good - 1] + window.size[good - 1]) - self.start
                    timestamps = window.column("max_timestamp")[:good]
                    yield ValidRun(window.position[:good] - self.start, window.last_offset[:good], timestamps, end)
                if good < len(window):
                    return
            position = scanned.position - self.start
            header = self._odd_batch(position)  # of a magic that kidx does not take for a batch, and Kafka does
            if header is None:
                return
            timestamp = int.from_bytes(self.read(position + 35, 8), signed=True) if header.magic >= 2 else -1
            at, last, largest = (np.array([n], np.int64) for n in (position, header.last_offset, timestamp))
            position += header.size
            yield ValidRun(at, last, largest, position)

    def next_sound_batch(self, position: int) -> int | None:
        """Where batches go on behind a place where they broke off, None where they do not."""
        if self._evidence is None:
            return None
        found = resume(self._evidence, self.start + position)
        if found is None or found - self.start >= self.size or found - self.start <= position:
            return None
        return found - self.start

    def _odd_batch(self, position: int) -> Header | None:
        try:
            header = next(self.headers(position), None)
        except BrokerRefuses:
            return None
        return header if header is not None and self.crc_holds(header) else None


def size_error(size: int, file: str) -> str:
    """What Kafka says of a size that no batch has."""
    return (
        f"org.apache.kafka.common.errors.CorruptRecordException: Found record size {size} smaller than minimum record "
        f"overhead ({_LEAST_SIZE}) in file {file}."
    )


def recover(source: Bytes, base_offset: int, interval_bytes: int) -> Recovery:
    """LogSegment.recover: read every batch, stop at the first that is not valid.

    An index entry can only be refused where offsets go back, so only then the entries are worked out.
    """
    with OpenLog(source) as log:
        valid, end = 0, base_offset
        for run in log.valid_runs():
            relative = run.last_offset - base_offset
            if ((relative < 0) | (relative > MAX_RELATIVE_OFFSET)).any():
                return _recover_by_batch(log, base_offset, interval_bytes)
            if int(run.last_offset[0]) < end or (run.last_offset[1:] <= run.last_offset[:-1]).any():
                return _recover_by_batch(log, base_offset, interval_bytes)
            valid, end = run.end, int(run.last_offset[-1]) + 1
        return Recovery(log.size, valid, end)


def _recover_by_batch(log: OpenLog, base_offset: int, interval_bytes: int) -> Recovery:
    index = _RebuiltIndex(interval_bytes)
    valid, end = 0, base_offset
    for run in log.valid_runs():
        ends = [*run.position[1:].tolist(), run.end]
        columns = (run.position.tolist(), run.last_offset.tolist(), run.timestamp.tolist(), ends)
        for position, last, timestamp, after in zip(*columns, strict=True):
            if not 0 <= last - base_offset <= MAX_RELATIVE_OFFSET:
                return Recovery(log.size, valid, end, overflow=True)
            if not index.take(position, last, timestamp):
                return Recovery(log.size, valid, end, offsets_go_back=True)
            valid, end = after, last + 1
    return Recovery(log.size, valid, end, offsets_go_back=not index.close())


class _RebuiltIndex:
    """The entries that recovery appends to offset and time index, as far as they can be refused for going back."""

    def __init__(self, interval_bytes: int) -> None:
        self._interval = interval_bytes
        self._last_indexed = 0
        self._last_offset: int | None = None
        self._max = (-1, -1)  # timestamp, offset
        self._last_time: tuple[int, int] | None = None

    def take(self, position: int, last_offset: int, timestamp: int) -> bool:
        """One batch; False where OffsetIndex.append or TimeIndex.maybeAppend throw InvalidOffsetException."""
        if timestamp > self._max[0]:
            self._max = (timestamp, last_offset)
        if position - self._last_indexed > self._interval:
            if self._last_offset is not None and last_offset <= self._last_offset:
                return False
            self._last_offset, self._last_indexed = last_offset, position
            return self._add_time()
        return True

    def close(self) -> bool:
        """The last time entry."""
        return self._add_time()

    def _add_time(self) -> bool:
        if self._last_time is not None and self._max[1] < self._last_time[1]:
            return False
        if self._last_time is None or self._max[0] > self._last_time[0]:
            self._last_time = self._max
        return True


class Index:
    """An offset index as a broker maps it: every whole entry counts, zeros included. Opened for a moment only."""

    def __init__(self, path: str | None, base_offset: int) -> None:
        self.base_offset = base_offset
        self._data = b""
        self._evidence = open_evidence(path) if path is not None else None
        self.entries = self._evidence.size // OFFSET_INDEX.size if self._evidence else 0

    def __enter__(self) -> Index:
        return self

    def __exit__(self, *_: object) -> None:
        if self._evidence is not None:
            self._evidence.close()

    def entry(self, slot: int) -> tuple[int, int]:
        """Offset and position."""
        assert self._evidence is not None
        relative, position = OFFSET_INDEX.struct.unpack(
            self._evidence.read(slot * OFFSET_INDEX.size, OFFSET_INDEX.size)
        )
        return self.base_offset + relative, position

    def last_offset(self) -> int:
        """OffsetIndex.lastOffset: of the last slot, the base offset where there is none."""
        return self.entry(self.entries - 1)[0] if self.entries else self.base_offset

    def position_for(self, offset: int) -> int:
        """OffsetIndex.lookup's position."""
        slot = warm_search(lambda s: self.entry(s)[0], self.entries, OFFSET_INDEX.warm_entries, offset).lower
        return self.entry(slot)[1] if slot >= 0 else 0


class LogEnd(NamedTuple):
    """What LogSegment.readNextOffset answers, and from which byte it read."""

    offset: int
    position: int | None
    torn_bytes: int


def read_next_offset(source: Bytes, index_path: str | None, base_offset: int, name: str) -> LogEnd:
    """LogSegment.readNextOffset: the end after the last batch that is read from the index's last entry on.

    `position` is None where the entry leads nowhere: the end is then the base offset. Raises BrokerRefuses.
    """
    with Index(index_path, base_offset) as index, OpenLog(source) as log:
        target = index.last_offset()
        start = index.position_for(target)
        if start < 0:
            start = 0
        found, end, after = None, base_offset, 0
        for header in log.headers(start, name):
            if found is None and header.last_offset >= target:
                found = header.position
            end, after = header.last_offset + 1, header.position + header.size
        if found is None:
            return LogEnd(base_offset, None, 0)
        return LogEnd(end, found, log.size - after)


def translate(source: Bytes, index_path: str | None, base_offset: int, target: int) -> int | None:
    """LogSegment.translateOffset: the position of the first batch that reaches an offset."""
    with Index(index_path, base_offset) as index, OpenLog(source) as log:
        for header in log.headers(max(0, index.position_for(target))):
            if header.last_offset >= target:
                return header.position
    return None


def records_from(source: Bytes, position: int = 0) -> int | None:
    """Records in the batches from a position on, those behind damage too; None where what is left does not say."""
    count, unknown = 0, False
    with OpenLog(source) as log:
        while position < log.size:
            try:
                for header in log.headers(position):
                    count, position = count + header.records, header.position + header.size
            except BrokerRefuses:
                pass
            if position >= log.size:
                break
            found = log.next_sound_batch(position)
            torn = log.read(position, HEADER_BYTES)
            if len(torn) == HEADER_BYTES and torn[16] == 2:
                count += min(MAX_RELATIVE_OFFSET, max(0, int.from_bytes(torn[57:61], signed=True)))
            elif len(torn) < OVERHEAD_BYTES or torn.strip(b"\0"):
                unknown = True
            if found is None:
                break
            position = found
    return None if unknown and not count else count
