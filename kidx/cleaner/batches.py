"""A segment's batches and records as the cleaner reads them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from kidx.errors import LimitExceeded, WrongFormat
from kidx.evidence import Evidence
from kidx.formats.batches import Batch
from kidx.formats.control import control_type
from kidx.formats.records import Damage, Record
from kidx.logdir.names import LOG, TRANSACTION
from kidx.logdir.tree import Segment
from kidx.lookup.aborted import AbortedTransaction, collect_aborted, read_transactions
from kidx.lookup.partition import PartitionReader
from kidx.segments.records import read_records
from kidx.segments.walk import END, Ending, walk

if TYPE_CHECKING:
    from kidx.segments.record_columns import RecordColumns


class ReadBatch(NamedTuple):
    """A batch with its records; `marker` is a control batch's type, None if it is empty or not a control batch."""

    batch: Batch
    records: list[Record]
    marker: int | None


def read_batches(segment: Segment) -> Iterator[ReadBatch]:
    """Every batch of a segment, decoded. Raises WrongFormat where the log breaks off: the cleaner would fail there."""
    file = segment.files[LOG]
    with file.open() as evidence:
        steps = walk(evidence)
        for batch in steps:
            yield _read(evidence, batch)
        _must_end(file.path, steps.ending)


def read_blocks(segment: Segment) -> Iterator[RecordColumns]:
    """Every record of a segment as columns. Raises as `read_batches`."""
    from kidx.segments.record_blocks import RecordDecoder
    from kidx.segments.scan import scan

    file = segment.files[LOG]
    with file.open() as evidence:
        decoder, windows = RecordDecoder(evidence), scan(evidence, check_crc=False, hold=True)
        for window in windows:
            for block in decoder.blocks(window):
                for row, damage in block.damage:
                    raise _cannot_read(evidence, window.batch(row), damage)
                yield block
        _must_end(file.path, windows.ending)


def _must_end(path: str, ending: Ending | None) -> None:
    if ending is not None and ending.kind != END:
        raise WrongFormat(
            f"{path}: its batches break off at byte {ending.position} ({ending.why}); "
            "the cleaner would stop there: see kidx verify"
        )


def _read(evidence: Evidence, batch: Batch) -> ReadBatch:
    decoded = read_records(evidence, batch)
    if decoded.damage is not None:
        raise _cannot_read(evidence, batch, decoded.damage)
    marker = control_type(decoded.records[0].key) if batch.control and decoded.records else None
    return ReadBatch(batch, decoded.records, marker)


def _cannot_read(evidence: Evidence, batch: Batch, damage: Damage) -> LimitExceeded | WrongFormat:
    if damage.limit:
        return LimitExceeded(f"{evidence.path}: the batch at byte {batch.position} was not decoded: {damage.why}")
    return WrongFormat(
        f"{evidence.path}: the batch at byte {batch.position} cannot be read: {damage.why}; "
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
