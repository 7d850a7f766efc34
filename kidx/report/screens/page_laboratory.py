"""The screens of kidx trace --resident, --observe and --simulate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import IO, Any

from kidx.report.screens.lines import aligned, named_rows, write_lines
from kidx.tables.table import Table
from kidx.text.escaping import plain

Row = Mapping[str, Any]
_MOST_RUNS = 40


def show(table: Table, out: IO[str] | None = None) -> None:
    """Write kidx.residency.v1, kidx.observation.v1 or kidx.simulation.v1 to `out` (standard output)."""
    lines_of = {
        "kidx.residency.v1": _residency,
        "kidx.observation.v1": _observation,
        "kidx.simulation.v1": _simulation,
    }[table.schema]
    write_lines(lines_of(named_rows(table)), out)


def runs(pages: Sequence[int]) -> str:
    """Ascending page numbers with neighbours joined, `0-3 7 9-12`; at most _MOST_RUNS runs are listed."""
    parts: list[list[int]] = []
    for page in pages:
        if parts and page == parts[-1][1] + 1:
            parts[-1][1] = page
        else:
            parts.append([page, page])
    shown = [str(a) if a == b else f"{a}-{b}" for a, b in parts[:_MOST_RUNS]]
    if len(parts) > _MOST_RUNS:
        shown.append(f"... ({len(parts) - _MOST_RUNS} more runs)")
    return " ".join(shown) or "none"


def _residency(rows: Iterator[Row]) -> Iterator[str]:
    first = True
    for row in rows:
        if first:
            name, pages = plain(row["file"]), row["pages"]
            if row["resident"] is None:
                yield f"{name}: {pages} pages; which of them are in memory is unknown: {row['why']}"
            else:
                yield f"{name}: {len(row['resident'])} of {pages} pages in memory: {runs(row['resident'])}"
            first = False
        if row["target"] is None:
            continue
        asked = f"look-up of {row['target']}, {row['search']}: needs pages {_pages(row['predicted'])}"
        if row["would_fault"] is None:
            yield f"{asked}; its faults are unknown"
        else:
            yield f"{asked}; would fault on {len(row['would_fault'])}: {_pages(row['would_fault'])}"


def _observation(rows: Iterator[Row]) -> Iterator[str]:
    equal = total = 0
    for row in rows:
        total += 1
        yield f"look-up of {row['target']}, {row['search']} search"
        yield f"  predicted  {_pages(sorted(row['predicted']))}"
        if row["observed"] is None:
            yield f"  observed   nothing: {row['why']}"
            continue
        same = sorted(row["predicted"]) == row["observed"]
        equal += same
        faults = f"{row['faults']} fault{'' if row['faults'] == 1 else 's'}, {row['microseconds']:,} us"
        yield f"  observed   {_pages(row['observed'])}   {'equal' if same else 'NOT EQUAL'}; {faults}"
    yield f"{equal} of {total} observed as predicted"


def _pages(pages: Sequence[int]) -> str:
    return " ".join(map(str, pages)) or "none"


def _simulation(rows: Iterator[Row]) -> Iterator[str]:
    every = list(rows)
    yield f"page cache {every[0]['cache_bytes']:,} bytes, {every[0]['policy']}; faults are pages read from disk"
    heads = ("search", "warm", "reader", "look-ups", "index faults", "log faults", "p99", "worst", "bytes read")
    cells = [
        (
            row["search"],
            "-" if row["warm_bytes"] is None else f"{row['warm_bytes']:,}",
            plain(row["reader"]),
            *(f"{row[name]:,}" for name in ("lookups", "index_faults", "log_faults")),
            *("-" if row[name] is None else f"{row[name]:,}" for name in ("p99", "worst")),
            f"{row['bytes_read']:,}",
        )
        for row in every
    ]
    yield from aligned([heads, *cells], [head not in ("search", "reader") for head in heads])
    yield ""
    yield "index faults by how full the index's last page was, in eighths (they jump right after a page has filled):"
    for row in every:
        if row["index_faults"]:
            fill = "  ".join(f"{count:,}" for count in row["faults_by_page_fill"])
            warm = "" if row["warm_bytes"] is None else f" {row['warm_bytes']:,}"
            yield f"  {row['search']}{warm}, {plain(row['reader'])}:  {fill}"
    if not any(row["index_faults"] for row in every):
        yield "  none"
