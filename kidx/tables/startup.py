"""What a broker does at its next start, as rows: its actions, its partitions, and what they add up to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from kidx.exit_status import CLEAN, FINDINGS, UNREADABLE
from kidx.startup.log_manager import predict
from kidx.startup.outcome import OFFLINE, REFUSE, TRUNCATE, Action, PartitionStart, Prediction
from kidx.startup.versions import LATEST
from kidx.tables.table import BOOL, INT, TEXT, TREE, Column, Notes, Table

_ACTION_COLUMNS = (
    Column("action", TEXT),
    Column("directory", TEXT),
    Column("partition", TEXT),
    Column("segment"),
    Column("file", TEXT),
    Column("bytes_before", unit="bytes"),
    Column("bytes_after", unit="bytes"),
    Column("records_lost", INT, "records"),
    Column("why", TEXT),
    Column("rule", TEXT),
)
_PARTITION_COLUMNS = (
    Column("directory", TEXT),
    Column("partition", TEXT),
    Column("log_start_offset"),
    Column("log_end_offset"),
    Column("recovery_point"),
    Column("segments"),
    Column("recovered_segments", TREE),
    Column("bytes_read", unit="bytes"),
)
SUMMARY_COLUMNS = (
    Column("starts", BOOL),
    Column("reason", TEXT),
    Column("offline_dirs", TREE),
    Column("partitions"),
    Column("recovered_segments"),
    Column("bytes_read", unit="bytes"),
    Column("truncated_bytes", unit="bytes"),
    Column("records_lost"),
    Column("broker_version", TEXT),
    Column("asked_version", TEXT),
    Column("rate", unit="bytes/s"),
    Column("seconds"),
)


class StartTables(NamedTuple):
    """The actions, then the partitions, whose summary is that of the start and whose notes tell the status."""

    actions: Table
    partitions: Table

    @property
    def summary(self) -> Mapping[str, Any]:
        """kidx.startup_summary.v1."""
        return self.partitions.summary or {}


def startup_tables(log_dirs: Sequence[str], version: str | None = None, rate: int | None = None) -> StartTables:
    """kidx.startup_action.v1 and kidx.startup_partition.v1 of a broker's next start on its log dirs.

    `version` is the broker's (the latest known), `rate` the bytes that it reads a second. The status is UNREADABLE
    where something could not be read, FINDINGS where the broker refuses, a log dir goes offline or records are lost.
    """
    asked = LATEST.name if version is None else version
    start = predict([path.rstrip("/") or path for path in log_dirs], asked)
    notes = _notes(start, asked)
    actions = [_action_row(action) for action in start.actions]
    partitions = [_partition_row(partition) for partition in start.partitions]
    return StartTables(
        Table("kidx.startup_action.v1", _ACTION_COLUMNS, actions),
        Table("kidx.startup_partition.v1", _PARTITION_COLUMNS, partitions, _summary(start, asked, rate), notes=notes),
    )


def _action_row(action: Action) -> tuple[Any, ...]:
    return (
        action.action,
        action.directory,
        action.partition,
        action.segment,
        action.file,
        action.bytes_before,
        action.bytes_after,
        action.records_lost,
        action.why,
        action.behaviour.name,
    )


def _partition_row(partition: PartitionStart) -> tuple[Any, ...]:
    return (*partition[:6], list(partition.recovered_segments), partition.bytes_read)


def _summary(start: Prediction, asked: str, rate: int | None) -> dict[str, Any]:
    bytes_read = sum(p.bytes_read for p in start.partitions)
    cuts = [a for a in start.actions if a.action == TRUNCATE]
    lost = [a.records_lost for a in start.actions]
    values = (
        start.starts,
        start.reason,
        list(start.offline_dirs),
        len(start.partitions),
        sum(len(p.recovered_segments) for p in start.partitions),
        bytes_read,
        sum(max(0, (a.bytes_before or 0) - (a.bytes_after or 0)) for a in cuts),
        None if None in lost else sum(n or 0 for n in lost),
        start.version,
        asked,
        rate,
        None if rate is None else round(bytes_read / rate, 1),
    )
    names = (column.name for column in SUMMARY_COLUMNS)
    return {"schema": "kidx.startup_summary.v1", **dict(zip(names, values, strict=True))}


def _notes(start: Prediction, asked: str) -> Notes:
    notes = Notes()
    if start.version != asked:
        notes.add(f"no start of {asked} is recorded; this is what {start.version} does, the nearest version that is")
    for sentence in start.unread:
        notes.add(sentence, UNREADABLE)
    for sentence in start.remarks:
        notes.add(sentence)
    bad = any(a.action in (REFUSE, OFFLINE) or a.records_lost != 0 for a in start.actions)
    notes.status = max(notes.status, FINDINGS if bad else CLEAN)
    return notes
