"""The report on a recovery from replicas: what came from where, what is missing, what the replicas disagree about."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from kidx.exit_status import FINDINGS, UNREADABLE
from kidx.recovery.log_dir import Options, PartitionResult, Recovery
from kidx.recovery.plan import CONFLICT, LEFT_OUT, MISSING, TAKEN, ReportRow
from kidx.tables.table import TEXT, Column, Notes, Table

COLUMNS = (
    Column("partition", TEXT),
    Column("what", TEXT),
    Column("first_offset"),
    Column("last_offset"),
    Column("source", TEXT),
    Column("batches"),
    Column("records"),
    Column("bytes", unit="bytes"),
    Column("why", TEXT),
)
SUMMARY_COLUMNS = (
    Column("output", TEXT),
    Column("partitions"),
    Column("batches"),
    Column("records"),
    Column("bytes", unit="bytes"),
    Column("missing_offsets"),
    Column("missing_ranges"),
    Column("conflicts"),
    Column("left_out"),
    Column("cluster_id", TEXT),
    Column("node_id"),
    Column("directory_id", TEXT),
)


def recovery_table(
    paths: Sequence[str],
    output: str | None,
    options: Options,
    complain: Callable[[str], None],
    progress: Callable[[int, int], None] | None = None,
) -> Table:
    """kidx.recovery.v1 of a recovery into the directory `output`, or of its plan where that is None.

    The status is UNREADABLE where something could not be read, FINDINGS where something is missing. `progress` is
    called with partitions done and in all. Raises CannotRead, UsageError, Refused.
    """
    recovery = Recovery(paths, options, complain)
    results = recovery.plan() if output is None else recovery.write(output)
    summary: dict[str, Any] = {"schema": "kidx.recovery_summary.v1", **{c.name: 0 for c in SUMMARY_COLUMNS}}
    summary |= {"output": output, **{name: getattr(recovery.identity, name) for name in _IDENTITY}}
    notes = Notes()
    for sentence in recovery.sources.unread:
        notes.add(sentence, UNREADABLE)
    rows = _rows(recovery, results, summary, notes, progress)
    return Table("kidx.recovery.v1", COLUMNS, rows, summary, notes=notes)


_IDENTITY = ("cluster_id", "node_id", "directory_id")


def _rows(
    recovery: Recovery,
    results: Iterable[PartitionResult],
    summary: dict[str, Any],
    notes: Notes,
    progress: Callable[[int, int], None] | None,
) -> Iterator[ReportRow]:
    for done, result in enumerate(results, 1):
        summary["partitions"] += 1
        if not result.complete:
            notes.status = max(notes.status, FINDINGS)
        for sentence in result.unread:
            notes.add(sentence, UNREADABLE)
        for row in result.rows:
            _count(row, summary)
            yield row
        if progress is not None:
            progress(done, len(recovery.partitions))
    for row in recovery.left_out:
        summary["left_out"] += 1
        yield row
    for sentence in recovery.remarks():
        notes.add(sentence)


def _count(row: ReportRow, summary: dict[str, Any]) -> None:
    if row.what == TAKEN:
        for name in ("batches", "records", "bytes"):
            value = getattr(row, name)
            summary[name] = None if value is None or summary[name] is None else summary[name] + value
    elif row.what == MISSING:
        summary["missing_ranges"] += 1
        known = row.last_offset is not None and row.first_offset is not None and summary["missing_offsets"] is not None
        summary["missing_offsets"] = (
            summary["missing_offsets"] + row.last_offset - row.first_offset + 1 if known else None
        )
    elif row.what == CONFLICT:
        summary["conflicts"] += 1
    elif row.what == LEFT_OUT:
        summary["left_out"] += 1
