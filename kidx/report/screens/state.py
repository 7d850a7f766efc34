"""The screen of kidx state: one table for each kind of fact."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import IO, Any

from kidx.report.screens.lines import aligned, named_rows, write_lines
from kidx.tables.table import Table
from kidx.text.escaping import plain
from kidx.text.output import exact_output
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
        if "differences" in summary:
            yield from (f"  {_in_words(row, iso)}" for row in facts)
        else:
            yield from _table([_flat(row, iso) for row in facts])


def _count(number: int, what: str) -> str:
    return f"{number:,} {what if number != 1 else what[:-1]}"


def _flat(row: Mapping[str, Any], iso: bool) -> dict[str, Any]:
    """A fact as one level of columns: the fields of its key, then those of its value."""
    flat = dict(row["key"])
    flat |= {name: value for name, value in row["value"].items() if name not in flat}
    flat |= {title: row[name] for name, title in _LAG.items()}
    flat["at offset"] = row["offset"]
    flat["at time"] = iso_time(row["timestamp"]) if iso else row["timestamp"]
    return flat


def _in_words(row: Mapping[str, Any], iso: bool) -> str:
    """A difference as one line: `orders-3 changed at offset 129: leader 1 → none`."""
    before, after = row["before"] or {}, row["after"] or {}
    changes = []
    for name in dict.fromkeys((*before, *after)):
        was, now = before.get(name), after.get(name)
        if row["change"] == "changed" and was != now:
            changes.append(f"{name} {_word(name, was)} → {_word(name, now)}")
        elif row["change"] == "added" and now not in _EMPTY:
            changes.append(f"{name} {_word(name, now)}")
    when = "" if row["offset"] is None else f" at offset {row['offset']}"
    if iso and (moment := iso_time(row["timestamp"])):
        when += f" ({moment})"
    return f"{_name(row['key'])} {row['change']}{when}" + (f": {', '.join(changes)}" if changes else "")


def _name(key: Mapping[str, Any]) -> str:
    """What a fact is about, in short: its key's values, a topic and a partition as `orders-3`."""
    parts = [_cell(value) for name, value in key.items() if name not in ("topic", "partition")]
    if "topic" in key:
        parts.append(_cell(key["topic"]) + (f"-{key['partition']}" if "partition" in key else ""))
    return " ".join(parts)


def _word(name: str, value: Any) -> str:
    return "none" if value is None or (name == "leader" and value == -1) else _cell(value)


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


def write_resets(table: Table, out: IO[str] | None = None) -> None:
    """Write committed offsets as kafka-consumer-groups.sh --reset-offsets --from-file reads them.

    A line has topic, partition and offset, and first the group where there are several.
    Source: kafka.tools ConsumerGroupCommand, CsvUtils.
    """
    import csv

    rows = [row for row in named_rows(table) if row["kind"] == "committed_offset"]
    several = len({row["key"]["group"] for row in rows}) > 1
    writer = csv.writer(exact_output(out or sys.stdout), lineterminator="\n")
    for row in rows:
        key = row["key"]
        line = key["topic"], key["partition"], row["value"]["offset"]
        writer.writerow((key["group"], *line) if several else line)
