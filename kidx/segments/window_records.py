"""The records of a scan's windows as Python objects, in the log's order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kidx.formats.batches import Batch
from kidx.formats.records import Damage
from kidx.segments.record_blocks import RecordDecoder
from kidx.segments.windows import Window


class Content(NamedTuple):
    """A record's content, and whether its batch is a control batch."""

    control: bool
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None


def records_in_order(decoder: RecordDecoder, window: Window, damaged: list[tuple[Batch, Damage]]) -> Iterator[Content]:
    """Every record of a window of a scan with hold=True. A damaged batch is added to `damaged`; of its records, those
    before the damage are yielded if the decoder gives them.
    """
    for block in decoder.blocks(window):
        damaged += [(window.batch(row), damage) for row, damage in block.damage]
        control = window.control[block.batch].tolist()
        columns = (control, block.offset.tolist(), block.timestamp.tolist(), block.key.tolist(), block.value.tolist())
        yield from map(Content._make, zip(*columns, strict=True))
