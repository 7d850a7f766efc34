"""A table drawn into files: SVG and HTML."""

from __future__ import annotations

from kidx.errors import UsageError
from kidx.report.screens.pictures import html_page, picture_of
from kidx.surgery.output import write_picture
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
        write_picture(svg, drawing.svg())
    if html:
        write_picture(html, html_page("kidx trace", table, rows))
    return Table(table.schema, table.columns, rows, table.summary, notes=table.notes)
