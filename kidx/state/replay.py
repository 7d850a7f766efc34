"""Replaying a partition of one of Kafka's internal topics up to a moment."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import NamedTuple, Protocol

from kidx.errors import CannotRead, UsageError
from kidx.evidence import must_exist, open_evidence
from kidx.formats.batches import Batch
from kidx.formats.control import control_type
from kidx.formats.records import Record
from kidx.formats.schemas.topics import FAMILY_OF_TOPIC, METADATA, REMOTE
from kidx.logdir.names import LOG, METADATA_SNAPSHOT
from kidx.logdir.tree import Partition
from kidx.segments.walk import END, PREALLOCATED
from kidx.state import cluster, coordinators, remote_log
from kidx.state.cluster import ClusterState
from kidx.state.coordinators import CoordinatorState
from kidx.state.facts import Facts
from kidx.state.remote_log import RemoteLogState

_SNAPSHOT_NAME = re.compile(r"(\d{20})-(\d{10})\.checkpoint")


class Moment(NamedTuple):
    """Before `offset` (all records below it count), or at `timestamp_ms` (all up to it); None, None: the log's end."""

    offset: int | None = None
    timestamp_ms: int | None = None

    def reached(self, record: Record) -> bool:
        """Whether a record lies after the moment."""
        if self.offset is not None:
            return record.offset >= self.offset
        return self.timestamp_ms is not None and record.timestamp > self.timestamp_ms


class State(NamedTuple):
    """The facts at a moment. `problems` are sentences: what could not be read, and what may therefore be missing."""

    facts: Facts
    records: int
    problems: list[str]


class _Replayer(Protocol):
    facts: Facts
    undecoded: int


def family_of(partition: Partition, given: str | None = None) -> str:
    """The internal topic that a directory belongs to, by its name or as given. Raises UsageError, CannotRead."""
    family = given
    if family is None and partition.name is not None:
        family = FAMILY_OF_TOPIC.get(partition.name.topic)
    if family is None:
        must_exist(partition.directory)
        known = ", ".join(FAMILY_OF_TOPIC)
        raise UsageError(
            f"{partition.directory}: its name is not one of Kafka's own topics ({known}); name the topic with --decoder"
        )
    return family


def kinds_of(family: str) -> list[str]:
    """Every kind of fact that a family's records can state."""
    if family == REMOTE:
        return list(remote_log.KINDS)
    return list(cluster.KINDS) if family == METADATA else coordinators.kinds_of(family)


def state_at(partition: Partition, family: str, moment: Moment) -> State:
    """Replay a partition up to a moment. Raises CannotRead for a directory without logs or snapshots."""
    problems: list[str] = []
    if family == METADATA:
        whole = ClusterState()
        count = _replay_cluster(partition, whole, moment, problems)
        return _finished(whole, count, problems)
    if not partition.segments:
        raise CannotRead(f"{partition.directory}: there is no segment in it (no .log file)")
    if family == REMOTE:
        remote_log, count = replay_remote_log(partition, moment, problems)
        remote_log.finish()
        return _finished(remote_log, count, problems)
    coordinator = CoordinatorState(family)
    count = 0
    _say_where_history_begins(partition, moment, problems)
    for batch, record in _records(partition, 0, problems):
        if moment.reached(record):
            if moment.offset is not None:
                break
            continue
        if batch.control:
            marker = control_type(record.key)
            if marker is not None:
                coordinator.end_transaction(batch.producer_id, marker)
        else:
            count += 1
            coordinator.replay(batch, record)
    return _finished(coordinator, count, problems)


def replay_remote_log(partition: Partition, moment: Moment, problems: list[str]) -> tuple[RemoteLogState, int]:
    """Replay a partition of __remote_log_metadata: its state, and the number of records. Adds to `problems`."""
    state, count = RemoteLogState(), 0
    for batch, record in _records(partition, 0, problems):
        if moment.reached(record):
            if moment.offset is not None:
                break
        elif not batch.control:
            count += 1
            state.replay(record)
    return state, count


def _finished(replayer: _Replayer, records: int, problems: list[str]) -> State:
    if replayer.undecoded:
        problems.append(f"{replayer.undecoded} records could not be understood: kidx dump --decode shows them")
    return State(replayer.facts, records, problems)


def _replay_cluster(partition: Partition, whole: ClusterState, moment: Moment, problems: list[str]) -> int:
    """The newest snapshot that does not lie after the moment, then the log from its end."""
    start, count = 0, 0
    for end_offset, path in _snapshots(partition):
        if moment.offset is not None and end_offset > moment.offset:
            continue
        records = [record for batch, record in _records_of(path, problems) if not batch.control]
        if any(moment.reached(r) for r in records[-1:]) and moment.timestamp_ms is not None:
            continue
        for record in records:
            whole.replay(record, in_snapshot=True)
        start, count = end_offset, len(records)
        break
    else:
        if not partition.segments:
            raise CannotRead(f"{partition.directory}: there is no log and no snapshot up to that moment in it")
        if partition.segments[0].base_offset > 0:
            first = partition.segments[0].base_offset
            problems.append(f"the log begins at offset {first}, and no snapshot up to there is left: facts are missing")
    for batch, record in _records(partition, start, problems):
        if moment.reached(record):
            break
        if not batch.control:
            count += 1
            whole.replay(record)
    return count


def _snapshots(partition: Partition) -> list[tuple[int, str]]:
    """(end offset, path) of the metadata snapshots, newest first."""
    found = []
    for file in partition.files:
        match = _SNAPSHOT_NAME.fullmatch(os.path.basename(file.path))
        if file.kind == METADATA_SNAPSHOT and match:
            found.append((int(match[1]), int(match[2]), file.path))
    return [(end, path) for end, _, path in sorted(found, reverse=True)]


def _records(partition: Partition, start: int, problems: list[str]) -> Iterator[tuple[Batch, Record]]:
    """Every record from `start` on, segment by segment."""
    segments = partition.segments
    for i, segment in enumerate(segments):
        if i + 1 < len(segments) and segments[i + 1].base_offset <= start:
            continue
        for batch, record in _records_of(segment.files[LOG].path, problems):
            if record.offset >= start:
                yield batch, record


def _records_of(path: str, problems: list[str]) -> Iterator[tuple[Batch, Record]]:
    from kidx.segments.record_blocks import RecordDecoder
    from kidx.segments.scan import scan
    from kidx.segments.window_records import batches_in_order

    with open_evidence(path) as evidence:
        decoder, windows = RecordDecoder(evidence, partly=True), scan(evidence, check_crc=False, hold=True)
        for window in windows:
            for batch, records, damage in batches_in_order(decoder, window):
                for record in records:
                    yield batch, record
                if damage is not None:
                    problems.append(f"{path}: the batch at byte {batch.position}: {damage.why}")
        ending = windows.ending
        if ending is not None and ending.kind not in (END, PREALLOCATED):
            problems.append(f"{path}: the batches break off at byte {ending.position}: {ending.why}")


def _say_where_history_begins(partition: Partition, moment: Moment, problems: list[str]) -> None:
    """Note that a compacted topic has its past states only for offsets that were not cleaned."""
    if moment == Moment():
        return
    from kidx.lookup.partition import PartitionReader

    cleaned = PartitionReader(partition).checkpointed("cleaner-offset-checkpoint")
    if cleaned and (moment.offset is None or moment.offset < cleaned):
        problems.append(
            f"this log was compacted up to offset {cleaned}: superseded records before it are gone, "
            "so the state at earlier moments may lack facts"
        )
