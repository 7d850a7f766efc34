"""The screen of kidx trace: both searches below each other, a file's pages as a line of marks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import IO, Any

from kidx.report.screens.lines import named_rows, write_lines
from kidx.report.screens.page_map import PageMap, in_words, page_list
from kidx.tables.table import Table
from kidx.text.escaping import plain
from kidx.text.quantities import counted

Row = Mapping[str, Any]
_MARGIN = 10


def show(table: Table, out: IO[str] | None = None, *, color: bool = False) -> None:
    """Write kidx.trace.v1 or kidx.trace_growth.v1 to `out` (standard output)."""
    rows = named_rows(table)
    growth = table.schema == "kidx.trace_growth.v1"
    write_lines(_growth_lines(list(rows), color) if growth else _trace_lines(rows, color), out)


def _trace_lines(rows: Iterator[dict[str, Any]], color: bool) -> Iterator[str]:
    drawn: PageMap | None = None
    shown: object = None
    for row in rows:
        if drawn is None:
            drawn = _map_of(row, color)
            yield f"{plain(row['file'])}: {counted(row['entries'], 'entry', 'entries')}, {_pages(row['file_pages'])}"
            if drawn.pages_a_mark > 1:
                yield f"each mark is {drawn.pages_a_mark} pages; the most touched one counts"
        asked = (row["workload"], row["target"])
        if asked != shown:
            if shown is not None:
                yield ""
            shown = asked
            yield from _heading(row, drawn)
        touched = {touch["page"]: touch["lookups"] for touch in row["touches"]}
        yield f"{row['search']:<{_MARGIN}}{drawn.line(touched, row['lookups'])}"
        yield from _cost(row)
    if drawn is not None:
        yield f"{'':<{_MARGIN}}{drawn.sections()}   warm section: from slot {row['warm_from_slot']}"


def _heading(row: Row, drawn: PageMap) -> Iterator[str]:
    if row["workload"] is None:
        yield f"look-up of {row['target']}"
    else:
        yield f"workload {row['workload']}: {counted(row['lookups'], 'look-up')}"
        yield f"{'':<{_MARGIN}}{drawn.legend()}"
    yield f"{'':<{_MARGIN}}{drawn.ruler()}"


def _cost(row: Row) -> Iterator[str]:
    if row["workload"] is None:
        probes, pages = len(row["probes"]), row["pages"]
        yield f"{'':<{_MARGIN}}{counted(probes, 'probe')}, {_pages(len(pages))}: {page_list(pages)}"
        return
    total = sum(touch["lookups"] for touch in row["touches"])
    cold = sum(1 for page in row["pages"] if page < row["warm_from_page"])
    mean = total / row["lookups"] if row["lookups"] else 0.0
    yield (f"{'':<{_MARGIN}}{_pages(len(row['pages']))} in all, {cold} of them cold; {mean:.2f} pages a look-up")


def _growth_lines(rows: list[dict[str, Any]], color: bool) -> Iterator[str]:
    before, after = rows[0], rows[1]
    yield (
        f"An index of {after['entry_size']}-byte entries grows from {before['file_pages']} to "
        f"{_pages(after['file_pages'])}, all full; its last entry is looked up."
    )
    margin = len(f"{after['file_pages']} pages  ")
    for small, large in zip(rows[::2], rows[1::2], strict=True):
        yield ""
        yield f"{_search_name(small)} search"
        drawn = _map_of(large, color)
        yield f"{'':<{margin}}{drawn.ruler()}"
        for row in (small, large):
            marks = _map_of(row, color).line(dict.fromkeys(row["pages"], 1), 1)
            yield f"{_pages(row['file_pages']):<{margin}}{marks}"
            yield f"{'':<{margin}}{page_list(row['pages'])}"
        yield f"{'':<{margin}}{drawn.sections()}"
        yield from _story(large)


def _story(row: Row) -> Iterator[str]:
    last = row["file_pages"] - 1
    old = [page for page in row["new"] if page != last]
    yield f"newly needed: {in_words(sorted(row['new']))}"
    if not old:
        yield f"page {last} was just written, so it is in memory: the look-up waits for nothing"
        return
    many = len(old) > 1
    yield (
        f"page {last} was just written; page{'s' if many else ''} {in_words(sorted(old))} "
        f"{'were' if many else 'was'} not touched before:"
    )
    yield "if the page cache has dropped them, the request waits for the disk (KAFKA-6432)"


def _map_of(row: Row, color: bool) -> PageMap:
    return PageMap(row["file_pages"], row["warm_from_page"], color=color)


def _search_name(row: Row) -> str:
    return "Warm-section" if row["search"] == "warm" else "Standard"


def _pages(number: int) -> str:
    return counted(number, "page")
