"""The result of a query as a table for kidx's renderers."""

from __future__ import annotations

import datetime
import decimal
import io
import math
import os
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from kidx.errors import UsageError
from kidx.tables.table import BOOL, BYTES, INT, TEXT, TREE, Column, Notes, Table
from kidx.text.escaping import NAMES

SCHEMA = "kidx.query.v1"


def result_table(schema: pa.Schema, batches: Iterable[pa.RecordBatch], notes: Notes) -> Table:
    """The rows of Arrow batches. Columns of one name get numbers; `notes` may grow while rows are read."""
    columns, taken = [], dict[str, int]()
    for field in schema:
        taken[field.name] = number = taken.get(field.name, -1) + 1
        columns.append(Column(f"{field.name}_{number}" if number else field.name, _kind(field.type)))
    return Table(SCHEMA, columns, _rows(batches), {}, notes=notes)


def _kind(kind: pa.DataType) -> str:
    if pa.types.is_boolean(kind):
        return BOOL
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return INT
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind):
        return BYTES
    return TREE if pa.types.is_nested(kind) else TEXT


def _rows(batches: Iterable[pa.RecordBatch]) -> Iterator[list[Any]]:
    for batch in batches:
        for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            yield [_plain(value) for value in row]


def _plain(value: Any) -> Any:
    """A value as JSON can have it; bytes at the top stay bytes, which renderers write as hex."""
    if isinstance(value, decimal.Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, list | tuple):
        return [_inside(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _inside(item) for key, item in value.items()}
    return value if isinstance(value, int | float | str | bytes | None) else str(value)


def _inside(value: Any) -> Any:
    return value.hex() if isinstance(value, bytes) else _plain(value)


def write_result(result: pa.RecordBatchReader, table: Table, path: str) -> None:
    """Write a result to a new file in the format of its suffix: .parquet or .arrow; .csv or .jsonl as rendered.

    `table` is result_table's of the same result. Raises UsageError for another suffix.
    """
    from kidx.export.writers import NewFile, encoder, refusing
    from kidx.report.formats.render import render

    form = os.path.splitext(path)[1].removeprefix(".")
    if form not in ("parquet", "arrow", "csv", "jsonl"):
        raise UsageError(f"{path}: its suffix gives no format; use .parquet, .arrow, .csv or .jsonl")
    file = NewFile(path)
    try:
        with refusing(path):
            if form in ("parquet", "arrow"):
                writer = encoder(form, file.out, result.schema, frozenset())
                for batch in result:
                    writer.write(batch)
                writer.close()
            else:
                text = io.TextIOWrapper(file.out, "utf-8", errors=NAMES, newline="", write_through=True)
                render(table, form, text)
                text.detach()
        file.commit()
    except BaseException:
        file.discard()
        raise
