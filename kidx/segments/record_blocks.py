"""Every record of a scan's windows, decoded in arrays, and which batches are damaged inside.

Batches of a window are decoded together: first where records start (kidx.segments.record_starts), then all fields
(kidx.segments.fields). Compressed batches are first inflated into a joint buffer. A batch that seems damaged is decoded
again by the plain decoder (kidx.formats.records), which decides. It also decodes older messages.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from kidx.evidence import Evidence
from kidx.formats.batches import HEADER_BYTES, Batch, wrap_long
from kidx.formats.compression import MAX_INFLATED_BYTES, NONE, ZSTD, DamagedPayload, OutputFull, inflate_into
from kidx.formats.messages import decode_message
from kidx.formats.records import LIMIT, SMALLEST_RECORD, Damage, Record, RecordReader
from kidx.segments.fields import Fields, decode_fields
from kidx.segments.record_starts import record_starts
from kidx.segments.varints import SLACK_BYTES, Bytes
from kidx.segments.windows import Window

if TYPE_CHECKING:
    import numpy.typing as npt

    from kidx.segments.varints import Ints

    Bools = npt.NDArray[np.bool_]

_MOST_RECORDS = 200_000  # decoded at once: a record takes about 150 bytes of arrays
_JOINT_BYTES = 4 << 20
_SLICE_RECORDS = 20_000  # in one block of the plain decoder


class RecordBlock:
    """Records of some batches of a window, batch after batch, as int64 arrays of shape (records,).

    `rows` are the batches' rows in the window and `counts` how many records each has here. `key_start` and
    `value_start` are bytes of `buffer`; `key_length` and `value_length` are negative for null. `buffer` is valid until
    the next block is read, the arrays stay. `damage` has damaged batches by row; their records are left out.
    """

    def __init__(
        self,
        window: Window,
        rows: Ints,
        counts: Ints,
        fields: Fields,
        sizes: Ints,
        buffer: memoryview,
        damage: list[tuple[int, Damage]] | None = None,
    ) -> None:
        self.window, self.rows, self.counts, self.buffer = window, rows, counts, buffer
        self.damage = damage or []
        self.offset_delta, self.timestamp_delta = fields.offset_delta, fields.timestamp_delta
        self.key_start, self.key_length = fields.key_start, fields.key_length
        self.value_start, self.value_length = fields.value_start, fields.value_length
        self.header_count, self.size = fields.header_count, sizes

    def __len__(self) -> int:
        return len(self.size)

    @cached_property
    def batch(self) -> Ints:
        """The row of each record's batch in the window."""
        return np.repeat(self.rows, self.counts)

    @cached_property
    def offset(self) -> Ints:
        """Offsets."""
        return np.repeat(self.window.column("base_offset")[self.rows], self.counts) + self.offset_delta

    @cached_property
    def timestamp(self) -> Ints:
        """Timestamps in ms: the batch's largest under LogAppendTime."""
        appended = self.window.log_append_time[self.rows]
        column = self.window.column
        base = np.where(appended, column("max_timestamp")[self.rows], column("base_timestamp")[self.rows])
        delta = np.where(np.repeat(appended, self.counts), 0, self.timestamp_delta) if appended.any() else None
        timestamps: Ints = np.repeat(base, self.counts)
        timestamps += self.timestamp_delta if delta is None else delta
        return timestamps

    def key(self, record: int) -> bytes | None:
        """One record's key."""
        start, length = int(self.key_start[record]), int(self.key_length[record])
        return None if length < 0 else bytes(self.buffer[start : start + length])

    def value(self, record: int) -> bytes | None:
        """One record's value."""
        start, length = int(self.value_start[record]), int(self.value_length[record])
        return None if length < 0 else bytes(self.buffer[start : start + length])


