"""A segment's batches and records as the cleaner reads them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from kidx.errors import LimitExceeded, WrongFormat
from kidx.formats.batches import Batch
from kidx.formats.control import control_type
from kidx.formats.records import Damage, Record
from kidx.logdir.names import LOG, TRANSACTION
from kidx.logdir.tree import Segment
from kidx.lookup.aborted import AbortedTransaction, collect_aborted, read_transactions
from kidx.lookup.partition import PartitionReader
from kidx.segments.walk import END

if TYPE_CHECKING:
    from kidx.segments.record_blocks import RecordDecoder
    from kidx.segments.record_columns import RecordColumns
    from kidx.segments.windows import Window


class ReadBatch(NamedTuple):
    """A batch with its records; `marker` is a control batch's type, None if it is empty or not a control batch."""

    batch: Batch
    records: list[Record]
    marker: int | None


def read_batches(segment: Segment) -> Iterator[ReadBatch]:
    """Every batch of a segment, decoded. Raises WrongFormat where the log breaks off: the cleaner would fail there."""
    from kidx.segments.window_records import batches_in_order

    for decoder, window in _windows(segment):
        for batch, records, damage in batches_in_order(decoder, window):
            if damage is not None:
                raise _cannot_read(segment, batch, damage)
            marker = control_type(records[0].key) if batch.control and records else None
            yield ReadBatch(batch, records, marker)


def read_blocks(segment: Segment) -> Iterator[RecordColumns]:
    """Every record of a segment as columns. Raises as `read_batches`."""
    for decoder, window in _windows(segment):
        for block in decoder.blocks(window):
            for row, damage in block.damage:
                raise _cannot_read(segment, window.batch(row), damage)
            yield block


def _windows(segment: Segment) -> Iterator[tuple[RecordDecoder, Window]]:
    from kidx.segments.record_blocks import RecordDecoder
    from kidx.segments.scan import scan

    file = segment.files[LOG]
    with file.open() as evidence:
        decoder, windows = RecordDecoder(evidence), scan(evidence, check_crc=False, hold=True)
        for window in windows:
            yield decoder, window
        ending = windows.ending
    if ending is not None and ending.kind != END:
        raise WrongFormat(
            f"{file.path}: its batches break off at byte {ending.position} ({ending.why}); "
            "the cleaner would stop there: see kidx verify"
        )


def _cannot_read(segment: Segment, batch: Batch, damage: Damage) -> LimitExceeded | WrongFormat:
    if damage.limit:
        return LimitExceeded(
            f"{segment.files[LOG].path}: the batch at byte {batch.position} was not decoded: {damage.why}"
        )
    return WrongFormat(
        f"{segment.files[LOG].path}: the batch at byte {batch.position} cannot be read: {damage.why}; "
        "the cleaner would stop there: see kidx verify"
    )


def aborted_in(reader: PartitionReader, segment: Segment, upper: int) -> list[AbortedTransaction]:
    """Aborted transactions that overlap a segment up to `upper` (UnifiedLog.collectAbortedTransactions)."""
    found: list[AbortedTransaction] = []
    for later in reader.segments_from(segment):
        file = later.file(TRANSACTION)
        if file is None:
            continue
        with file.open() as evidence:
            answer = collect_aborted(read_transactions(evidence), segment.base_offset, upper)
        found += answer.aborted
        if answer.complete:
            break
    return found
