"""An ArrayTable in text, json, jsonl and csv: the same bytes as kidx.report.formats.render writes, made from arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import IO, TYPE_CHECKING, cast

from kidx.tables.table import BOOL, TEXT, TREE, ArrayTable, Column
from kidx.text.integer_text import Choice, LineForm, Maybe, Number, extremes
from kidx.text.output import encode, write_bytes

if TYPE_CHECKING:
    from kidx.report.formats.array_cells import Form
    from kidx.tables.nested import Cells
    from kidx.text.integer_text import Integers

WIDEST_COLUMN = 1000  # characters; a longer cell of text does not make the whole column as wide
FORMATS = ("text", "json", "jsonl", "csv")
_SAMPLE_ROWS = 1000  # rows looked at before text decides how wide the columns of a table with texts are


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

    def spec(column: Column) -> Form:
        if _is_text(column):
            from kidx.report.formats.array_cells import Cell, json_cells

            return Cell(lambda cells: json_cells(cells, comma, colon))
        if column.choices:
            return Choice((*(encode(json_text(t)) for t in column.choices), b"null"))
        return Choice((b"false", b"true", b"null")) if column.kind == BOOL else Number(absent=b"null")

    return _lines(table, [*names, b"}" + end], [spec(c) for c in table.columns])


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

    def spec(column: Column) -> Form:
        if _is_text(column):
            from kidx.report.formats.array_cells import Cell, csv_cells

            return Cell(csv_cells)
        if column.choices:
            return Choice((*(encode(_csv_cell(t)) for t in column.choices), b""))
        return Choice((b"False", b"True", b"")) if column.kind == BOOL else Number(absent=b"")

    pieces = [head, *([b","] * (len(table.columns) - 1)), b"\n"]
    yield from _lines(table, pieces, [spec(c) for c in table.columns])


def _csv_cell(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if any(c in text for c in ',"\n\r') else text


def _text(table: ArrayTable, _: bool) -> Iterator[bytes | memoryview]:
    """Aligned columns under their names, numbers right-aligned. The widths come from the first rows and `widest`."""
    texts = any(map(_is_text, table.columns))
    table, widths = _fitting_first_rows(table) if texts else _fitting_first_batch(table)
    widths = [min(width, WIDEST_COLUMN) for width in widths]
    right = [not (c.choices or c.kind == BOOL or _is_text(c)) for c in table.columns]
    heads = [c.name.rjust(w) if r else c.name.ljust(w) for c, w, r in zip(table.columns, widths, right, strict=True)]
    yield encode("  ".join(heads).rstrip() + "\n")
    if not right[-1]:
        widths[-1] = 0
    pieces = [b"", *([b"  "] * (len(widths) - 1)), b"\n"]
    yield from _lines(table, pieces, [_text_form(c, w) for c, w in zip(table.columns, widths, strict=True)])


def _text_form(column: Column, width: int) -> Form:
    if _is_text(column):
        from kidx.report.formats.array_cells import Cell, text_cells

        return Cell(text_cells, width)
    if column.choices:
        return Choice((*map(encode, column.choices), b"-"), width)
    return Choice((b"no", b"yes", b"-"), width) if column.kind == BOOL else Number(width)


def _fitting_first_batch(table: ArrayTable) -> tuple[ArrayTable, list[int]]:
    """The table with all its rows still to be read, and widths that fit `widest`, the first batch and every choice."""
    fit: list[list[int]] = [[value] for value in table.widest] or [[] for _ in table.columns]
    batches = iter(table.batches)
    first = next(batches, None)
    if first is not None:
        arrays = [c.values if isinstance(c, Maybe) else c for c in cast("Sequence[Integers | Maybe]", first)]
        fit = [[*a, *extremes(b)] if len(b) else a for a, b in zip(fit, arrays, strict=True)]
    widths = [max(map(len, _texts(c, cells))) for c, cells in zip(table.columns, fit, strict=True)]
    return _again(table, [first] if first is not None else [], batches), widths


def _texts(column: Column, cells: list[int]) -> list[str]:
    """The texts that a column must be wide enough for."""
    return [column.name, *column.choices, *(["yes"] if column.kind == BOOL else map(str, cells))]


def _fitting_first_rows(table: ArrayTable) -> tuple[ArrayTable, list[int]]:
    """The table with all its rows still to be read, and widths that fit the first of them."""
    from kidx.report.formats.array_cells import texts_of
    from kidx.tables.nested import row_count
    from kidx.tables.selection import Selection
    from kidx.text.spans import character_counts

    batches = iter(table.batches)
    first: list[Sequence[Cells]] = []
    for batch in batches:
        first.append(batch)
        if sum(row_count(b[0]) for b in first) >= _SAMPLE_ROWS:
            break
    widths = [len(c.name) for c in table.columns]
    for batch in Selection(head=_SAMPLE_ROWS).ends_of_arrays(first):
        for number, (column, cells) in enumerate(zip(table.columns, batch, strict=True)):
            texts = texts_of(cells, _text_form(column, 0))
            widths[number] = max(widths[number], int(character_counts(texts).max(initial=0)))
    return _again(table, first, batches), widths


def _again(table: ArrayTable, first: list[Sequence[Cells]], rest: Iterator[Sequence[Cells]]) -> ArrayTable:
    return ArrayTable(table.schema, table.columns, chain(first, rest), constants=table.constants)


def _is_text(column: Column) -> bool:
    """Whether a column's cells are neither numbers nor choices."""
    return column.kind == TREE or (column.kind == TEXT and not column.choices)


def _lines(table: ArrayTable, pieces: Sequence[bytes], forms: Sequence[Form]) -> Iterator[bytes | memoryview]:
    from kidx.report.formats.array_cells import Cell, MixedLines, as_number

    if any(isinstance(form, Cell) for form in forms):
        mixed = MixedLines(pieces, forms)
        return (mixed.lines(batch) for batch in table.batches)
    numbers = [form for form in forms if not isinstance(form, Cell)]
    form = LineForm(pieces, numbers)
    arrays = ([as_number(c, f) for c, f in zip(batch, numbers, strict=True)] for batch in table.batches)
    return chain.from_iterable(map(form.lines, arrays))
