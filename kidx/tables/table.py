"""What a command returns: a schema's name, typed columns, rows, notes, and the exit status that follows from them.

Renderers know column types only. An absent value is None, which formats show as null, an empty cell or a dash.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kidx.exit_status import CLEAN

if TYPE_CHECKING:
    from kidx.tables.nested import Cells

INT, TEXT, BOOL, BYTES, TREE, TIMESTAMP = "int", "text", "bool", "bytes", "tree", "timestamp"


class Column:
    """A column: `kind` is one of INT, TEXT, BOOL, BYTES (shown as hex), TREE (JSON-able nesting), TIMESTAMP (epoch ms).

    `unit` ("bytes", "ms", ...) is for headings and documentation; `choices` are the texts that the numbers of a TEXT
    column in an ArrayTable stand for.
    """

    __slots__ = ("choices", "kind", "name", "unit")

    def __init__(self, name: str, kind: str = INT, unit: str = "", choices: tuple[str, ...] = ()) -> None:
        self.name, self.kind, self.unit, self.choices = name, kind, unit, choices


class Note:
    """A sentence about the data, for stderr. `in_summary`: the table's summary holds the same fact."""

    __slots__ = ("in_summary", "status", "text")

    def __init__(self, text: str, status: int = CLEAN, in_summary: bool = False) -> None:
        self.text, self.status, self.in_summary = text, status, in_summary


class Notes:
    """The notes of a table, in order. Of very many only the first `LIMIT` are kept, and the last one counts the others.

    `status` is the largest of all of them, CLEAN where there are none.
    """

    LIMIT = 10_000

    def __init__(self) -> None:
        self._kept: list[Note] = []
        self._left_out = 0
        self.status = CLEAN

    def add(self, text: str, status: int = CLEAN, *, in_summary: bool = False) -> None:
        """Append a note."""
        self.status = max(self.status, status)
        if len(self._kept) < self.LIMIT:
            self._kept.append(Note(text, status, in_summary))
        else:
            self._left_out += 1

    def __iter__(self) -> Iterator[Note]:
        yield from self._kept
        if self._left_out:
            yield Note(f"{self._left_out} more such messages are left out")


class Table:
    """Rows, each a sequence in the order of `columns`. `rows` may be a generator; it can be read once.

    `constants` are values that every row shares (`file`): they come first in json, jsonl and csv, and are left out of
    text. Three things are complete once the rows have been read: `summary`, which goes into json's envelope, and into
    jsonl as a last line if it has a "schema" of its own; `notes`, which go to stderr; and `status`.
    """

    def __init__(
        self,
        schema: str,
        columns: Sequence[Column],
        rows: Iterable[Sequence[Any]],
        summary: Mapping[str, Any] | None = None,
        *,
        constants: Mapping[str, str] | None = None,
        notes: Notes | None = None,
    ) -> None:
        self.schema, self.columns, self.rows, self.summary = schema, columns, rows, summary
        self.constants: Mapping[str, str] = constants or {}
        self.notes = notes or Notes()

    @property
    def status(self) -> int:
        """The exit status that the table implies, once its rows have been read."""
        return self.notes.status


class ArrayTable(Table):
    """A table as arrays, for files of a million rows: its renderers never make a Python object of a cell.

    `batches` yields tuples of equally long columns: int64 arrays, shape (n,) (or Maybe, where some values are absent),
    for INT and TIMESTAMP, BOOL (0 or 1), and TEXT as an index into the column's `choices`; of other kinds those of
    kidx.tables.nested. `widest` is a row whose cells must fit text's columns (an index's last entry), as the rows of
    the first batch must; a table with columns of text has the widths of its first 1000 rows.
    """

    def __init__(
        self,
        schema: str,
        columns: Sequence[Column],
        batches: Iterable[Sequence[Cells]],
        summary: Mapping[str, Any] | None = None,
        *,
        widest: Sequence[int] = (),
        constants: Mapping[str, str] | None = None,
        notes: Notes | None = None,
    ) -> None:
        super().__init__(schema, columns, self._as_rows(), summary, constants=constants, notes=notes)
        self.batches, self.widest = batches, widest

    def _as_rows(self) -> Iterator[Sequence[Any]]:
        from kidx.tables.nested import python_cells

        for arrays in self.batches:
            cells = [_as_cells(c, python_cells(a)) for c, a in zip(self.columns, arrays, strict=True)]
            yield from zip(*cells, strict=True)


def _as_cells(column: Column, values: list[int | None]) -> list[Any]:
    if column.choices:
        return [None if v is None else column.choices[v] for v in values]
    if column.kind == BOOL:
        return [None if v is None else bool(v) for v in values]
    return values
