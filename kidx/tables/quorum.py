"""Copies of the metadata log, held against each other: how far each one goes, where they diverge, which one is best.

Source of the order: org.apache.kafka.raft.OffsetAndEpoch, by which a voter compares a candidate's log with its own: the
larger epoch of the last record wins, then the larger end offset. A copy is counted up to its last whole batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from kidx.checks.engine.result import CheckResult
from kidx.checks.replicas.batch_stream import BatchStream
from kidx.checks.replicas.comparison import Comparison, Sides
from kidx.checks.replicas.logs import compare_logs
from kidx.errors import KidxError, UsageError
from kidx.evidence import open_evidence, read_file
from kidx.exit_status import FINDINGS, UNREADABLE
from kidx.formats.checkpoints import parse_quorum_state
from kidx.formats.control import KRAFT_VOTERS, parse_control
from kidx.logdir.log_dir import LogDir
from kidx.logdir.names import LOG, METADATA_SNAPSHOT, parse_file_name
from kidx.logdir.tree import Partition
from kidx.segments.records import read_records
from kidx.segments.walk import walk
from kidx.state.internal_topics import LogDirs
from kidx.tables.table import BOOL, TEXT, TREE, Column, Notes, Table
from kidx.text.quantities import counted

_COLUMNS = (
    Column("directory", TEXT),
    Column("cluster_id", TEXT),
    Column("node_id"),
    Column("log_start_offset"),
    Column("log_end_offset"),
    Column("last_epoch"),
    Column("snapshots", TREE),
    Column("leader_id"),
    Column("leader_epoch"),
    Column("voted_id"),
    Column("voters", TREE),
    Column("diverges_at"),
    Column("best", BOOL),
    Column("why", TEXT),
)


class _Copy(NamedTuple):
    """A metadata log: its ends and the epoch of its last record, None where it has no batch; what quorum-state says."""

    partition: Partition
    log_dir: LogDir
    start: int
    end: int
    last_epoch: int
    snapshots: list[tuple[int, int]]
    quorum_state: dict[str, Any]
    voters: list[int] | None
    damage: str | None

    @property
    def rank(self) -> tuple[int, int]:
        """How Raft compares logs: the largest is the best."""
        return self.last_epoch, self.end


def quorum_table(paths: Iterable[str]) -> Table:
    """kidx.quorum.v1: a row a copy of __cluster_metadata-0 at or below the paths, the best for a recovery first.

    `diverges_at` is the first offset at which a copy differs from the best one; the status is FINDINGS where one does,
    or is damaged. Raises UsageError where there are fewer than two copies.
    """
    notes = Notes()
    found = [p for p in LogDirs(paths).partitions if p.name and p.name[:2] == ("__cluster_metadata", 0)]
    if len(found) < 2:
        raise UsageError("--quorum compares copies of __cluster_metadata-0; name two or more controllers' directories")
    copies = sorted((_read(p, notes) for p in found), key=lambda copy: copy.rank, reverse=True)
    best = copies[0]
    identities = {copy.log_dir.identity.cluster_id for copy in copies} - {None}
    if len(identities) > 1:
        raise UsageError(f"these copies belong to several clusters: {', '.join(sorted(map(str, identities)))}")
    rows = [_row(copy, best, notes) for copy in copies]
    return Table("kidx.quorum.v1", _COLUMNS, rows, notes=notes)


def _row(copy: _Copy, best: _Copy, notes: Notes) -> Sequence[Any]:
    diverges = None if copy is best else _first_difference(best.partition, copy.partition)
    if diverges is not None or copy.damage:
        notes.status = max(notes.status, FINDINGS)
    identity, state = copy.log_dir.identity, copy.quorum_state
    return (
        copy.partition.directory, identity.cluster_id, identity.node_id, copy.start, copy.end, copy.last_epoch,
        [{"end_offset": end, "epoch": epoch} for end, epoch in copy.snapshots],
        state.get("leaderId"), state.get("leaderEpoch"), state.get("votedId"), copy.voters, diverges, copy is best,
        _why(copy, best, diverges),
    )  # fmt: skip


def _why(copy: _Copy, best: _Copy, diverges: int | None) -> str:
    damaged = f"; {copy.damage}" if copy.damage else ""
    if copy is best:
        return f"the last epoch is {copy.last_epoch}, and no copy of that epoch goes further than {copy.end}{damaged}"
    if diverges is not None:
        lost = counted(copy.end - diverges, "offset")
        return f"differs from the best copy from offset {diverges} on: a restart cuts these {lost} off{damaged}"
    behind = best.end - copy.end
    return (f"{counted(behind, 'offset')} behind the best copy" if behind else "the same as the best copy") + damaged


def _first_difference(best: Partition, other: Partition) -> int | None:
    """The first offset at which two logs have different batches, None where one continues the other."""
    comparison = Comparison()
    compare_logs(Sides(best, other, "", (best.directory, other.directory), comparison))
    return min((d.offset for d in comparison.differences if not d.allowed and d.offset is not None), default=None)


def _read(partition: Partition, notes: Notes) -> _Copy:
    checked = CheckResult()
    stream = BatchStream(partition, checked)
    first: int | None = None
    end, epoch, damage = 0, -1, None
    while (row := stream.head()) is not None:
        if not row.crc_ok:
            damage = f"the batch at offset {row.batch.base_offset} is damaged: nothing from there on counts"
            break
        first = row.batch.base_offset if first is None else first
        end, epoch = row.batch.last_offset + 1, row.batch.leader_epoch
        stream.advance()
    snapshots = sorted(_snapshots(partition))
    if snapshots and snapshots[-1][0] > end:  # a log begins anew after a snapshot that goes further
        end, epoch = snapshots[-1]
    for sentence in checked.unread:
        damage = damage or sentence
        notes.add(sentence, UNREADABLE)
    state = _quorum_state(partition, notes)
    return _Copy(
        partition, LogDir(partition.log_dir), end if first is None else first, end, epoch, snapshots, state,
        _voters(partition, state, notes), damage,
    )  # fmt: skip


def _snapshots(partition: Partition) -> list[tuple[int, int]]:
    """The end offset and epoch of each metadata snapshot."""
    names = (parse_file_name(f.path) for f in partition.files if f.kind == METADATA_SNAPSHOT and not f.name.state)
    return [(n.base_offset, int(n.tag)) for n in names if n and n.base_offset is not None and n.tag]


def _quorum_state(partition: Partition, notes: Notes) -> dict[str, Any]:
    path = next((f.path for f in partition.files if f.kind == "quorum_state"), None)
    if path is None:
        return {}
    try:
        return parse_quorum_state(read_file(path))
    except KidxError as e:
        notes.add(str(e), e.exit_status)
        return {}


def _voters(partition: Partition, state: dict[str, Any], notes: Notes) -> list[int] | None:
    """The voters' ids: the last KRAFT_VOTERS record (KIP-853), else those of quorum-state; None without either."""
    found: list[int] | None = None
    listed = state.get("currentVoters")
    if isinstance(listed, list):
        found = [v["voterId"] for v in listed if isinstance(v, dict) and isinstance(v.get("voterId"), int)]
    newest = max((f.path for f in partition.files if f.kind == METADATA_SNAPSHOT and not f.name.state), default=None)
    logs = [s.files[LOG].path for s in partition.segments]
    for path in [newest, *logs] if newest else logs:
        found = _last_voters(path, notes) or found
    return found


def _last_voters(path: str, notes: Notes) -> list[int] | None:
    found = None
    try:
        with open_evidence(path) as evidence:
            for batch in walk(evidence):
                for record in read_records(evidence, batch).records if batch.control else ():
                    control = parse_control(record.key, record.value)
                    if control and control.type_id == KRAFT_VOTERS and control.fields:
                        found = [voter["voterId"] for voter in control.fields["voters"]]
    except KidxError as e:
        notes.add(str(e), e.exit_status)
    return found
