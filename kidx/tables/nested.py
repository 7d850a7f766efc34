"""Columns of ArrayTables whose cells are no numbers: texts (Spans of UTF-8), structs and lists of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from kidx.text.integer_text import Maybe, python_values
from kidx.text.spans import Spans

if TYPE_CHECKING:
    import numpy.typing as npt

    from kidx.text.integer_text import Integers

Cells: TypeAlias = "Integers | Maybe | Spans | Structs | Lists"


class Structs(NamedTuple):
    """Structs, which JSON shows as objects: the columns of their `fields`, and which rows are `present`."""

    fields: Mapping[str, Cells]
    present: npt.NDArray[np.bool_]

    def part(self, rows: Any) -> Structs:
        """Some rows: a slice, a mask or an array of row numbers."""
        return Structs({name: part(column, rows) for name, column in self.fields.items()}, self.present[rows])


class Lists(NamedTuple):
    """Lists: how many `items` each row has, and those of all rows, row after row."""

    counts: npt.NDArray[np.int64]
    items: Cells

    def part(self, rows: Any) -> Lists:
        """Some rows: a slice, a mask or an array of row numbers."""
        counts = self.counts[rows]
        first = (self.counts.cumsum() - self.counts)[rows]
        items = np.repeat(first - (counts.cumsum() - counts), counts) + np.arange(int(counts.sum()))
        return Lists(counts, part(self.items, items))


def part(column: Cells, rows: Any) -> Cells:
    """Some rows of a column."""
    return column.part(rows) if isinstance(column, Maybe | Spans | Structs | Lists) else column[rows]


def row_count(column: Cells) -> int:
    """How many rows a column has."""
    if isinstance(column, Maybe):
        return len(column.values)
    if isinstance(column, Structs):
        return len(column.present)
    return len(column.counts if isinstance(column, Lists) else column)


def python_cells(column: Cells) -> list[Any]:
    """A column as Python objects, None for absent ones."""
    if isinstance(column, Spans):
        return [None if text is None else text.decode() for text in column.tolist()]
    if isinstance(column, Structs):
        fields = zip(*map(python_cells, column.fields.values()), strict=True)
        objects = [dict(zip(column.fields, values, strict=True)) for values in fields]
        return [item if here else None for item, here in zip(objects, column.present.tolist(), strict=True)]
    if isinstance(column, Lists):
        items, ends = python_cells(column.items), column.counts.cumsum()
        starts = ends - column.counts
        return [items[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
    return python_values(column)
