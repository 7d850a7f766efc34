"""The records of a scan's windows as Python objects, in the log's order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kidx.evidence import Evidence
from kidx.formats.batches import Batch
from kidx.formats.records import Damage
from kidx.segments.record_blocks import RecordBlock, RecordDecoder
from kidx.segments.records import read_records
from kidx.segments.windows import Window

_Row = tuple[int, int, int, bytes | None, bytes | None]  # its batch's row in the window, offset, timestamp, key, value


class Content(NamedTuple):
    """A record's content, and whether its batch is a control batch."""

    control: bool
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None


def records_in_order(
    evidence: Evidence, decoder: RecordDecoder, window: Window, damaged: list[tuple[Batch, Damage]]
) -> Iterator[Content]:
    """Every record of a window of a scan with hold=True. A damaged batch is added to `damaged`; of its records, those
    before the damage are yielded.
    """
    rows: list[_Row] = []
    blocks = 0
    for block in decoder.blocks(window):
        rows += _rows_of(block)
        blocks += 1
        for row, _ in block.damage:
            batch = window.batch(row)
            decoded = read_records(evidence, batch)
            rows += [(row, r.offset, r.timestamp, r.key, r.value) for r in decoded.records]
            if decoded.damage is not None:
                damaged.append((batch, decoded.damage))
    if blocks > 1:
        rows.sort(key=_row_of)  # stable: a batch's records stay in order
    control = window.control.tolist()
    for row, offset, timestamp, key, value in rows:
        yield Content(control[row], offset, timestamp, key, value)


def _row_of(row: _Row) -> int:
    return row[0]


def _rows_of(block: RecordBlock) -> Iterator[_Row]:
    data = bytes(block.buffer)
    columns = (block.batch, block.offset, block.timestamp)
    spans = (block.key_start, block.key_length, block.value_start, block.value_length)
    lists = [column.tolist() for column in (*columns, *spans)]
    for row, offset, timestamp, key, key_length, value, value_length in zip(*lists, strict=True):
        yield (
            row,
            offset,
            timestamp,
            data[key : key + key_length] if key_length >= 0 else None,
            data[value : value + value_length] if value_length >= 0 else None,
        )
