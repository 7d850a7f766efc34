"""kidx trace --svg and --html: page maps, the growing index and fault curves, as SVG or as one page of HTML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from kidx.report.formats.render import cell_text
from kidx.report.screens.svg import Drawing, Strip, chart, strips
from kidx.tables.table import Table

_SERIES = {"standard": "a", "warm": "b"}
_MOST_STRIPS = 24  # rows of a page map
_MOST_ROWS = 500

_PAGE_STYLE = """
  body { font: 15px/1.5 system-ui, sans-serif; max-width: 960px; margin: 2em auto; padding: 0 1em; color: #1d2530; background: #fff }
  table { border-collapse: collapse; font-size: 13px } td, th { border-bottom: 1px solid #c9d0d8; padding: 2px 10px 2px 0; text-align: left; white-space: nowrap }
  .wide { overflow-x: auto } svg { max-width: 100%; height: auto }
  @media (prefers-color-scheme: dark) { body { color: #e4e9ef; background: #14181d } td, th { border-color: #45505c } }
"""  # noqa: E501


def picture_of(table: Table, rows: Sequence[Sequence[Any]]) -> Drawing | None:
    """The picture of a trace, its growth, an observation or a simulation; None for a table that has none."""
    named = [dict(zip((c.name for c in table.columns), row, strict=True)) for row in rows]
    draw = {
        "kidx.trace.v1": _page_map,
        "kidx.trace_growth.v1": _growth,
        "kidx.simulation.v1": _fault_curves,
    }.get(table.schema)
    return draw(named) if draw and named else None


def html_page(title: str, table: Table, rows: Sequence[Sequence[Any]]) -> str:
    """One self-contained page: the picture, and at most _MOST_ROWS rows as a table."""
    drawing = picture_of(table, rows)
    heads = "".join(f"<th>{escape(c.name)}{f' ({escape(c.unit)})' if c.unit else ''}</th>" for c in table.columns)
    body = "".join(
        "<tr>"
        + "".join(f"<td>{escape(cell_text(c.kind, v))}</td>" for c, v in zip(table.columns, row, strict=True))
        + "</tr>"
        for row in rows[:_MOST_ROWS]
    )
    more = f"<p>{len(rows) - _MOST_ROWS:,} more rows are left out.</p>" if len(rows) > _MOST_ROWS else ""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width">'
        f"<title>{escape(title)}</title><style>{_PAGE_STYLE}</style></head><body><h1>{escape(title)}</h1>\n"
        f"{drawing.svg() if drawing else ''}"
        f'<div class="wide"><table><tr>{heads}</tr>{body}</table></div>{more}</body></html>\n'
    )


def _page_map(rows: Sequence[Mapping[str, Any]]) -> Drawing:
    first = rows[0]
    what = f"the {first['workload']} workload" if first["workload"] else "look-ups"
    notes = [f"{len(rows) - _MOST_STRIPS} more rows are not drawn"] if len(rows) > _MOST_STRIPS else []
    maps = [
        Strip(
            row["search"] + (f", {row['target']}" if row["target"] is not None else ""),
            row["file_pages"],
            {touch["page"]: touch["lookups"] for touch in row["touches"]},
            row["warm_from_page"],
            _SERIES[row["search"]],
        )
        for row in rows[:_MOST_STRIPS]
    ]
    return strips(f"Pages touched by {what}: {first['file']}", notes, maps)


def _growth(rows: Sequence[Mapping[str, Any]]) -> Drawing:
    maps, notes = [], []
    for row in rows:
        new = row["new"] if row["grown"] else []
        touches = dict.fromkeys(row["pages"], 1)
        maps.append(
            Strip(
                f"{row['search']}, {row['file_pages']} pages",
                row["file_pages"],
                touches,
                row["warm_from_page"],
                _SERIES[row["search"]],
                new,
            )
        )
        if row["grown"]:
            named = ", ".join(map(str, new)) or "none"
            notes.append(f"{row['search']} search: pages needed only since the index grew: {named}")
    return strips("The last entry's look-up, before and after the index grew by a page (KAFKA-6432)", notes, maps)


def _fault_curves(rows: Sequence[Mapping[str, Any]]) -> Drawing:
    """Index faults of the readers nearest to the log's end, added up as the indexes grow."""
    lag = min(row["lag"] for row in rows)
    rows = [row for row in rows if row["lag"] == lag]
    by_search: dict[str, dict[int, int]] = {}
    last = max((page for row in rows for page, _ in row["faults_by_index_page"]), default=0)
    for row in rows:
        name = row["search"] + (f", {row['warm_bytes']:,} bytes" if row["warm_bytes"] else "")
        faults = by_search.setdefault(name, {})
        for page, count in row["faults_by_index_page"]:
            faults[page] = faults.get(page, 0) + count
    series = []
    for name, faults in by_search.items():
        total, points = 0, []
        for page in sorted({min(faults, default=0), *faults, last}):
            total += faults.get(page, 0)
            points.append((page + 1.0, float(total)))
        series.append((f"{name}: {total:,}", points))
    policy, size = rows[0]["policy"], rows[0]["cache_bytes"]
    readers = ", ".join(dict.fromkeys(row["reader"] for row in rows))
    title = f"Page faults of index look-ups by {readers}: page cache {size / 2**20:,.0f} MiB, {policy}"
    return chart(title, "pages in each index", "faults so far", series)
