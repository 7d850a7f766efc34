"""The screen of kidx startup: the verdict, then what is lost, then the work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import IO, Any

from kidx.report.screens.lines import aligned, named_rows, write_lines
from kidx.tables.startup import StartTables
from kidx.text.escaping import plain
from kidx.text.quantities import counted, size_text

Row = Mapping[str, Any]
_HEADINGS = ("partition", "log start", "log end", "segments", "recovered", "read")
_MOST_LINES = 20  # of one kind of action


def show(tables: StartTables, out: IO[str] | None = None) -> None:
    """Write a predicted start to `out` (standard output)."""
    write_lines(_lines(list(named_rows(tables.actions)), list(named_rows(tables.partitions)), tables.summary), out)


def _lines(actions: Sequence[Row], partitions: Sequence[Row], summary: Row) -> Iterator[str]:
    yield from _verdict(actions, summary)
    bad = [a for a in actions if _is_bad(a)]
    if bad:
        yield ""
        yield "Lost or refused:"
        yield from (f"  {line}" for line in _grouped(bad))
    yield ""
    yield "Work:"
    yield from _work(partitions, summary)
    rest = [a for a in actions if not _is_bad(a)]
    if rest:
        yield ""
        yield "Files:"
        yield from (f"  {line}" for line in _grouped(rest))


def _is_bad(action: Row) -> bool:
    return action["action"] in ("refuse", "offline") or action["records_lost"] != 0


def _verdict(actions: Sequence[Row], summary: Row) -> Iterator[str]:
    version, lost = summary["broker_version"], summary["records_lost"]
    offline = [a for a in actions if a["action"] == "offline"]
    if not summary["starts"]:
        yield f"A broker {version} does not start:"
        yield f"  {plain(summary['reason'])}"
    elif offline:
        yield f"A broker {version} starts without {counted(len(offline), 'log dir')}{_loss(lost)}."
    elif lost == 0:
        yield f"A broker {version} starts and loses nothing."
    else:
        yield f"A broker {version} starts{_loss(lost)}."


def _loss(lost: int | None) -> str:
    if lost is None:
        return ", and loses records; how many, the files do not say"
    return f", and loses {counted(lost, 'record')}" if lost else ""


def _work(partitions: Sequence[Row], summary: Row) -> Iterator[str]:
    seconds = "" if summary["seconds"] is None else f", {summary['seconds']:,} s at {size_text(summary['rate'])}/s"
    recovered = counted(summary["recovered_segments"], "segment")
    total = counted(len(partitions), "partition")
    yield f"  {total} loaded, {recovered} recovered, {size_text(summary['bytes_read'])} read{seconds}"
    busy = [p for p in partitions if p["recovered_segments"] or p["bytes_read"]]
    for directory, group in groupby(busy, key=lambda p: p["directory"]):
        yield f"  {plain(directory)}"
        rows = [_HEADINGS, *map(_cells, group)]
        yield from (f"    {line}" for line in aligned(rows, [heading != "partition" for heading in _HEADINGS]))
    if busy and len(busy) < len(partitions):
        yield f"  {counted(len(partitions) - len(busy), 'partition')} without work"


def _cells(row: Row) -> list[str]:
    return [
        plain(row["partition"]),
        str(row["log_start_offset"]),
        str(row["log_end_offset"]),
        f"{row['segments']:,}",
        f"{len(row['recovered_segments']):,}",
        size_text(row["bytes_read"], unit="B"),
    ]


def _grouped(actions: Sequence[Row]) -> Iterator[str]:
    """A line an action, the first ones of each kind and rule; the others are counted."""
    by_kind: dict[tuple[str, str], list[Row]] = {}
    for action in actions:
        by_kind.setdefault((action["action"], action["rule"]), []).append(action)
    for (kind, rule), rows in by_kind.items():
        for row in rows[:_MOST_LINES]:
            yield f"{kind:<8} {plain(row['file'] or row['directory'])}: {plain(row['why'])}{_lost(row)} [{rule}]"
        if len(rows) > _MOST_LINES:
            yield f"{kind:<8} {len(rows) - _MOST_LINES:,} more [{rule}]"


def _lost(row: Row) -> str:
    lost = row["records_lost"]
    if lost is None:
        return "; loses an unknown number of records"
    return f"; loses {counted(lost, 'record')}" if lost else ""
