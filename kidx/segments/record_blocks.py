"""Every record of a scan's windows, decoded in arrays, and which batches are damaged inside.

Batches of a window are decoded together: first where records start (kidx.segments.record_starts), then all fields
(kidx.segments.fields). Compressed batches are first inflated into a joint buffer. A batch that seems damaged is decoded
again by the plain decoder (kidx.formats.records), which decides. It also decodes older messages.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice, pairwise
from typing import TYPE_CHECKING

import numpy as np

from kidx.evidence import Evidence
from kidx.formats.batches import HEADER_BYTES, Batch, wrap_long
from kidx.formats.compression import (
    MAX_INFLATED_BYTES,
    NONE,
    ZSTD,
    BudgetSpent,
    DamagedPayload,
    OutputFull,
    inflate_into,
)
from kidx.formats.messages import decode_message
from kidx.formats.records import LIMIT, SMALLEST_RECORD, Damage, Record, RecordReader
from kidx.segments.fields import Fields, decode_fields
from kidx.segments.record_columns import RecordColumns
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


class RecordDecoder:
    """Decodes the records of one log's windows; its buffers are reused."""

    def __init__(self, evidence: Evidence, *, limit_bytes: int = MAX_INFLATED_BYTES, partly: bool = False) -> None:
        """A batch that would take more than `limit_bytes` is not decoded, and reported as damage of kind LIMIT.

        `partly`: of damaged batches, the records before the damage are given.
        """
        self._limit, self._partly = limit_bytes, partly
        self._joint = self._new_joint(_JOINT_BYTES)
        self._evidence = evidence

    def _new_joint(self, size: int) -> Bytes:
        return Bytes(np.zeros(min(size, self._limit) + SLACK_BYTES, np.uint8))

    def blocks(self, window: Window, rows: Bools | None = None) -> Iterator[RecordColumns]:
        """Every record of a window of a scan with hold=True, in the log's order; `rows` masks the batches wanted.

        A damaged batch is in the `damage` of a block that has no records; before it, with `partly`, come its records
        before the damage.
        """
        count = window.column("record_count")
        simple = (window.column("magic") == 2) & (count >= 0) & (count <= _MOST_RECORDS) & (window.codec <= ZSTD)
        simple &= window.size <= self._limit
        inside = (window.codec != NONE) | (count * SMALLEST_RECORD <= window.size - HEADER_BYTES)
        simple &= inside
        wanted = np.arange(len(window)) if rows is None else np.flatnonzero(rows)
        simple = simple[wanted]
        in_place = window.buffer is not None and not (simple & (window.codec[wanted] != NONE)).any()
        for low, high in _runs(simple):
            part = wanted[low:high]
            if not simple[low]:
                yield from self._plainly(window, part.tolist())
            elif in_place:
                yield from self._in_place(window, part)
            else:
                yield from self._in_joint(window, part.tolist())

    def _in_place(self, window: Window, rows: Ints) -> Iterator[RecordColumns]:
        assert window.buffer is not None
        data = Bytes(np.frombuffer(window.buffer, np.uint8))
        starts = window.position[rows] - window.start + HEADER_BYTES
        ends = starts - HEADER_BYTES + window.size[rows]
        for low, high in _groups(window.column("record_count")[rows]):
            yield from self._decode(window, data, rows[low:high], starts[low:high], ends[low:high])

    def _in_joint(self, window: Window, rows: list[int]) -> Iterator[RecordColumns]:
        """Inflate batches into the joint buffer until it is full or has enough, decode them, and continue."""
        here: list[int] = []  # rows inflated
        ends = [0]  # of each in the joint buffer, after a zero
        records = 0
        for row in rows:
            batch = window.batch(row)
            size = None
            if records + batch.record_count <= _MOST_RECORDS:
                size = self._inflate(window, batch, ends[-1])
            if size is None and here:  # it did not fit after the others
                yield from self._decode_joint(window, here, ends)
                here, ends, records = [], [0], 0
                size = self._inflate(window, batch, 0)
            if size is None or batch.record_count * SMALLEST_RECORD > size:
                if here:
                    yield from self._decode_joint(window, here, ends)
                here, ends, records = [], [0], 0
                yield from self._plainly(window, [row])
                continue
            here.append(row)
            ends.append(ends[-1] + size)
            records += batch.record_count
        if here:
            yield from self._decode_joint(window, here, ends)

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
            except (DamagedPayload, BudgetSpent):
                return None
            except OutputFull:
                if at:
                    return None
                too_large = capacity >= self._limit
                self._joint = self._new_joint(_JOINT_BYTES if too_large else capacity * 4)
                if too_large:
                    return None

    def _decode_joint(self, window: Window, rows: list[int], ends: list[int]) -> Iterator[RecordColumns]:
        bounds = np.array(ends, np.int64)
        return self._decode(window, self._joint, np.array(rows, np.int64), bounds[:-1], bounds[1:])

    def _decode(self, window: Window, data: Bytes, rows: Ints, starts: Ints, ends: Ints) -> Iterator[RecordColumns]:
        """The batches whose records, inflated, are in `data`; suspicious ones by the plain decoder."""
        columns, bad = _decode(window, data, rows, starts, ends)
        done = 0
        for row in rows[bad].tolist():  # in their places between the others
            upto = int(columns.batch.searchsorted(row))
            if done < upto:
                yield columns.where(slice(done, upto))
            yield from self._plainly(window, [row])
            done = int(columns.batch.searchsorted(row, "right"))
        if done < len(columns):
            yield columns.where(slice(done, None)) if done else columns

    def _plainly(self, window: Window, rows: list[int]) -> Iterator[RecordColumns]:
        """Batches decoded by the plain decoder, in blocks of bounded size."""
        block = _PlainBlock(window)
        for row in rows:
            batch = window.batch(row)
            for records, damage in self._decoded(window, batch):
                block.add(row, batch, records)
                if block and (damage is not None or block.full):
                    yield block.columns()
                    block = _PlainBlock(window)
                if damage is not None:
                    yield _PlainBlock(window).columns([(row, damage)])
        if block:
            yield block.columns()

    def _decoded(self, window: Window, batch: Batch) -> Iterator[tuple[list[Record], Damage | None]]:
        """A batch's records in slices; then, or without any, its damage."""
        if batch.size > self._limit:
            why = f"the batch has {batch.size} bytes, more than the limit of {self._limit}"
            yield [], Damage(LIMIT, why, limit=True)
            return
        entry: bytes | memoryview
        if window.buffer is not None:
            at = batch.position - window.start
            entry = window.buffer[at : at + batch.size]
        else:
            entry = self._evidence.read(batch.position, batch.size)
        if batch.magic < 2:
            records, damage = decode_message(batch, entry, limit_bytes=self._limit)
            yield records if damage is None or self._partly else [], damage
            return
        if not self._partly:
            judge = RecordReader(batch, entry[HEADER_BYTES:], limit_bytes=self._limit)
            for _ in judge:  # to its end first: a damaged batch's records are left out
                pass
            if judge.damage is not None:
                yield [], judge.damage
                return
        reader = RecordReader(batch, entry[HEADER_BYTES:], limit_bytes=self._limit)
        while records := list(islice(reader, _SLICE_RECORDS)):
            yield records, None
        yield [], reader.damage


