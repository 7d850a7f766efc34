"""What a command returns: a schema's name, typed columns, and rows.

Renderers know column types only. Absent is None, which every format shows as such (null, an empty cell, a dash).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

INT, TEXT, BOOL, BYTES, TREE, TIMESTAMP = "int", "text", "bool", "bytes", "tree", "timestamp"


class Column:
    """A column: `kind` is one of INT, TEXT, BOOL, BYTES (shown as hex), TREE (JSON-able nesting), TIMESTAMP (epoch ms).

    `unit` ("bytes", "ms", ...) is for headings and documentation.
    """

    __slots__ = ("kind", "name", "unit")

    def __init__(self, name: str, kind: str = INT, unit: str = "") -> None:
        self.name, self.kind, self.unit = name, kind, unit


class Table:
    """Rows, each a sequence in the order of `columns`. `rows` may be a generator; it is read once.

    `summary`, filled by the time the rows are through, goes into json's envelope, and into jsonl as a last line where
    it has a "schema" of its own.
    """

    def __init__(
        self,
        schema: str,
        columns: Sequence[Column],
        rows: Iterable[Sequence[Any]],
        summary: Mapping[str, Any] | None = None,
    ) -> None:
        self.schema, self.columns, self.rows, self.summary = schema, columns, rows, summary


class ArrayTable(Table):
    """A table of integers that comes as arrays: `batches` yields tuples of equally long int64 arrays, one a column.

    Made for files of a million entries: its renderers never make a Python object of a number.
    """

    def __init__(
        self,
        schema: str,
        columns: Sequence[Column],
        batches: Iterable[tuple[npt.NDArray[np.int64], ...]],
        summary: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(schema, columns, self._as_rows(), summary)
        self.batches = batches

    def _as_rows(self) -> Iterable[Sequence[Any]]:
        for arrays in self.batches:
            yield from zip(*(a.tolist() for a in arrays), strict=True)
