"""Logs and metadata snapshots as DumpLogSegments prints them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any

from kidx.compat.dump_log_segments import java
from kidx.compat.dump_log_segments.line_forms import TIMESTAMP_TYPES, batch_line, message_line
from kidx.compat.dump_log_segments.log_entries import Entries
from kidx.compat.dump_log_segments.record_line import Contents, record_line
from kidx.evidence import Evidence
from kidx.formats.batches import DELETE_HORIZON_BIT, HEADER_BYTES, MESSAGE_V0, MESSAGE_V1, SMALLEST_ENTRY, Batch
from kidx.formats.checksums import crc_holds
from kidx.formats.compression import CODEC_NAMES, NONE
from kidx.formats.messages import decode_message
from kidx.formats.records import LIMIT, PAYLOAD, Decoded, Record, RecordReader
from kidx.segments.column_reader import LogIndexes
from kidx.segments.scan import Scan, scan
from kidx.segments.walk import Ending
from kidx.text.integer_text import LineForm, Maybe

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from kidx.segments.record_columns import RecordColumns
    from kidx.segments.windows import Window
    from kidx.text.spans import Spans

_RECORDS_AT_ONCE = 4096
_TAIL_COLUMNS = 8  # the columns that the lines of batches and of messages have in common

LineOf = Callable[[Batch, Record, "tuple[int, int] | None"], bytes]
Seen = Callable[["Sequence[int] | npt.NDArray[np.int64]"], None]  # takes records' offsets


@cache
def _forms() -> tuple[LineForm, LineForm]:
    return message_line(CODEC_NAMES), batch_line(CODEC_NAMES)


class LogLines:
    """The lines of a log's batches up to byte `end`; after they have been read, `ending` says how the batches ended."""

    def __init__(self, evidence: Evidence, end: int) -> None:
        self.evidence, self.end = evidence, end
        self.ending: Ending | None = None
        self.damage: list[str] = []  # batches whose records could not all be read, and where Kafka would give up

    def batches(self) -> Iterator[bytes | memoryview]:
        """A line a batch."""
        windows = self._scan()
        for window in windows:
            yield from _window_lines(window)
        yield from (line for _, _, line in self._one_by_one(windows.position))  # what Kafka alone takes for a batch

    def records(self, metadata: bool, contents: Contents | None, seen: Seen) -> Iterator[bytes | memoryview]:
        """A line a batch, and after it one for each of its records: see record_line. `seen` takes records' offsets."""
        from kidx.compat.dump_log_segments.record_lines import RecordLines
        from kidx.segments.record_blocks import RecordDecoder

        def line_of(batch: Batch, record: Record, sizes: tuple[int, int] | None) -> bytes:
            return record_line(batch, record, metadata, contents, sizes)

        form, decoder = RecordLines(metadata, contents), RecordDecoder(self.evidence)
        windows = self._scan(hold=True)
        for window in windows:
            if (window.column("magic") != 2).any():
                yield from self._in_turn(window, 0, len(window), line_of, seen)
                continue
            lines = _forms()[True].spans(_line_columns(window))
            done = 0  # rows of the window
            for block in decoder.blocks(window):
                if block.damage:
                    upto = block.damage[-1][0] + 1
                    yield from self._in_turn(window, done, upto, line_of, seen)
                    done = upto
                    continue
                seen(block.offset)
                yield from form.lines(block, _batch_lines_before(block, lines, done))
                done = int(block.batch[-1]) + 1
            if done < len(lines):
                yield lines.data[lines.start[done] :].data
        for batch, entry, line in self._one_by_one(windows.position):
            yield from self._with_records(batch, entry, line, line_of, seen)

    def _scan(self, *, hold: bool = False) -> Scan:
        indexes = LogIndexes.next_to(self.evidence.path)
        return scan(self.evidence, indexes.positions if indexes else None, end=self.end, hold=hold)

    def _in_turn(self, window: Window, start: int, end: int, line_of: LineOf, seen: Seen) -> Iterator[bytes]:
        """Batches of a window with their records, one record after another: of old messages, and where damage is."""
        for row in range(start, end):
            batch = window.batch(row)
            entry = self.evidence.read(batch.position, batch.size)
            line = _forms()[batch.magic == 2].plain([_batch_row(batch, batch.magic, row not in (window.bad_crc or ()))])
            yield from self._with_records(batch, entry, line, line_of, seen)

    def _with_records(self, batch: Batch, entry: bytes, line: bytes, line_of: LineOf, seen: Seen) -> Iterator[bytes]:
        if batch.magic == 2:
            yield line
            yield from self._records_of(batch, entry, line_of, seen)
            return
        out = [line]
        decoded = decode_message(batch, entry, lenient=True)
        sizes = _claimed_sizes(batch, entry)
        records = decoded.records
        if sizes and not records:
            crc_ok = crc_holds(batch, entry)
            records = [Record(batch.base_offset, batch.max_timestamp, None, None, crc=batch.crc, crc_ok=crc_ok)]
        seen([record.offset for record in records])
        out += [line_of(batch, record, sizes) for record in records]
        yield b"".join(out)
        if decoded.damage and _some_are_lost(decoded):
            self.damage.append(f"the batch at byte {batch.position}: {decoded.damage.why}")

    def _records_of(self, batch: Batch, entry: bytes, line_of: LineOf, seen: Seen) -> Iterator[bytes]:
        """The lines of a v2 batch's records, which may be millions, some thousand at once."""
        reader, count = RecordReader(batch, entry[HEADER_BYTES:], lenient=True), 0
        while records := list(islice(reader, _RECORDS_AT_ONCE)):
            count += len(records)
            seen([record.offset for record in records])
            yield b"".join([line_of(batch, record, None) for record in records])
        if reader.damage and count < batch.record_count:  # the tool ignores other damage
            self.damage.append(f"the batch at byte {batch.position}: {reader.damage.why}")

    def _one_by_one(self, start: int = 0) -> Iterator[tuple[Batch, bytes, bytes]]:
        entries = Entries(self.evidence, start, self.end)
        for batch, magic in entries:
            entry = self.evidence.read(batch.position, batch.size)
            crc_ok = batch.size >= SMALLEST_ENTRY[2 if batch.magic == 2 else 0] and crc_holds(batch, entry)
            yield batch, entry, _forms()[batch.magic == 2].plain([_batch_row(batch, magic, crc_ok)])
        self.ending = entries.ending
        if entries.gives_up and self.ending is not None:
            self.damage.append(f"the batches end at byte {self.ending.position}: {self.ending.why}")


