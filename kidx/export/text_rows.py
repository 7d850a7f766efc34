"""Records as lines of text: kidx.exported_record.v1 as JSON lines, or CSV. Text is built by columns.

Keys, values and the values of headers are bytes; `encoding` says how text holds them:

utf8    text; a byte that is not UTF-8 becomes \\xNN. Not reversible then, so such records are counted.
base64  reversible.
hex     reversible.
json    what is valid JSON stands as it is (line breaks between tokens become spaces), everything else as with utf8.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from kidx.segments.record_columns import RecordColumns
from kidx.text.json_text import json_text
from kidx.text.spans import Spans, base64_text, grouped, hexed, joined, json_quoted, spans_of, utf8, with_absent

if TYPE_CHECKING:
    import pyarrow as pa

ENCODINGS = ("utf8", "base64", "hex", "json")
SCHEMA = "kidx.exported_record.v1"
_LINE_BREAKS = bytes.maketrans(b"\n\r", b"  ")


class TextColumns:
    """Keys, values and headers of records as text, and how many strings were not UTF-8 so far."""

    def __init__(self, encoding: str, *, quoted: bool) -> None:
        """`quoted`: as JSON values (strings in quotation marks); else as bare text, for CSV."""
        self.encoding, self.quoted, self.not_utf8 = encoding, quoted, 0

    def text(self, spans: Spans, *, quoted: bool) -> Spans:
        """Byte strings as text, packed, or as JSON strings and values; absent ones stay absent."""
        if self.encoding in ("base64", "hex"):
            text = base64_text(spans) if self.encoding == "base64" else hexed(spans)
            return _present_as(spans, joined([b'"', text, b'"'])) if quoted else text
        text = utf8(spans)
        self.not_utf8 += int((text.length != spans.length).sum())
        if self.encoding == "json":
            return _json_values(text, quoted)
        return json_quoted(text) if quoted else text

    def column(self, columns: RecordColumns, name: str) -> Spans:
        """`key`, `value` or `headers` as text: JSON values if `is_json`."""
        if name == "headers":
            return self.headers(columns)
        return self.text(getattr(columns, name), quoted=self.is_json(name))

    def is_json(self, name: str) -> bool:
        """Whether a column's text is JSON; base64 and hexadecimal digits become so by quotation marks alone."""
        return name == "headers" or (self.quoted and self.encoding in ("utf8", "json"))

    def headers(self, columns: RecordColumns) -> Spans:
        """Each record's headers as a JSON list of {"key": ..., "value": ...}."""
        counts, keys, values = columns.headers
        if not counts.any():
            return _constant(b"[]", len(columns))
        ends = counts.cumsum()
        first = np.zeros(len(keys), np.bool_)
        first[(ends - counts)[counts > 0]] = True
        comma = Spans(np.frombuffer(b",", np.uint8), np.zeros(len(keys), np.int64), np.where(first, 0, 1))
        key = with_absent(json_quoted(utf8(keys)), b"null")
        value = with_absent(self.text(values, quoted=True), b"null")
        items = joined([comma, b'{"key":', key, b',"value":', value, b"}"])
        return joined([b"[", grouped(items, counts), b"]"])


def string_array(spans: Spans) -> pa.Array:
    """Spans of UTF-8 as an Arrow array of strings, without a copy if they stand one after another."""
    import pyarrow as pa

    offsets = np.zeros(len(spans) + 1, np.int64)
    np.cumsum(spans.size, out=offsets[1:])
    contiguous = len(spans) > 0 and bool((spans.start == offsets[:-1]).all())
    data = spans.data if contiguous else spans.packed().data
    small = int(offsets[-1]) < 2**31
    present = None
    if not spans.present.all():
        present = pa.py_buffer(np.packbits(spans.present, bitorder="little").tobytes())
    buffers = [present, pa.py_buffer(offsets.astype(np.int32) if small else offsets), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.string() if small else pa.large_string(), len(spans), buffers)


def json_lines(batch: pa.RecordBatch, json_columns: frozenset[str]) -> pa.Array:
    """One JSON object for each row, its line break included. The columns `json_columns` hold JSON already, as text;
    other text needs no escapes, only quotation marks.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    parts: list[Any] = []
    literal = json_text({"schema": SCHEMA}, compact=True)[:-1]

    def scalar(text: str) -> Any:
        return pa.scalar(text, pa.string())

    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        literal += f",{json_text(name)}:"
        value = _only_value(column)
        if value is not None:
            literal += _json_of(value[0], name in json_columns)
            continue
        bare = pa.types.is_string(column.type) and name not in json_columns
        if bare and not column.null_count:
            parts += [scalar(literal + '"'), column]
            literal = '"'
            continue
        column = (
            pc.binary_join_element_wise('"', column, '"', "") if bare else _json_column(column, name in json_columns)
        )
        parts += [scalar(literal), pc.fill_null(column, "null")]
        literal = ""
    parts.append(scalar(literal + "}\n"))
    if len(parts) == 1:
        return pa.repeat(parts[0], len(batch))
    return pc.binary_join_element_wise(*parts, scalar(""))


def bytes_of(strings: pa.Array) -> memoryview:
    """The text of an array without nulls, one string after another."""
    import pyarrow as pa

    wide = np.int64 if pa.types.is_large_string(strings.type) else np.int32
    offsets = np.frombuffer(strings.buffers()[1], wide)[strings.offset : strings.offset + len(strings) + 1]
    return memoryview(strings.buffers()[2])[int(offsets[0]) : int(offsets[-1])]


def _only_value(column: pa.Array) -> tuple[Any] | None:
    """The value that all rows share, in a tuple; None if they differ (or if it costs too much to find out)."""
    import pyarrow as pa

    if column.null_count == len(column):
        return (None,)
    if column.null_count or pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return None
    indices = column.indices if pa.types.is_dictionary(column.type) else column
    if pa.types.is_boolean(indices.type):
        trues = indices.true_count
        return (bool(trues),) if trues in (0, len(column)) else None
    values = indices.to_numpy(zero_copy_only=False)
    return (column[0].as_py(),) if (values == values[0]).all() else None


def _json_of(value: Any, raw: bool) -> str:
    return value if raw and value is not None else json_text(value)


def _json_column(column: pa.Array, raw: bool) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    if raw:
        return column
    if pa.types.is_dictionary(column.type):
        quoted = pa.array([None if v is None else json_text(v) for v in column.dictionary.to_pylist()], pa.string())
        return quoted.take(column.indices)
    return pc.cast(column, pa.string())


def _json_values(text: Spans, quoted: bool) -> Spans:
    """Text that is JSON as it is, other text as a JSON string (or as it is, unless `quoted`)."""
    strings = text.tolist()
    valid = np.array([s is not None and _is_json(s) for s in strings], np.bool_)
    if not quoted:
        return text
    quoted_text = json_quoted(text).tolist()
    pairs = zip(strings, quoted_text, valid.tolist(), strict=True)
    return spans_of([s.translate(_LINE_BREAKS) if ok and s is not None else q for s, q, ok in pairs])


def _is_json(text: bytes) -> bool:
    try:
        json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return False
    return True


def _refuse(word: str) -> None:
    raise ValueError(word)  # NaN and Infinity, which Python takes and JSON does not have


def _constant(text: bytes, rows: int) -> Spans:
    return Spans(np.frombuffer(text, np.uint8), np.zeros(rows, np.int64), np.full(rows, len(text), np.int64))


def _present_as(source: Spans, text: Spans) -> Spans:
    return Spans(text.data, text.start, np.where(source.present, text.length, -1))