class _PlainBlock:
    """Records of the plain decoder, to become columns."""

    def __init__(self, window: Window) -> None:
        self._window = window
        self._rows: list[tuple[int, ...]] = []
        self._buffer = bytearray()

    def __bool__(self) -> bool:
        return bool(self._rows)

    @property
    def full(self) -> bool:
        """Whether it has as much as a block should have."""
        return len(self._rows) >= _SLICE_RECORDS or len(self._buffer) >= _JOINT_BYTES

    def add(self, row: int, batch: Batch, records: list[Record]) -> None:
        """Records of the batch at `row` of the window."""
        buffer = self._buffer
        for record in records:
            starts = []
            for part in (record.key, record.value):
                starts += [len(buffer), -1 if part is None else len(part)]
                buffer += part or b""
            self._rows.append(
                (
                    wrap_long(record.offset - batch.base_offset),
                    wrap_long(record.timestamp - batch.base_timestamp),
                    *starts,
                    len(record.headers),
                    len(buffer),
                    record.size,
                    row,
                )
            )
            for part in chain.from_iterable(record.headers):
                buffer += _varint(-1 if part is None else len(part))
                buffer += part or b""

    def columns(self, damage: list[tuple[int, Damage]] | None = None) -> RecordColumns:
        """The records added."""
        self._buffer += bytes(SLACK_BYTES)
        columns = np.array(self._rows, np.int64).reshape(len(self._rows), len(Fields._fields) + 2).T
        data = Bytes(np.frombuffer(self._buffer, np.uint8))
        return RecordColumns(self._window, columns[-1], Fields(*columns[:-2]), columns[-2], data, damage)


def _varint(value: int) -> bytes:
    """A number as a zigzag varint, as headers have it."""
    raw, out = value << 1 ^ value >> 63, bytearray()
    while raw >= 0x80:
        out.append(raw & 0x7F | 0x80)
        raw >>= 7
    return bytes((*out, raw))


def _runs(marks: Bools) -> Iterator[tuple[int, int]]:
    """The ranges of rows with the same mark."""
    cuts = [0, *(np.flatnonzero(marks[1:] != marks[:-1]) + 1).tolist(), len(marks)]
    return pairwise(cuts) if len(marks) else iter(())


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


def _decode(window: Window, data: Bytes, rows: Ints, starts: Ints, ends: Ints) -> tuple[RecordColumns, Bools]:
    """The records of batches, and which batches are suspicious, shape (len(rows),)."""
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
    return RecordColumns(window, np.repeat(rows, counts), fields, ends_of_records - at, data), bad


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
