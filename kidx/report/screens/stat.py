"""kidx stat on a screen: one index by its facts, many as a table."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import IO, Any

from kidx.tables.table import Table
from kidx.text.escaping import plain

Row = Mapping[str, Any]
_HEADINGS = ("segment", "index", "entries", "used", "allocated", "last offset", "B/entry", "pages")


def show(
    table: Table, out: IO[str] | None = None, *, single: bool, sorted_by: str | None = None, iso: bool = False
) -> None:
    """Write kidx.stat.v1 to `out` (standard output): facts where `single`, else a table.

    The table has a heading for each directory; sorted, it names the directory in each row.
    """
    out = out or sys.stdout
    names = [c.name for c in table.columns]
    rows = (dict(zip(names, values, strict=True)) for values in table.rows)
    for line in _all_facts(rows, iso) if single else _table(list(rows), sorted_by):
        out.write(line.rstrip() + "\n")


def _all_facts(rows: Iterable[Row], iso: bool) -> Iterator[str]:
    for row in rows:
        yield plain(row["file"])
        for name, said in _named_facts(row, iso):
            yield f"  {name:<14}{said}"


def _named_facts(row: Row, iso: bool) -> Iterator[tuple[str, str]]:
    kind = row["kind"].replace("_", " ")
    yield "index", kind if row["base_offset"] is None else f"{kind}, base offset {row['base_offset']}"
    yield "entries", f"{row['entries']:,} of {row['capacity']:,} that the file has room for, {row['slack']:,} free"
    yield "size", f"{size(row['size_bytes'])} ({row['size_bytes']:,} bytes)"
    if row["zero_tail_bytes"]:
        yield "zero tail", f"{size(row['zero_tail_bytes'])}: preallocated, no entries"
    if row["torn_bytes"]:
        torn = row["torn_bytes"]
        yield "torn", f"the last {torn} bytes are no whole entry" if torn > 1 else "the last byte is no whole entry"
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
    from kidx.text.times import iso_time

    return iso_time(timestamp) or str(timestamp)


def _table(rows: Sequence[Row], sorted_by: str | None) -> Iterator[str]:
    cells = [_cells(row) for row in rows]
    widths = [max(len(line[i]) for line in [_HEADINGS, *cells]) for i in range(len(_HEADINGS))]
    directory = None
    if sorted_by is not None and rows:
        yield _line(_HEADINGS, widths)
    for row, line in zip(rows, cells, strict=True):
        where = plain(os.path.dirname(row["file"]) or ".")
        if sorted_by is not None:
            yield f"{_line(line, widths)}  {where}"
            continue
        if where != directory:
            yield from ([] if directory is None else [""])
            yield where
            yield _line(_HEADINGS, widths)
            directory = where
        yield _line(line, widths)
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
        size(used) + ("*" if row["torn_bytes"] else ""),
        size(row["size_bytes"]),
        "-" if last is None else str(last),
        "-" if density is None else f"{density:,.0f}",
        f"{row['pages']:,}",
    ]


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(f"{c:<{w}}" if i == 1 else f"{c:>{w}}" for i, (c, w) in enumerate(zip(cells, widths, strict=True)))


def _totals(rows: Sequence[Row]) -> Iterator[str]:
    entries, total = sum(r["entries"] for r in rows), sum(r["size_bytes"] for r in rows)
    zeros, torn = sum(r["zero_tail_bytes"] for r in rows), sum(r["torn_bytes"] > 0 for r in rows)
    if rows:
        yield ""
    yield f"{len(rows):,} indexes, {entries:,} entries, {size(total)}" + (
        f", {size(zeros)} of it zero tails" if zeros else ""
    )
    if torn:
        yield f"* ends inside an entry (torn): {torn:,}"


def size(number: int) -> str:
    """Bytes as people read them: 8.0 KiB, 10.0 MiB; below 1 KiB the bytes themselves."""
    if number < 1024:
        return f"{number} B"
    value = float(number)
    for unit in ("KiB", "MiB", "GiB"):
        value /= 1024
        if value < 1024 or unit == "GiB":
            break
    return f"{value:,.1f} {unit}"
