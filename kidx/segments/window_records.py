"""The records of a scan's windows as Python objects, in the log's order."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from kidx.formats.batches import Batch
from kidx.formats.records import Damage, Record
from kidx.segments.record_blocks import RecordDecoder
from kidx.segments.record_columns import RecordColumns
from kidx.segments.windows import Window

BatchPart = tuple[int, list[Record], Damage | None]  # row of the window, some of its records, its damage


class Content(NamedTuple):
    """A record's content, and whether its batch is a control batch."""

    control: bool
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None


class BatchRecords(NamedTuple):
    """A batch and its records without their headers, and what is wrong with it; of damaged ones those before that."""

    batch: Batch
    records: list[Record]
    damage: Damage | None


def batches_in_order(decoder: RecordDecoder, window: Window) -> Iterator[BatchRecords]:
    """Every batch of a window of a scan with hold=True; of damaged ones the records that the decoder gives."""
    row = 0
    records: list[Record] = []
    for block in decoder.blocks(window):
        found = _records_of(block)
        cuts = [0, *((block.batch[1:] != block.batch[:-1]).nonzero()[0] + 1).tolist(), len(block)] if found else []
        parts: list[BatchPart] = [(int(block.batch[start]), found[start:end], None) for start, end in pairwise(cuts)]
        for upto, more, damage in [*parts, *((at, [], damage) for at, damage in block.damage)]:
            for number in range(row, upto):
                yield BatchRecords(window.batch(number), records, None)
                records = []
            row = upto
            records += more
            if damage is not None:
                yield BatchRecords(window.batch(row), records, damage)
                row, records = row + 1, []
    for number in range(row, len(window)):
        yield BatchRecords(window.batch(number), records, None)
        records = []


def _records_of(block: RecordColumns) -> list[Record]:
    columns = (block.offset.tolist(), block.timestamp.tolist(), block.key.tolist(), block.value.tolist())
    rows = zip(*columns, block.size.tolist(), strict=True)
    return [Record(offset, timestamp, key, value, size=size) for offset, timestamp, key, value, size in rows]


def records_in_order(decoder: RecordDecoder, window: Window, damaged: list[tuple[Batch, Damage]]) -> Iterator[Content]:
    """Every record of a window of a scan with hold=True. A damaged batch is added to `damaged`; of its records, those
    before the damage are yielded if the decoder gives them.
    """
    for block in decoder.blocks(window):
        damaged += [(window.batch(row), damage) for row, damage in block.damage]
        control = window.control[block.batch].tolist()
        columns = (control, block.offset.tolist(), block.timestamp.tolist(), block.key.tolist(), block.value.tolist())
        yield from map(Content._make, zip(*columns, strict=True))