class RecordDecoder:
    """Decodes the records of one log's windows; its buffers are reused."""

    def __init__(self, evidence: Evidence, *, limit_bytes: int = MAX_INFLATED_BYTES) -> None:
        """A batch that would take more than `limit_bytes` is not checked, and reported as damage of kind LIMIT."""
        self._limit = limit_bytes
        self._joint = self._new_joint(_JOINT_BYTES)
        self._evidence = evidence

    def _new_joint(self, size: int) -> Bytes:
        return Bytes(np.zeros(min(size, self._limit) + SLACK_BYTES, np.uint8))

    def blocks(self, window: Window) -> Iterator[RecordBlock]:
        """Every record of a window of a scan with hold=True, in blocks that together cover all of its batches.

        Blocks of uncompressed batches come first, then of compressed or very large ones, then those of the plain
        decoder.
        """
        count = window.column("record_count")
        simple = (window.column("magic") == 2) & (count >= 0) & (count <= _MOST_RECORDS) & (window.codec <= ZSTD)
        simple &= window.size <= self._limit
        in_place = simple & (window.codec == NONE) & (count * SMALLEST_RECORD <= window.size - HEADER_BYTES)
        if window.buffer is None:
            in_place[:] = False
        plain: list[int] = np.flatnonzero(~simple).tolist()
        yield from self._in_place(window, np.flatnonzero(in_place), plain)
        yield from self._in_joint(window, np.flatnonzero(simple & ~in_place).tolist(), plain)
        for row in plain:
            yield from plain_blocks(self._evidence, window, row, self._limit)

    def _in_place(self, window: Window, rows: Ints, odd: list[int]) -> Iterator[RecordBlock]:
        if not len(rows) or window.buffer is None:
            return
        data = Bytes(np.frombuffer(window.buffer, np.uint8))
        starts = window.position[rows] - window.start + HEADER_BYTES
        ends = starts - HEADER_BYTES + window.size[rows]
        for low, high in _groups(window.column("record_count")[rows]):
            yield _decode(window, data, rows[low:high], starts[low:high], ends[low:high], odd)

    def _in_joint(self, window: Window, rows: list[int], odd: list[int]) -> Iterator[RecordBlock]:
        """Inflate batches into the joint buffer until it is full or has enough, decode them, and continue."""
        here: list[int] = []  # rows inflated
        ends = [0]  # of each in the joint buffer, after a zero
        records = 0
        for row in rows:
            batch = window.batch(row)
            if here and records + batch.record_count > _MOST_RECORDS:
                yield self._decode_joint(window, here, ends, odd)
                here, ends, records = [], [0], 0
            size = self._inflate(window, batch, ends[-1])
            if size is None and here:  # it did not fit after the others
                yield self._decode_joint(window, here, ends, odd)
                here, ends, records = [], [0], 0
                size = self._inflate(window, batch, 0)
            if size is None or batch.record_count * SMALLEST_RECORD > size:
                odd.append(row)
                continue
            here.append(row)
            ends.append(ends[-1] + size)
            records += batch.record_count
        if here:
            yield self._decode_joint(window, here, ends, odd)

    def _inflate(self, window: Window, batch: Batch, at: int) -> int | None:
        """Inflate into the joint buffer from byte `at`; returns the number of bytes, None if they do not fit.

        A batch that is alone in the buffer may make it grow, up to the limit.
        """
        start = batch.position - window.start
        payload: bytes | memoryview
        if window.buffer is not None:
            payload = window.buffer[start + HEADER_BYTES : start + batch.size]
        else:
            payload = self._evidence.read(batch.position + HEADER_BYTES, batch.size - HEADER_BYTES)
        while True:
            capacity = len(self._joint.array) - SLACK_BYTES
            try:
                return inflate_into(batch.codec, payload, self._joint.view[at:capacity])
            except OutputFull:
                if at:
                    return None
                too_large = capacity >= self._limit
                self._joint = self._new_joint(_JOINT_BYTES if too_large else capacity * 4)
                if too_large:
                    return None
            except DamagedPayload:
                return None

    def _decode_joint(self, window: Window, rows: list[int], ends: list[int], odd: list[int]) -> RecordBlock:
        bounds = np.array(ends, np.int64)
        return _decode(window, self._joint, np.array(rows, np.int64), bounds[:-1], bounds[1:], odd)


def _groups(counts: Ints) -> list[tuple[int, int]]:
    """Ranges of batches with at most _MOST_RECORDS records together (one batch at least)."""
    total = np.cumsum(counts)
    groups, low = [], 0
    while low < len(counts):
        before = int(total[low - 1]) if low else 0
        high = max(low + 1, int(np.searchsorted(total, before + _MOST_RECORDS, "right")))
        groups.append((low, high))
        low = high
    return groups


