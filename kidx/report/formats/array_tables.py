"""An ArrayTable in text, json, jsonl and csv: the same bytes as kidx.report.formats.render writes, made from arrays."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import IO, TYPE_CHECKING

from kidx.tables.table import BOOL, ArrayTable, Column
from kidx.text.integer_text import Choice, LineForm, Maybe, Number, extremes
from kidx.text.output import encode, write_bytes

if TYPE_CHECKING:
    from kidx.text.integer_text import Integers

FORMATS = ("text", "json", "jsonl", "csv")


def render_arrays(table: ArrayTable, form: str, out: IO[str], *, header: bool = True) -> None:
    """Write a table of numbers to `out`. `header` says whether csv begins with the columns' names."""
    write_bytes(out, {"text": _text, "json": _json, "jsonl": _jsonl, "csv": _csv}[form](table, header))


def json_lines(table: ArrayTable, start: bytes, end: bytes, comma: str, colon: str) -> Iterator[bytes | memoryview]:
    """Each row as a JSON object between `start` and `end`, pieces of UTF-8, with `comma` and `colon` as separators."""
    from kidx.text.json_text import json_text

    head = {"schema": table.schema, **table.constants}
    text = comma.join(json_text(k) + colon + json_text(v) for k, v in head.items())
    names = [encode(comma + json_text(c.name) + colon) for c in table.columns]
    names[0] = start + b"{" + encode(text) + names[0]

    def spec(column: Column) -> Number | Choice:
        if column.choices:
            return Choice((*(encode(json_text(t)) for t in column.choices), b"null"))
        return Choice((b"false", b"true", b"null")) if column.kind == BOOL else Number(absent=b"null")

    return _lines(table, LineForm([*names, b"}" + end], [spec(c) for c in table.columns]))


def _jsonl(table: ArrayTable, _: bool) -> Iterator[bytes | memoryview]:
    yield from json_lines(table, b"", b"\n", ",", ":")
    if table.summary is not None and "schema" in table.summary:
        from kidx.text.json_text import json_text

        yield encode(json_text(dict(table.summary), compact=True) + "\n")


def _json(table: ArrayTable, _: bool) -> Iterator[bytes | memoryview]:
    from kidx.text.json_text import json_text

    yield encode(f'{{"schema": "{table.schema}", "rows": [')
    some = False
    for piece in json_lines(table, b",\n  ", b"", ", ", ": "):
        yield piece if some else memoryview(piece)[1:]  # no comma before the first row
        some = True
    yield encode(("\n" if some else "") + f'], "summary": {json_text(dict(table.summary or {}))}}}\n')


def _csv(table: ArrayTable, header: bool) -> Iterator[bytes | memoryview]:
    if header:
        yield encode(",".join([*table.constants, *(c.name for c in table.columns)]) + "\n")
    head = b"".join(encode(_csv_cell(v)) + b"," for v in table.constants.values())

    def spec(column: Column) -> Number | Choice:
        if column.choices:
            return Choice((*(encode(_csv_cell(t)) for t in column.choices), b""))
        return Choice((b"False", b"True", b"")) if column.kind == BOOL else Number(absent=b"")

    pieces = [head, *([b","] * (len(table.columns) - 1)), b"\n"]
    yield from _lines(table, LineForm(pieces, [spec(c) for c in table.columns]))


def _csv_cell(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if any(c in text for c in ',"\n\r') else text


def _text(table: ArrayTable, _: bool) -> Iterator[bytes | memoryview]:
    """Aligned columns under their names, numbers right-aligned. The widths come from the first batch and `widest`."""
    table, first = _peek(table)
    widths = [max(len(text) for text in _texts(c, cells)) for c, cells in zip(table.columns, first, strict=True)]
    right = [not c.choices and c.kind != BOOL for c in table.columns]
    heads = [c.name.rjust(w) if r else c.name.ljust(w) for c, w, r in zip(table.columns, widths, right, strict=True)]
    yield encode("  ".join(heads).rstrip() + "\n")
    if not right[-1]:
        widths[-1] = 0

    def spec(column: Column, width: int) -> Number | Choice:
        if column.choices:
            return Choice((*map(encode, column.choices), b"-"), width)
        return Choice((b"no", b"yes", b"-"), width) if column.kind == BOOL else Number(width)

    pieces = [b"", *([b"  "] * (len(widths) - 1)), b"\n"]
    yield from _lines(table, LineForm(pieces, [spec(c, w) for c, w in zip(table.columns, widths, strict=True)]))


def _texts(column: Column, cells: list[int]) -> list[str]:
    """The texts that a column must be wide enough for."""
    return [column.name, *column.choices, *(["yes"] if column.kind == BOOL else map(str, cells))]


def _peek(table: ArrayTable) -> tuple[ArrayTable, list[list[int]]]:
    """The table with all its rows still to be read, and for each column some values that must fit."""
    fit: list[list[int]] = [[value] for value in table.widest] or [[] for _ in table.columns]
    batches = iter(table.batches)
    first = next(batches, None)
    ends: list[list[int]] = [[] for _ in table.columns]
    if first is not None:
        arrays = [c.values if isinstance(c, Maybe) else c for c in first]
        ends = [[*extremes(a)] if len(a) else [] for a in arrays]
    rest = ArrayTable(
        table.schema, table.columns, chain([first] if first is not None else [], batches), constants=table.constants
    )
    return rest, [a + b for a, b in zip(fit, ends, strict=True)]


def _lines(table: ArrayTable, form: LineForm) -> Iterator[bytes | memoryview]:
    for batch in table.batches:
        yield from form.lines([_chosen(c, spec) for c, spec in zip(batch, form.columns, strict=True)])


def _chosen(column: Integers | Maybe, spec: Number | Choice) -> Integers | Maybe:
    """A column as LineForm takes it: where a choice is absent, the number of its last text."""
    if isinstance(spec, Choice) and isinstance(column, Maybe):
        import numpy as np

        return np.where(column.present, column.values, len(spec.texts) - 1)
    return column
