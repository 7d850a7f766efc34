"""What screens share: a table's rows by name, columns that line up, lines to a stream."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, Any

from kidx.tables.table import Table


def named_rows(table: Table) -> Iterator[dict[str, Any]]:
    """Each row as a mapping of column names to values."""
    names = [column.name for column in table.columns]
    return (dict(zip(names, row, strict=True)) for row in table.rows)


def write_lines(lines: Iterable[str], out: IO[str] | None = None) -> None:
    """Write lines, given without line ends, to `out` (standard output). Spaces at their ends are dropped."""
    out = out or sys.stdout
    for line in lines:
        out.write(line.rstrip() + "\n")


def aligned(lines: Sequence[Sequence[str]], right: Sequence[bool]) -> Iterator[str]:
    """Lines of cells as columns, two spaces apart. `right` says for each column whether it is right-aligned."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        yield "  ".join(
            cell.rjust(width) if at_right else cell.ljust(width)
            for cell, width, at_right in zip(line, widths, right, strict=True)
        )
