"""The screen of kidx state: one table for each kind of fact."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import IO, Any

from kidx.report.screens.lines import aligned, named_rows, write_lines
from kidx.tables.table import Table
from kidx.text.escaping import plain
from kidx.text.quantities import iso_time

_WIDEST = 48  # characters of one cell
_NUMBERS = (int, float)
_LAG = {"log_start_offset": "log start", "log_end_offset": "log end", "lag": "lag", "out_of_range": "out of range"}
_EMPTY: tuple[Any, ...] = (None, "", [])  # a column that holds nothing else is left out


def show(table: Table, out: IO[str] | None = None, *, iso: bool = False) -> None:
    """Write kidx.state.v1 or kidx.state_difference.v1 to `out` (standard output)."""
    write_lines(_lines(list(named_rows(table)), table.summary or {}, iso), out)


def _lines(rows: list[dict[str, Any]], summary: Mapping[str, Any], iso: bool) -> Iterator[str]:
    counted = [_count(summary[what], what) for what in ("facts", "differences") if what in summary]
    where = summary["partition"] or f"{len(summary['partitions'])} partitions"
    yield f"{plain(where)}: {counted[0]} from {_count(summary['records'], 'records')}"
    for kind, group in groupby(rows, key=lambda row: row["kind"]):
        facts = list(group)
        yield ""
        yield f"{kind}: {len(facts):,}"
        yield from _table([_flat(row, iso) for row in facts])


def _count(number: int, what: str) -> str:
    return f"{number:,} {what if number != 1 else what[:-1]}"


def _flat(row: Mapping[str, Any], iso: bool) -> dict[str, Any]:
    """A fact as one level of columns: the fields of its key, then those of its value or of its change."""
    flat = dict(row["key"])
    if "change" in row:
        flat["change"] = row["change"]
        before, after = row["before"] or {}, row["after"] or {}
        changed = [name for name in {**before, **after} if before.get(name) != after.get(name)]
        flat["before"] = {name: before[name] for name in changed if name in before} or None
        flat["after"] = {name: after[name] for name in changed if name in after} or None
    else:
        flat |= {name: value for name, value in row["value"].items() if name not in flat}
        flat |= {title: row[name] for name, title in _LAG.items()}
    flat["at offset"] = row["offset"]
    flat["at time"] = iso_time(row["timestamp"]) if iso else row["timestamp"]
    return flat


def _table(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    names = [
        name
        for name in dict.fromkeys(n for row in rows for n in row)
        if any(row.get(name) not in _EMPTY for row in rows)
    ]
    cells = [[_cell(row.get(name)) for name in names] for row in rows]
    right = [all(isinstance(row.get(name), _NUMBERS) for row in rows) for name in names]
    for line in aligned([[plain(name) for name in names], *cells], right):
        yield f"  {line}"


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = plain(text) or '""'
    return text if len(text) <= _WIDEST else text[: _WIDEST - 3] + "..."
