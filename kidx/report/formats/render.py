"""The formats that every command has: text, table, json, jsonl, csv."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import IO, Any

from kidx.report.formats.array_tables import FORMATS as ARRAY_FORMATS
from kidx.report.formats.array_tables import WIDEST_COLUMN, render_arrays
from kidx.tables.table import BYTES, INT, TIMESTAMP, TREE, ArrayTable, Column, Table
from kidx.text.escaping import plain
from kidx.text.output import exact_output
from kidx.text.quantities import iso_time

FORMATS = ("text", "table", "json", "jsonl", "csv")
_ANY_WIDTH = 1 << 16
_SAMPLE_ROWS = 1000  # rows looked at before text decides how wide its columns are


def render(table: Table, form: str, out: IO[str] | None = None, *, iso: bool = False) -> None:
    """Write a table to `out` (standard output) in one of FORMATS. `iso` adds an ISO 8601 column to each timestamp."""
    out = out or sys.stdout
    if iso:
        table = with_iso(table)
    if isinstance(table, ArrayTable) and form in ARRAY_FORMATS:
        render_arrays(table, form, out)
        return
    if form not in ("text", "table"):
        out = exact_output(out)
    {"text": _text, "table": _rich, "json": _json, "jsonl": _jsonl, "csv": csv_table}[form](table, out)


def with_iso(table: Table) -> Table:
    """The same rows with an ISO 8601 column after each timestamp."""
    columns: list[Column] = []
    sources: list[tuple[int, bool]] = []
    for i, column in enumerate(table.columns):
        columns.append(column)
        sources.append((i, False))
        if column.kind == TIMESTAMP:
            columns.append(Column(column.name + "_iso", "text"))
            sources.append((i, True))
    rows = (tuple(iso_time(row[i]) if wanted else row[i] for i, wanted in sources) for row in table.rows)
    return Table(table.schema, columns, rows, table.summary, constants=table.constants)


def json_value(kind: str, value: Any) -> Any:
    """A cell as JSON has it: bytes as hex, everything else as it is."""
    return value.hex() if kind == BYTES and value is not None else value


def objects(table: Table) -> Iterator[dict[str, Any]]:
    """Rows as JSON has them: the schema, what all rows share, then the cells."""
    names = [c.name for c in table.columns]
    binary = [c.name for c in table.columns if c.kind == BYTES]
    head = {"schema": table.schema, **table.constants}
    for row in table.rows:
        item = {**head, **dict(zip(names, row, strict=True))}
        for name in binary:
            item[name] = json_value(BYTES, item[name])
        yield item


def _jsonl(table: Table, out: IO[str]) -> None:
    from kidx.text.json_text import json_text

    for item in objects(table):
        out.write(json_text(item, compact=True) + "\n")
    if table.summary is not None and "schema" in table.summary:
        out.write(json_text(dict(table.summary), compact=True) + "\n")


def _json(table: Table, out: IO[str]) -> None:
    json_envelope(table.schema, [table], table.summary or {}, out)


def json_envelope(schema: str, tables: Iterable[Table], summary: Mapping[str, Any], out: IO[str]) -> None:
    """One JSON object: the schema, the rows of all the tables, the summary."""
    from kidx.text.json_text import json_text

    out.write(f'{{"schema": "{schema}", "rows": [')
    separator = "\n  "
    for table in tables:
        for item in objects(table):
            out.write(separator + json_text(item))
            separator = ",\n  "
    out.write(("" if separator == "\n  " else "\n") + f'], "summary": {json_text(dict(summary))}}}\n')


def csv_table(table: Table, out: IO[str], header: bool = True) -> None:
    """Rows under their columns' names, which `header` leaves out."""
    import csv

    from kidx.text.json_text import json_text

    writer = csv.writer(exact_output(out), lineterminator="\n")
    if header:
        writer.writerow([*table.constants, *(c.name for c in table.columns)])
    kinds = [c.kind for c in table.columns]
    constants = list(table.constants.values())
    for row in table.rows:
        writer.writerow(
            constants
            + [
                json_text(value) if kind == TREE and value is not None else json_value(kind, value)
                for kind, value in zip(kinds, row, strict=True)
            ]
        )


def cell_text(kind: str, value: Any) -> str:
    """A cell as a person reads it; `-` where it is absent."""
    if value is None:
        return "-"
    if value is True or value is False:
        return "yes" if value else "no"
    if kind == BYTES:
        return str(value.hex())
    if kind == TREE:
        from kidx.text.json_text import json_text

        return plain(json_text(value))
    return plain(str(value))


def _text(table: Table, out: IO[str]) -> None:
    """Aligned columns under their names, numbers to the right; widths from the first rows: long output streams."""
    kinds = [c.kind for c in table.columns]
    rows = iter(table.rows)
    sample = []
    for row in rows:
        sample.append([cell_text(kind, value) for kind, value in zip(kinds, row, strict=True)])
        if len(sample) >= _SAMPLE_ROWS:
            break
    widths = [min(WIDEST_COLUMN, max([len(c.name), *(len(r[i]) for r in sample)])) for i, c in enumerate(table.columns)]
    right = [c.kind in (INT, TIMESTAMP) for c in table.columns]
    line = _liner(widths, right)
    out.write(line([c.name for c in table.columns]))
    for cells in sample:
        out.write(line(cells))
    for row in rows:
        out.write(line([cell_text(kind, value) for kind, value in zip(kinds, row, strict=True)]))


def _liner(widths: Sequence[int], right: Sequence[bool]) -> Callable[[Sequence[str]], str]:
    form = "  ".join(f"%{width}s" if at_right else f"%-{width}s" for width, at_right in zip(widths, right, strict=True))

    def line(cells: Sequence[str]) -> str:
        return (form % tuple(cells)).rstrip() + "\n"

    return line


def _rich(table: Table, out: IO[str]) -> None:
    from rich.console import Console
    from rich.measure import Measurement
    from rich.table import Table as RichTable

    shown = RichTable(show_edge=False)
    for column in table.columns:
        unit = f" ({column.unit})" if column.unit else ""
        shown.add_column(
            column.name + unit,
            justify="right" if column.kind in (INT, TIMESTAMP) else "left",
            overflow="fold",
        )
    from rich.text import Text

    for row in table.rows:
        shown.add_row(*(Text(cell_text(c.kind, v)) for c, v in zip(table.columns, row, strict=True)))
    console = Console(file=out)
    # Half a number is none: a table is never narrower than its longest words, even where lines then wrap.
    needed = Measurement.get(console, console.options.update(max_width=_ANY_WIDTH), shown).minimum
    console.width = max(console.width, needed)
    console.print(shown)
