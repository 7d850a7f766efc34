"""A piece of a file as Arrow batches: entries, batches, records, findings or segments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kidx.checks.engine.options import Options
from kidx.checks.engine.partition import check_target
from kidx.checks.engine.targets import Target
from kidx.evidence import Evidence, open_evidence
from kidx.formats.compression import CODEC_NAMES
from kidx.logdir.names import INDEX_OF_KIND
from kidx.logdir.tree import Partition
from kidx.pipeline.decoded_records import decoded_columns
from kidx.pipeline.filters import Conditions
from kidx.pipeline.frames import to_arrow_text
from kidx.pipeline.pieces import Piece
from kidx.pipeline.results import finding_row
from kidx.pipeline.schemas import DECODED_RECORDS, FINDINGS_KIND, INDEX_KINDS, RECORDS, SEGMENTS
from kidx.pipeline.segment_facts import segment_facts
from kidx.segments.arrow_records import record_array
from kidx.segments.column_reader import DamagedRange, LogIndexes, Wanted, read_columns
from kidx.segments.scan import scan
from kidx.segments.walk import PREALLOCATED
from kidx.tables.index_entries import IndexEntries
from kidx.text.json_text import as_unicode

if TYPE_CHECKING:
    from kidx.segments.windows import Window

    Columns = Mapping[str, Any]


def read_piece(
    kind: str,
    piece: Piece,
    conditions: Conditions,
    schema: pa.Schema,
    damage: list[DamagedRange] | None = None,
) -> Iterator[pa.RecordBatch]:
    """A piece's rows as Arrow batches of `schema`, which has some or all of the kind's columns. Raises KidxError.

    Of records, those in damaged batches are left out; `damage` lists the bytes.
    """
    if kind == FINDINGS_KIND:
        yield from _from_rows(piece, schema, map(finding_row, check_target(Target(piece.path), Options()).findings))
        return
    if kind == SEGMENTS:
        facts = segment_facts(Partition(piece.path))
        yield from _from_rows(
            piece, schema, (f._replace(directory=to_arrow_text(f.directory))._asdict() for f in facts)
        )
        return
    with open_evidence(piece.path) as evidence:
        if kind == RECORDS:
            yield from _record_batches(evidence, piece, conditions, schema, damage)
            return
        for columns in _columns(kind, evidence, piece):
            batch = _batch(columns, piece, conditions, schema)
            if len(batch):
                yield batch


def _columns(kind: str, evidence: Evidence, piece: Piece) -> Iterator[Columns]:
    if kind in INDEX_KINDS:
        return _index_columns(kind, evidence, piece)
    if kind == DECODED_RECORDS:
        return decoded_columns(evidence, piece)
    return map(_batch_columns, scan(evidence, start=piece.start, end=piece.end))


def _index_columns(kind: str, evidence: Evidence, piece: Piece) -> Iterator[Columns]:
    entries = IndexEntries(evidence, INDEX_OF_KIND[kind], piece.base_offset)
    for arrays in entries.arrays(range(entries.extent.entries)):
        yield dict(zip(entries.names, arrays, strict=True))


def _record_batches(
    evidence: Evidence,
    piece: Piece,
    conditions: Conditions,
    schema: pa.Schema,
    damage: list[DamagedRange] | None,
) -> Iterator[pa.RecordBatch]:
    least, most = conditions.limits("producer_id")
    producer = least if least == most else None
    wanted = Wanted(conditions.limits("offset"), conditions.limits("timestamp"), producer)
    reader = read_columns(evidence, LogIndexes.next_to(piece.path), wanted, start=piece.start, end=piece.end)
    place = _place(piece)
    for columns in reader:
        arrays = [
            pa.repeat(pa.scalar(place[field.name], field.type), len(columns))
            if field.name in place
            else record_array(columns, field.name, field.type)
            for field in schema
        ]
        yield pa.RecordBatch.from_arrays(
            [array.cast(field.type) for array, field in zip(arrays, schema, strict=True)], schema=schema
        )
    if damage is not None:
        damage += [found for found in reader.damage if found.kind != PREALLOCATED]


def _batch_columns(window: Window) -> Columns:
    same = ("magic", "base_offset", "leader_epoch", "base_timestamp", "max_timestamp", "producer_id", "crc")
    return {
        "position": window.position,
        "size": window.size,
        "last_offset": window.last_offset,
        "count": window.column("record_count"),
        "codec": lambda chosen: pa.array(CODEC_NAMES).take(pa.array(window.codec[chosen])),
        "log_append_time": window.log_append_time,
        "transactional": window.transactional,
        "control": window.control,
        "crc_ok": window.crc_ok,
        **{name: window.column(name) for name in (*same, "producer_epoch", "base_sequence")},
    }


def _batch(columns: Columns, piece: Piece, conditions: Conditions, schema: pa.Schema) -> pa.RecordBatch:
    """The rows that fulfil the conditions, with their place. A callable column is computed for these rows only."""
    import numpy as np

    arrays = {name: column for name, column in columns.items() if not callable(column)}
    count = len(next(iter(arrays.values())))
    mask = conditions.mask(arrays)
    chosen = np.arange(count) if mask is None else np.flatnonzero(mask)
    place = _place(piece)
    columns_of_batch = []
    for field in schema:
        if field.name in place:
            columns_of_batch.append(pa.repeat(pa.scalar(place[field.name], field.type), len(chosen)))
            continue
        column = columns[field.name]
        array = column(chosen) if callable(column) else pa.array(column[chosen])
        columns_of_batch.append(array.cast(field.type))
    return pa.RecordBatch.from_arrays(columns_of_batch, schema=schema)


def _from_rows(piece: Piece, schema: pa.Schema, rows: Iterable[Mapping[str, Any]]) -> Iterator[pa.RecordBatch]:
    place = _place(piece)
    named = [{field.name: (place | dict(row))[field.name] for field in schema} for row in rows]
    if named:
        yield pa.RecordBatch.from_pylist(named, schema=schema)


def _place(piece: Piece) -> dict[str, Any]:
    return {
        "file": to_arrow_text(piece.path),
        "topic": as_unicode(piece.topic),
        "partition": piece.partition,
        "segment": piece.base_offset,
    }
