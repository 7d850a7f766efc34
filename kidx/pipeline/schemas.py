"""The columns of each kind of the data source, derived from the declarations of the formats.

Spark has no unsigned numbers: uint8 becomes int16, uint32 becomes int64.
"""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from kidx.errors import UsageError
from kidx.formats.batches import BATCH_HEADER
from kidx.formats.fields import Field
from kidx.formats.indexes import INDEX_FORMATS, IndexFormat
from kidx.logdir.names import INDEX_OF_KIND, LOG
from kidx.pipeline.results import FINDINGS, SEGMENT
from kidx.segments.arrow_records import record_schema

BATCHES, RECORDS, DECODED_RECORDS = "batches", "records", "decoded_records"
FINDINGS_KIND, SEGMENTS = "findings", "segments"
INDEX_KINDS = tuple(index_format.kind for index_format in INDEX_FORMATS)
LOG_KINDS = (BATCHES, RECORDS, DECODED_RECORDS)
KINDS = (*INDEX_KINDS, *LOG_KINDS, FINDINGS_KIND, SEGMENTS)

_ARROW = {"b": pa.int8(), "h": pa.int16(), "i": pa.int32(), "q": pa.int64(), "B": pa.int16(), "I": pa.int64()}
_INT, _TEXT, _BOOL = pa.int64(), pa.string(), pa.bool_()
# The place of every row. `segment` is the base offset in the file's name.
PLACE = [("file", _TEXT), ("topic", _TEXT), ("partition", pa.int32()), ("segment", _INT)]
_HEADER = {f.name: _ARROW[f.code] for f in BATCH_HEADER.fields}
_BATCH = [
    ("position", _INT),
    ("size", _INT),
    ("magic", _HEADER["magic"]),
    ("base_offset", _HEADER["base_offset"]),
    ("last_offset", _INT),
    ("count", _HEADER["record_count"]),
    ("leader_epoch", _HEADER["leader_epoch"]),
    ("codec", _TEXT),
    ("log_append_time", _BOOL),
    *((name, _HEADER[name]) for name in ("base_timestamp", "max_timestamp")),
    *((name, _HEADER[name]) for name in ("producer_id", "producer_epoch", "base_sequence")),
    ("transactional", _BOOL),
    ("control", _BOOL),
    ("crc", _HEADER["crc"]),
    ("crc_ok", _BOOL),
]
_RECORD = [
    PLACE[0],
    *((f.name, f.type.value_type if pa.types.is_dictionary(f.type) else f.type) for f in record_schema()),
    ("size", _INT),
]
# Key and value are JSON texts, because each kind of record has other fields. None: no key, a tombstone.
_DECODED = [
    ("offset", _INT),
    ("timestamp", _INT),
    ("control", _BOOL),
    ("kind", _TEXT),
    ("version", pa.int16()),
    ("key", _TEXT),
    ("value", _TEXT),
    ("problem", _TEXT),
]


def schema_of(kind: str, columns: Iterable[str] | None = None) -> pa.Schema:
    """The schema of a kind, or of some of its columns, in the kind's order. Raises UsageError for unknown ones."""
    if kind in INDEX_OF_KIND:
        whole = pa.schema([*PLACE, ("slot", _INT), *_entry_columns(INDEX_OF_KIND[kind])])
    elif kind in KINDS:
        declared = {BATCHES: [*PLACE, *_BATCH], RECORDS: _RECORD, DECODED_RECORDS: [*PLACE, *_DECODED]}
        declared |= {FINDINGS_KIND: [*PLACE[1:3], *FINDINGS], SEGMENTS: [*PLACE[1:3], *SEGMENT]}
        whole = pa.schema(declared[kind])
    else:
        raise UsageError(f"kind {kind!r}: choose one of {', '.join(KINDS)}")
    if columns is None:
        return whole
    wanted = list(columns)
    unknown = [name for name in wanted if name not in whole.names]
    if unknown or not wanted:
        raise UsageError(
            f"{kind} has no column {', '.join(unknown) or '(none given)'}; it has {', '.join(whole.names)}"
        )
    return pa.schema([field for field in whole if field.name in wanted])


def _entry_columns(index_format: IndexFormat) -> list[tuple[str, pa.DataType]]:
    absolute = [Field("offset", "q", "offset", "")] if index_format.relative else []
    return [(f.name, _ARROW[f.code]) for f in (*absolute, *index_format.fields)]


def file_kind(kind: str) -> str:
    """The kind of file that rows of a kind are read from."""
    return kind if kind in INDEX_OF_KIND else LOG
