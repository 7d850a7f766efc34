"""What a command returns: a schema's name, typed columns, and rows.

Renderers know column types only. Absent is None, which every format shows as such (null, an empty cell, a dash).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kidx.text.integer_text import Integers, Maybe

INT, TEXT, BOOL, BYTES, TREE, TIMESTAMP = "int", "text", "bool", "bytes", "tree", "timestamp"


class Column:
    """A column: `kind` is one of INT, TEXT, BOOL, BYTES (shown as hex), TREE (JSON-able nesting), TIMESTAMP (epoch ms).

    `unit` ("bytes", "ms", ...) is for headings and documentation; `choices` are the texts that the numbers of a TEXT
    column in an ArrayTable stand for.
    """

    __slots__ = ("choices", "kind", "name", "unit")

    def __init__(self, name: str, kind: str = INT, unit: str = "", choices: tuple[str, ...] = ()) -> None:
        self.name, self.kind, self.unit, self.choices = name, kind, unit, choices


class Table:
    """Rows, each a sequence in the order of `columns`. `rows` may be a generator; it is read once.

    `summary`, filled by the time the rows are through, goes into json's envelope, and into jsonl as a last line where
    it has a "schema" of its own. `constants` are values that every row has (`file`): they stand first in json, jsonl
    and csv, and not in text, whose reader knows them.
    """

    def __init__(
        self,
        schema: str,
        columns: Sequence[Column],
        rows: Iterable[Sequence[Any]],
        summary: Mapping[str, Any] | None = None,
        *,
        constants: Mapping[str, str] | None = None,
    ) -> None:
        self.schema, self.columns, self.rows, self.summary = schema, columns, rows, summary
        self.constants: Mapping[str, str] = constants or {}


class ArrayTable(Table):
    """A table of numbers, made for files of a million rows: its renderers never make a Python object of a number.

    `batches` yields tuples of equally long int64 arrays (or Maybe, where some are absent), one a column: INT and
    TIMESTAMP, BOOL (0 or 1), or TEXT that chooses from its column's `choices`. A small file may give `rows` of integers
    instead, and is then printed without numpy. `widest` is a row whose cells must fit text's columns (an index's last
    entry), beside those of the first batch.
    """

    def __init__(
        self,
        schema: str,
        columns: Sequence[Column],
        batches: Iterable[tuple[Integers | Maybe, ...]] | None = None,
        summary: Mapping[str, Any] | None = None,
        *,
        rows: Iterable[Sequence[int]] | None = None,
        widest: Sequence[int] = (),
        constants: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(schema, columns, self._as_rows() if rows is None else rows, summary, constants=constants)
        self.batches, self.widest = batches, widest

    def _as_rows(self) -> Iterable[Sequence[Any]]:
        from kidx.text.integer_text import python_values

        for arrays in self.batches or ():
            cells = [_as_cells(c, python_values(a)) for c, a in zip(self.columns, arrays, strict=True)]
            yield from zip(*cells, strict=True)


def _as_cells(column: Column, values: list[int | None]) -> list[Any]:
    if column.choices:
        return [None if v is None else column.choices[v] for v in values]
    if column.kind == BOOL:
        return [None if v is None else bool(v) for v in values]
    return values