def _decode(window: Window, data: Bytes, rows: Ints, starts: Ints, ends: Ints, odd: list[int]) -> RecordBlock:
    """The batches whose records, inflated, are in `data`; rows of suspicious batches are added to `odd`."""
    counts = window.column("record_count")[rows]
    at, unchained = record_starts(data, starts, ends, counts)
    bad = np.zeros(len(rows), np.bool_)
    bad[unchained] = True
    full = np.flatnonzero(counts)
    first = (np.cumsum(counts) - counts)[full]
    ends_of_records = np.empty_like(at)
    ends_of_records[:-1] = at[1:]
    ends_of_records[first + counts[full] - 1] = ends[full]
    fields, wrong = decode_fields(data, at, ends_of_records)
    if len(full):
        _judge(window, rows[full], first, counts[full], fields, wrong)
        bad[full[np.searchsorted(first, np.flatnonzero(wrong), "right") - 1]] = True
    sizes = ends_of_records - at
    if bad.any():
        odd += rows[bad].tolist()
        kept = np.repeat(~bad, counts)
        fields = Fields(*(column[kept] for column in fields))
        rows, counts, sizes = rows[~bad], counts[~bad], sizes[kept]
    return RecordBlock(window, rows, counts, fields, sizes, data.view)


def _judge(window: Window, rows: Ints, first: Ints, counts: Ints, fields: Fields, wrong: Bools) -> None:
    """Mark in `wrong` (one record of a batch suffices) offsets that do not rise or pass the last, and wrong maxima.

    `first` is each batch's first record; no batch is empty.
    """
    deltas = fields.offset_delta
    rising = np.empty(len(deltas), np.bool_)
    rising[1:] = deltas[1:] > deltas[:-1]
    rising[first] = deltas[first] >= 0
    wrong |= ~rising
    past = deltas[first + counts - 1] > window.column("last_offset_delta")[rows]
    base, maximum = window.column("base_timestamp")[rows], window.column("max_timestamp")[rows]
    largest = np.maximum.reduceat(fields.timestamp_delta, first)
    # Java's longs wrap, and so does this sum; a batch where they may have done so is left to the plain decoder.
    untimely = (base + largest != maximum) | ((maximum >= base) != (largest >= 0))
    untimely &= ~window.log_append_time[rows]
    wrong[first] |= past | untimely


def plain_blocks(evidence: Evidence, window: Window, row: int, limit_bytes: int) -> Iterator[RecordBlock]:
    """One batch decoded by the plain decoder: its damage, or its records in blocks of bounded size."""
    batch = window.batch(row)
    if batch.size > limit_bytes:
        why = f"the batch has {batch.size} bytes, more than the limit of {limit_bytes}"
        yield _block_of(window, row, batch, [], Damage(LIMIT, why, limit=True))
        return
    if window.buffer is not None:
        at = batch.position - window.start
        entry: bytes | memoryview = window.buffer[at : at + batch.size]
    else:
        entry = evidence.read(batch.position, batch.size)
    if batch.magic < 2:
        records, damage = decode_message(batch, entry, limit_bytes=limit_bytes)
        yield _block_of(window, row, batch, records if damage is None else [], damage)
        return
    judge = RecordReader(batch, entry[HEADER_BYTES:], limit_bytes=limit_bytes)
    for _ in judge:  # to its end first: a damaged batch's records are left out
        pass
    if judge.damage is not None:
        yield _block_of(window, row, batch, [], judge.damage)
        return
    reader = RecordReader(batch, entry[HEADER_BYTES:], limit_bytes=limit_bytes)
    while records := list(islice(reader, _SLICE_RECORDS)):
        yield _block_of(window, row, batch, records, None)


def _block_of(window: Window, row: int, batch: Batch, records: list[Record], damage: Damage | None) -> RecordBlock:
    buffer = bytearray()
    rows = []
    for record in records:
        key, value = record.key or b"", record.value or b""
        rows.append(
            (
                wrap_long(record.offset - batch.base_offset),
                wrap_long(record.timestamp - batch.base_timestamp),
                len(buffer),
                -1 if record.key is None else len(key),
                len(buffer) + len(key),
                -1 if record.value is None else len(value),
                len(record.headers),
                record.size,
            )
        )
        buffer += key
        buffer += value
    columns = np.array(rows, np.int64).reshape(len(rows), 8).T
    counts = np.array([len(records)], np.int64)
    found = [] if damage is None else [(row, damage)]
    fields = Fields(*columns[:7])
    return RecordBlock(window, np.array([row], np.int64), counts, fields, columns[7], memoryview(buffer), found)
