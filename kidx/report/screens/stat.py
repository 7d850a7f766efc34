"""The screen of kidx stat: one index as a list of facts, several as a table."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import IO, Any

from kidx.report.screens.lines import aligned, named_rows, write_lines
from kidx.tables.table import Table
from kidx.text.escaping import plain
from kidx.text.quantities import counted, iso_time, size_text

Row = Mapping[str, Any]
_HEADINGS = ("segment", "index", "entries", "used", "allocated", "last offset", "B/entry", "pages")


def show(
    table: Table, out: IO[str] | None = None, *, single: bool, sorted_by: str | None = None, iso: bool = False
) -> None:
    """Write kidx.stat.v1 to `out` (standard output): facts where `single`, else a table.

    The table has a heading for each directory. Where it is sorted, each row names its directory.
    """
    rows = named_rows(table)
    write_lines(_all_facts(rows, iso) if single else _table(list(rows), sorted_by), out)


def _all_facts(rows: Iterable[Row], iso: bool) -> Iterator[str]:
    for row in rows:
        yield plain(row["file"])
        for name, fact in _named_facts(row, iso):
            yield f"  {name:<14}{fact}"


def _named_facts(row: Row, iso: bool) -> Iterator[tuple[str, str]]:
    kind = row["kind"].replace("_", " ")
    yield "index", kind if row["base_offset"] is None else f"{kind}, base offset {row['base_offset']}"
    yield "entries", f"{row['entries']:,} of {row['capacity']:,} that fit into the file, {row['slack']:,} free"
    yield "size", f"{_size(row['size_bytes'])} ({row['size_bytes']:,} bytes)"
    if row["zero_tail_bytes"]:
        yield "zero tail", f"{_size(row['zero_tail_bytes'])}: preallocated, no entries"
    if row["torn_bytes"]:
        yield "torn", f"an incomplete last entry, {counted(row['torn_bytes'], 'byte')}"
    yield from _spans(row, iso)
    yield "pages", f"{row['pages']:,} of 4 KiB, {row['entries_a_page']:g} entries each"
    if row["warm_from_slot"] is not None and row["entries"]:
        last = row["entries"] - 1
        yield "warm section", f"slots {row['warm_from_slot']} to {last}, from page {row['warm_from_page']} on"


def _spans(row: Row, iso: bool) -> Iterator[tuple[str, str]]:
    if row["first_offset"] is not None:
        yield "offsets", f"{row['first_offset']} to {row['last_offset']}{_every(row['offsets_an_entry'], 'offsets')}"
    if row["first_position"] is not None:
        dense = _every(row["log_bytes_an_entry"], "bytes of log")
        yield "positions", f"{row['first_position']} to {row['last_position']}{dense}"
    if row["first_timestamp"] is not None:
        yield "times", f"{_time(row['first_timestamp'], iso)} to {_time(row['last_timestamp'], iso)}"


def _every(number: float | None, what: str) -> str:
    return "" if number is None else f", an entry every {number:,.6g} {what}"


def _time(timestamp: int, iso: bool) -> str:
    if not iso:
        return str(timestamp)
    return iso_time(timestamp) or str(timestamp)


def _table(rows: Sequence[Row], sorted_by: str | None) -> Iterator[str]:
    headings, *lines = aligned([_HEADINGS, *map(_cells, rows)], [heading != "index" for heading in _HEADINGS])
    directory = None
    if sorted_by is not None and rows:
        yield headings
    for row, line in zip(rows, lines, strict=True):
        where = plain(os.path.dirname(row["file"]) or ".")
        if sorted_by is not None:
            yield f"{line}  {where}"
            continue
        if where != directory:
            yield from ([] if directory is None else [""])
            yield where
            yield headings
            directory = where
        yield line
    yield from _totals(rows)


def _cells(row: Row) -> list[str]:
    name = plain(os.path.basename(row["file"]))
    suffixes = name.split(".")[1:]
    used = row["size_bytes"] - row["zero_tail_bytes"]
    density, last = row["log_bytes_an_entry"], row["last_offset"]
    return [
        name if row["base_offset"] is None else str(row["base_offset"]),
        ".".join([row["kind"].split("_")[0], *suffixes[1:]]),
        f"{row['entries']:,}",
        _size(used) + ("*" if row["torn_bytes"] else ""),
        _size(row["size_bytes"]),
        "-" if last is None else str(last),
        "-" if density is None else f"{density:,.0f}",
        f"{row['pages']:,}",
    ]


def _totals(rows: Sequence[Row]) -> Iterator[str]:
    entries, total = sum(r["entries"] for r in rows), sum(r["size_bytes"] for r in rows)
    zeros, torn = sum(r["zero_tail_bytes"] for r in rows), sum(r["torn_bytes"] > 0 for r in rows)
    if rows:
        yield ""
    tails = f", {_size(zeros)} of it zero tails" if zeros else ""
    yield f"{counted(len(rows), 'index', 'indexes')}, {counted(entries, 'entry', 'entries')}, {_size(total)}{tails}"
    if torn:
        yield f"* ends inside an entry (torn): {torn:,}"


def _size(number: int) -> str:
    return size_text(number, unit="B")
