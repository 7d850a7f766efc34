"""Cells that are no numbers, as columns of text: for JSON, CSV and people."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from kidx.tables.nested import Cells, Lists, Structs
from kidx.text.integer_text import Choice, LineForm, Maybe, Number
from kidx.text.json_text import json_text
from kidx.text.spans import (
    Spans,
    character_counts,
    chosen,
    csv_quoted,
    grouped,
    joined,
    json_quoted,
    printable,
    with_absent,
)

_JSON_NUMBER = LineForm([b"", b""], [Number(absent=b"null")])


class Cell(NamedTuple):
    """The form of a column of neither numbers nor choices: a function to its texts, of at least `width` characters."""

    texts: Callable[[Cells], Spans]
    width: int = 0

    def parts(self, column: Cells) -> list[Spans]:
        """The texts, and the spaces after them."""
        texts = self.texts(column)
        if not self.width:
            return [texts]
        missing = np.maximum(self.width - character_counts(texts.packed()), 0)
        return [texts, Spans(np.full(self.width, ord(" "), np.uint8), np.zeros(len(texts), np.int64), missing)]


Form: TypeAlias = "Number | Choice | Cell"


class MixedLines:
    """The form of lines with columns of any kind; see LineForm."""

    def __init__(self, pieces: Sequence[bytes], forms: Sequence[Form]) -> None:
        self._parts: list[bytes | tuple[LineForm, slice] | tuple[Cell, int]] = []
        start = 0
        for number, form in enumerate([*forms, None]):
            if isinstance(form, Number | Choice):
                continue
            literals = pieces[start : number + 1]
            if start < number:
                numbers = [f for f in forms[start:number] if not isinstance(f, Cell)]
                self._parts.append((LineForm(literals, numbers), slice(start, number)))
            else:
                self._parts.append(literals[0])
            if form is not None:
                self._parts.append((form, number))
            start = number + 1

    def lines(self, columns: Sequence[Cells]) -> memoryview:
        """The lines of columns."""
        parts: list[Spans | bytes] = []
        for part in self._parts:
            if isinstance(part, bytes):
                parts.append(part)
            elif isinstance(part[0], Cell):
                parts += part[0].parts(columns[part[1]])
            else:
                forms = part[0].columns
                parts.append(part[0].spans([as_number(c, f) for c, f in zip(columns[part[1]], forms, strict=True)]))
        return joined(parts).data.data


def texts_of(column: Cells, form: Form) -> Spans:
    """The cells of one column."""
    if isinstance(form, Cell):
        return form.texts(column)
    return LineForm([b"", b""], [form]).spans([as_number(column, form)])


def as_number(column: Cells, form: Number | Choice) -> Maybe | np.ndarray:
    """A column as LineForm takes it: where a choice is absent, the number of its last text."""
    assert isinstance(column, Maybe | np.ndarray)
    if isinstance(form, Choice) and isinstance(column, Maybe):
        return np.where(column.present, column.values, len(form.texts) - 1)
    return column


def json_cells(column: Cells, comma: str, colon: str) -> Spans:
    """Cells as JSON, null where they are absent."""
    if isinstance(column, Spans):
        return with_absent(json_quoted(column), b"null")
    if isinstance(column, Structs):
        parts: list[Spans | bytes] = []
        for name, field in column.fields.items():
            parts += [(f"{comma if parts else '{'}{json_text(name)}{colon}").encode(), json_cells(field, comma, colon)]
        objects = joined([*parts, b"}"])
        return with_absent(objects.only(column.present), b"null")
    if isinstance(column, Lists):
        items, counts = json_cells(column.items, comma, colon), column.counts
        number = np.arange(len(items)) - np.repeat(counts.cumsum() - counts, counts)
        commas = chosen([b"", comma.encode()], np.minimum(number, 1))
        return joined([b"[", grouped(joined([commas, items]), counts), b"]"])
    return _JSON_NUMBER.spans([column])


def csv_cells(column: Cells) -> Spans:
    """Cells as CSV: trees as JSON; absent ones are empty."""
    return csv_quoted(column if isinstance(column, Spans) else _tree(column))


def text_cells(column: Cells) -> Spans:
    """Cells as people read them: trees as JSON, a dash where they are absent."""
    return with_absent(printable(column if isinstance(column, Spans) else _tree(column)), b"-")


def _tree(column: Cells) -> Spans:
    texts = json_cells(column, ", ", ": ")
    if not isinstance(column, Structs):
        return texts
    return texts.only(column.present)