def _some_are_lost(decoded: Decoded) -> bool:
    """Whether damage kept messages from being printed; the tool ignores other damage."""
    damage = decoded.damage
    return damage is not None and (damage.kind in (PAYLOAD, LIMIT) or (damage.record or 0) >= len(decoded.records))


def _claimed_sizes(batch: Batch, entry: bytes) -> tuple[int, int] | None:
    """The lengths that an uncompressed old message claims for key and value, which the tool prints as they are."""
    if batch.magic == 2 or batch.codec != NONE:
        return None
    at = (MESSAGE_V0, MESSAGE_V1)[batch.magic].size
    key_size = int.from_bytes(entry[at : at + 4], "big", signed=True)
    value = entry[at + 4 + max(0, key_size) :][:4]
    return (key_size, int.from_bytes(value, "big", signed=True)) if len(value) == 4 else None


def log_heading(base_offset: int) -> bytes:
    """The line before a log's batches."""
    return b"Log starting offset: %d\n" % base_offset


def snapshot_heading(path: str) -> bytes:
    """The line before a metadata snapshot's batches; empty where its name lacks offset and epoch."""
    name = os.path.basename(path)
    if name == "bootstrap.checkpoint":
        return b"KRaft bootstrap snapshot\n"
    offset, _, epoch = name.partition(".")[0].partition("-")
    if not (offset.isdigit() and epoch.isdigit()):
        return b""
    return b"Snapshot end offset: %d, epoch: %d\n" % (int(offset), int(epoch))


def _batch_row(batch: Batch, magic: int, crc_ok: bool) -> Sequence[int | None]:
    kind = TIMESTAMP_TYPES.index(batch.timestamp_type)
    tail = (batch.position, kind, batch.max_timestamp, batch.size, magic, batch.codec, batch.crc, int(crc_ok))
    if batch.magic != 2:
        return (batch.base_offset, *tail)
    return (
        batch.base_offset,
        batch.last_offset,
        batch.record_count,
        batch.base_sequence,
        java.sequence_after(batch.base_sequence, batch.last_offset_delta),
        batch.producer_id,
        batch.producer_epoch,
        batch.leader_epoch,
        int(batch.transactional),
        int(batch.control),
        batch.delete_horizon,
        *tail,
    )


def _window_lines(window: Window) -> Iterator[bytes | memoryview]:
    """A window's lines: runs of v2 batches and of older messages, in turn."""
    import numpy as np

    columns = _line_columns(window)
    new = window.column("magic") == 2
    for start, end in pairwise([0, *(np.flatnonzero(new[1:] != new[:-1]) + 1).tolist(), len(window)]):
        part = slice(start, end)
        wanted = columns if new[start] else [columns[0], *columns[-_TAIL_COLUMNS:]]
        yield from _forms()[bool(new[start])].lines([c.part(part) if isinstance(c, Maybe) else c[part] for c in wanted])


def _batch_lines_before(block: RecordColumns, lines: Spans, done: int) -> Spans:
    """For each record the lines of the batches from row `done` on that come before it and after the record before it.

    `lines` are those of the window's batches, packed.
    """
    import numpy as np

    from kidx.text.spans import Spans

    batch = block.batch
    before = np.empty_like(batch)  # the last batch whose line comes before that
    before[0], before[1:] = done - 1, batch[:-1]
    ends = np.concatenate(([0], lines.start + lines.length))
    return Spans(lines.data, ends[before + 1], np.maximum(ends[batch + 1] - ends[before + 1], 0))


def _line_columns(window: Window) -> list[Any]:
    """The columns of batch_line; the first and the last ones are those of message_line."""
    import numpy as np

    magic = window.column("magic")
    assert window.crc_ok is not None
    times = np.where(magic == 0, 2, window.log_append_time.astype(np.int64))
    tail = [window.position, times, window.column("max_timestamp"), window.size, magic, window.codec,
            window.column("crc"), window.crc_ok.astype(np.int64)]  # fmt: skip
    names = ("record_count", "base_sequence")
    horizon = Maybe(window.column("base_timestamp"), (window.column("attributes") & DELETE_HORIZON_BIT) != 0)
    head: list[Any] = [
        window.column("base_offset"),
        window.last_offset,
        *(window.column(name) for name in names),
        _last_sequences(window),
        *(window.column(name) for name in ("producer_id", "producer_epoch", "leader_epoch")),
        window.transactional.astype(np.int64),
        window.control.astype(np.int64),
        horizon,
    ]
    return [*head, *tail]


def _last_sequences(window: Window) -> Any:
    """java.sequence_after of every batch."""
    import numpy as np

    base, delta = window.column("base_sequence"), window.column("last_offset_delta")
    wraps = base > (java.MAX_INT - delta).astype(np.int32)
    last = np.where(wraps, delta - (java.MAX_INT - base) - 1, base + delta).astype(np.int32).astype(np.int64)
    return np.where(base == -1, -1, last)
