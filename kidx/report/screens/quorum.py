"""The screen of kidx state --quorum: which copy of the metadata log is the best, then each copy's facts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Any

from kidx.report.screens.lines import named_rows, write_lines
from kidx.tables.table import Table
from kidx.text.escaping import plain
from kidx.text.quantities import counted


def show(table: Table, out: IO[str] | None = None) -> None:
    """Write kidx.quorum.v1 to `out` (standard output)."""
    write_lines(_lines(list(named_rows(table))), out)


def _lines(rows: list[dict[str, Any]]) -> Iterator[str]:
    yield f"best seed for a recovery: {plain(rows[0]['directory'])}, of {counted(len(rows), 'copy', 'copies')}"
    for row in rows:
        yield ""
        yield plain(row["directory"]) + ("" if row["node_id"] is None else f"  (node {row['node_id']})")
        yield f"  {plain(row['why'])}"
        start, end = row["log_start_offset"], row["log_end_offset"]
        yield f"  log         offsets {start} to {end}, last epoch {row['last_epoch']}"
        snapshots = ", ".join(f"{s['end_offset']} (epoch {s['epoch']})" for s in row["snapshots"])
        yield f"  snapshots   {snapshots or 'none'}"
        if row["leader_epoch"] is not None:
            leader, vote = (("none" if row[name] in (-1, None) else row[name]) for name in ("leader_id", "voted_id"))
            yield f"  quorum      epoch {row['leader_epoch']}, leader {leader}, voted for {vote}"
        if row["voters"] is not None:
            yield f"  voters      {', '.join(map(str, row['voters'])) or 'none'}"
