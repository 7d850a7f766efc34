"""A table drawn into files: SVG and HTML."""

from __future__ import annotations

from kidx.errors import CannotRead, UsageError
from kidx.logdir.names import parse_file_name
from kidx.report.screens.pictures import html_page, picture_of
from kidx.tables.table import Table


def draw(table: Table, svg: str | None, html: str | None) -> Table:
    """Write the pictures; the same table, to be read once more. Raises UsageError where there is nothing to draw.

    A path that is named like one of Kafka's files is refused, whether it is there or not.
    """
    rows = list(table.rows)
    if svg:
        drawing = picture_of(table, rows)
        if drawing is None:
            raise UsageError(
                "--svg draws page maps (look-ups, workloads, --grow) and --simulate's faults; use --html here"
            )
        _write(svg, drawing.svg())
    if html:
        _write(html, html_page("kidx trace", table, rows))
    return Table(table.schema, table.columns, rows, table.summary, notes=table.notes)


def _write(path: str, text: str) -> None:
    if parse_file_name(path) is not None:
        raise UsageError(f"{path}: named like one of Kafka's own files; kidx draws into none of those")
    try:
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
    except OSError as e:
        raise CannotRead(f"{path}: cannot be written: {(e.strerror or str(e)).lower()}") from None
