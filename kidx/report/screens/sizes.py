"""The screen of kidx stat --by: what takes the disk, largest first, with shares and their running sum."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import IO, Any

from kidx.report.screens.lines import aligned, named_rows, write_lines
from kidx.tables.table import Table
from kidx.text.escaping import plain
from kidx.text.quantities import counted, size_text

_HEADINGS = ("bytes", "share", "sum", "logs", "indexes", "other", "on disk", "segments")


def show(table: Table, out: IO[str] | None = None) -> None:
    """Write kidx.size.v1 to `out` (standard output)."""
    write_lines(_lines(list(named_rows(table))), out)


def _lines(rows: list[dict[str, Any]]) -> Iterator[str]:
    if rows:
        cells = [(*_HEADINGS, rows[0]["by"]), *((*_cells(row), _name(row)) for row in rows)]
        yield from aligned(cells, [*(True for _ in _HEADINGS), False])
        yield ""
    total, logs, indexes = (sum(row[name] for row in rows) for name in ("bytes", "log_bytes", "index_bytes"))
    segments = counted(sum(row["segments"] for row in rows), "segment")
    yield f"{size_text(total)} ({total:,}): {segments}, logs {size_text(logs)}, indexes {size_text(indexes)}"


def _cells(row: Mapping[str, Any]) -> list[str]:
    on_disk = row["disk_bytes"]
    return [
        _size(row["bytes"]),
        f"{row['share']:.1%}",
        f"{row['running_share']:.1%}",
        *(_size(row[name]) for name in ("log_bytes", "index_bytes", "other_bytes")),
        "-" if on_disk is None else _size(on_disk),
        f"{row['segments']:,}",
    ]


def _name(row: Mapping[str, Any]) -> str:
    """What a row is about: a topic, a partition's directory and state, a segment, a state, or a broker."""
    by = row["by"]
    if by == "broker" and row["broker"] is not None:
        return f"broker {row['broker']}"
    if by == "topic" and row["topic"] is not None:
        return plain(row["topic"])
    if by == "state":
        return plain(row["state"])
    if row["directory"] is None:
        return "(no topic)"
    state = "" if row["state"] in (None, "live") else f" ({plain(row['state'])})"
    segment = "" if row["segment"] is None else f" {row['segment']}"
    return plain(row["directory"]) + segment + state


def _size(number: int) -> str:
    return size_text(number, unit="B")
