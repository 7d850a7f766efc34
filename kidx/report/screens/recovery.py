"""The screen of kidx recover: by partition what is there again, from where, and what is missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import IO, Any

from kidx.report.screens.lines import named_rows, write_lines
from kidx.tables.table import Table
from kidx.text.escaping import plain
from kidx.text.quantities import counted, size_text

Row = Mapping[str, Any]
_MOST_LINES = 20  # of one kind in a partition


def show(table: Table, out: IO[str] | None = None) -> None:
    """Write a recovery's report to `out` (standard output), partition after partition as they are done."""
    write_lines(_lines(table), out)


def _lines(table: Table) -> Iterator[str]:
    for partition, rows in groupby(named_rows(table), key=lambda row: row["partition"]):
        yield plain(partition) or "other directories"
        shown: dict[str, int] = {}
        for row in rows:
            shown[row["what"]] = number = shown.get(row["what"], 0) + 1
            if number <= _MOST_LINES:
                yield f"  {row['what'].replace('_', ' '):<8}  {_line(row)}"
        for what, number in shown.items():
            if number > _MOST_LINES:
                yield f"  {what.replace('_', ' '):<8}  {number - _MOST_LINES:,} more (--format jsonl has all)"
    yield ""
    yield from _verdict(table.summary or {})


def _line(row: Row) -> str:
    first, last, why = row["first_offset"], row["last_offset"], plain(row["why"] or "")
    if row["what"] == "taken":
        held = "" if row["records"] is None else f", {counted(row['records'], 'record')}"
        return f"{first} to {last} from {plain(row['source'] or 'several replicas')}: {size_text(row['bytes'])}{held}"
    if row["what"] == "left_out":
        return f"{plain(row['source'])}: {why}"
    where = "" if row["source"] is None else f" in {plain(row['source'])}"
    return f"{first} to {'?' if last is None else last}{where}: {why}"


def _verdict(summary: Row) -> Iterator[str]:
    records = "" if summary["records"] is None else f", {counted(summary['records'], 'record')}"
    where = "would be written" if summary["output"] is None else f"in {plain(summary['output'])}"
    yield f"{counted(summary['partitions'], 'partition')}{records}, {size_text(summary['bytes'])} {where}"
    if summary["missing_ranges"]:
        offsets = summary["missing_offsets"]
        count = "an unknown number of offsets" if offsets is None else counted(offsets, "offset")
        yield f"{count} missing in {counted(summary['missing_ranges'], 'range')}"
    else:
        yield "no offset is missing"
    if summary["conflicts"]:
        yield f"the replicas disagree in {counted(summary['conflicts'], 'place')}"
    if summary["output"] is not None:
        yield f"what will a broker do with it? kidx startup {plain(summary['output'])}"
