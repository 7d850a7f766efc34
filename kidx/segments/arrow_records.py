"""Records as Arrow batches, for Parquet, DuckDB, Polars, pandas and Spark. Needs pyarrow."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

from kidx.errors import UsageError
from kidx.segments.record_columns import CONTROL_NAMES, TIMESTAMP_TYPES
from kidx.text.integer_text import Maybe
from kidx.text.spans import Spans, utf8

if TYPE_CHECKING:
    import pyarrow as pa

    from kidx.segments.record_columns import Headers, RecordColumns
    from kidx.text.integer_text import Integers

RECORD_COLUMNS = (
    "topic",
    "partition",
    "offset",
    "timestamp",
    "timestamp_type",
    "key",
    "value",
    "headers",
    "leader_epoch",
    "producer_id",
    "producer_epoch",
    "sequence",
    "transactional",
    "control_type",
    "segment",
    "position",
)


def arrow() -> Any:
    """The package pyarrow. Raises UsageError without it."""
    try:
        import pyarrow
    except ImportError:
        raise UsageError("records as Arrow need pyarrow: install kidx[sql]") from None
    return pyarrow


@cache
def _types() -> dict[str, pa.DataType]:
    pa = arrow()
    word, number = pa.dictionary(pa.int32(), pa.string()), pa.int64()
    header = pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())])
    types = dict.fromkeys(RECORD_COLUMNS, number)
    types |= dict.fromkeys(("topic", "timestamp_type", "control_type"), word)
    types |= dict.fromkeys(("partition", "leader_epoch", "sequence"), pa.int32())
    return types | {
        "key": pa.binary(),
        "value": pa.binary(),
        "headers": pa.list_(header),
        "producer_epoch": pa.int16(),
        "transactional": pa.bool_(),
    }


def record_schema(columns: Iterable[str] | None = None) -> pa.Schema:
    """The schema of records, or of some of its columns, in their order. Raises UsageError for an unknown column.

    `position` is that of the batch in its file, `segment` the base offset in the file's name. Timestamps are ms since
    the epoch, -1 where a producer gave none. Columns are null where a record's format lacks the field.
    """
    names = RECORD_COLUMNS if columns is None else tuple(columns)
    unknown = [name for name in names if name not in RECORD_COLUMNS]
    if unknown or not names:
        known = ", ".join(RECORD_COLUMNS)
        raise UsageError(f"records have no column {', '.join(unknown) or '(none given)'}; they have {known}")
    return arrow().schema([(name, _types()[name]) for name in names])


def record_batch(
    columns: RecordColumns, schema: pa.Schema, *, topic: str | None, partition: int | None, segment: int | None
) -> pa.RecordBatch:
    """Records of one log as an Arrow batch of `schema` (see record_schema), in memory of its own."""
    pa = arrow()
    place = {"topic": topic, "partition": partition, "segment": segment}
    arrays = []
    for field in schema:
        if field.name in place:
            arrays.append(_constant(place[field.name], len(columns), field.type))
        else:
            arrays.append(record_array(columns, field.name, field.type))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def record_array(columns: RecordColumns, name: str, kind: pa.DataType) -> pa.Array:
    """One column of records as an Arrow array of a type."""
    if name in ("key", "value"):
        return binary_array(getattr(columns, name))
    if name == "headers":
        return _headers_array(columns.headers, kind)
    column = columns.column("batch_position" if name == "position" else name)
    texts = {"timestamp_type": TIMESTAMP_TYPES, "control_type": CONTROL_NAMES}.get(name)
    if texts is not None:
        pa = arrow()
        return pa.DictionaryArray.from_arrays(_number_array(column, pa.int32()), pa.array(texts, pa.string()))
    return _number_array(column, kind)


def _number_array(column: Integers | Maybe, kind: pa.DataType) -> pa.Array:
    pa = arrow()
    values, mask = (column.values, ~column.present) if isinstance(column, Maybe) else (column, None)
    array = pa.array(values.astype(kind.to_pandas_dtype()), mask=mask)
    return array if array.type == kind else array.cast(kind)


def binary_array(spans: Spans, kind: pa.DataType | None = None) -> pa.Array:
    """Strings as an Arrow array of binary (or of `kind`: string, for UTF-8), in memory of its own."""
    import numpy as np

    pa = arrow()
    packed = spans.packed()
    ends = np.zeros(len(packed) + 1, np.int32)
    np.cumsum(packed.size, out=ends[1:])
    valid = None if packed.present.all() else pa.py_buffer(np.packbits(packed.present, bitorder="little"))
    buffers = [valid, pa.py_buffer(ends), pa.py_buffer(packed.data)]
    return pa.Array.from_buffers(kind or pa.binary(), len(packed), buffers)


def _headers_array(headers: Headers, kind: pa.DataType) -> pa.Array:
    import numpy as np

    pa = arrow()
    ends = np.zeros(len(headers.counts) + 1, np.int32)
    np.cumsum(headers.counts, out=ends[1:])
    items = [binary_array(utf8(headers.key), pa.string()), binary_array(headers.value)]
    structs = pa.StructArray.from_arrays(items, fields=list(kind.value_type))
    return pa.ListArray.from_arrays(ends, structs, type=kind)


def _constant(value: str | int | None, rows: int, kind: pa.DataType) -> pa.Array:
    import numpy as np

    pa = arrow()
    if pa.types.is_dictionary(kind):
        absent = None if value is not None else np.ones(rows, np.bool_)
        return pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32), mask=absent), [value or ""])
    return pa.repeat(pa.scalar(value, kind), rows)
