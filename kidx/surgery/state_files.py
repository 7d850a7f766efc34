"""Rebuilding what stands next to the indexes: leader epochs, producer snapshots, the checkpoints of a log dir.

Sources: LogSegment.recover and LogLoader (a recovery of every segment), UnifiedLog.rebuildProducerState,
ProducerStateManager, LeaderEpochFileCache, LogManager (checkpoints). Recovery ends at the first batch that is not
valid, and so does kidx; the log itself is not cut.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from kidx.errors import CannotRead, KidxError
from kidx.evidence import is_directory, read_file
from kidx.formats.checkpoints import EpochStart, parse_leader_epochs, parse_offset_checkpoint
from kidx.formats.producer_snapshot import parse_snapshot
from kidx.logdir import LogDir
from kidx.logdir.cluster import Cluster
from kidx.logdir.log_dir import CLEANED_TO, HIGH_WATERMARKS, LOG_STARTS, METADATA_TOPIC, RECOVERY_POINTS
from kidx.logdir.names import LOG, PRODUCER_SNAPSHOT, SEGMENT_SUFFIX, parse_file_name
from kidx.logdir.tree import Partition
from kidx.lookup.producers import ProducerStates
from kidx.segments.scan import scan
from kidx.segments.walk import END, PREALLOCATED

LEADER_EPOCHS = "leader-epoch-checkpoint"
_KINDS = (PRODUCER_SNAPSHOT, "leader_epochs", "offset_checkpoint")
CHECKPOINTS = (RECOVERY_POINTS, HIGH_WATERMARKS, LOG_STARTS, CLEANED_TO)


def is_state_file(path: str) -> bool:
    """Whether a path names a file that is rebuilt here."""
    name = parse_file_name(path)
    return name is not None and not name.state and name.kind in _KINDS


class RebuiltState(NamedTuple):
    """What a partition's log says: files by name, and the offsets that the log dir's checkpoints hold.

    `recovery_point` is the log end, or the base of the segment in which the log breaks off: a broker must recover that
    one. `said` tells where that is, empty if nowhere.
    """

    partition: Partition
    files: dict[str, bytes]
    first_base: int
    log_start_offset: int
    log_end_offset: int
    recovery_point: int
    said: str


def rebuild_state(partition: Partition, now_ms: int, log_start: int | None = None) -> RebuiltState:
    """Follow a partition's log from its first segment on. Nothing is written.

    `now_ms` is when the broker recovers: it forgets producers that were silent for a day before. `log_start` is the log
    start offset where a checkpoint tells it. Raises CannotRead, also for a partition without a log.
    """
    segments = partition.segments
    if not segments:
        raise CannotRead(f"{partition.directory}: no .log in it, and its state is rebuilt from the log alone")
    producers = ProducerStates()
    epochs: list[tuple[int, int]] = []
    snapshots: dict[int, bytes] = {}
    first_base = end = segments[0].base_offset
    recovery_point, said = None, ""
    for segment in segments:
        base = segment.base_offset
        if base != first_base:
            if base != end:
                producers.expire(now_ms)
            snapshots[base] = producers.snapshot()
            producers.expire(now_ms)
        end = base
        with segment.files[LOG].open() as log:
            windows = scan(log)
            for window in windows:
                good = min(window.bad_crc) if window.bad_crc else len(window)
                if good:
                    producers.take(window, log, rows=good)
                    epochs += new_epochs(window.column("leader_epoch")[:good], window.column("base_offset")[:good],
                                         epochs[-1][0] if epochs else -1)  # fmt: skip
                    end = int(window.last_offset[good - 1]) + 1
                if good < len(window):
                    at = int(window.position[good])
                    said = f"{log.path} breaks off at byte {at}: the CRC of a batch does not hold"
                    break
            ending = windows.ending
            if not said and ending is not None and ending.kind not in (END, PREALLOCATED):
                said = f"{log.path} breaks off at byte {ending.position}: {ending.why}"
        if said:
            recovery_point = base
            break
    if end > first_base:
        snapshots.setdefault(end, producers.snapshot())
    start = max(first_base, _log_start(partition, first_base, end) if log_start is None else log_start)
    files = {LEADER_EPOCHS: leader_epoch_bytes(epochs, start)}
    files |= {f"{offset:020d}.snapshot": data for offset, data in snapshots.items() if offset > start}
    recovery_point = end if recovery_point is None else recovery_point
    return RebuiltState(partition, files, first_base, start, end, recovery_point, said)


def new_epochs(epoch: np.ndarray, base_offset: np.ndarray, before: int) -> list[tuple[int, int]]:
    """The leader epochs above all before them, each with the base offset of its first batch."""
    highest = np.maximum.accumulate(np.concatenate(([before], epoch)))[:-1]
    new = epoch > highest
    return list(zip(epoch[new].tolist(), base_offset[new].tolist(), strict=True))


def leader_epoch_bytes(epochs: Sequence[tuple[int, int]], log_start: int) -> bytes:
    """A leader-epoch-checkpoint: of the epochs before the log start only the last stays (truncateFromStart)."""
    before = [epoch for epoch, start in epochs if start <= log_start]
    lines = [(before[-1], log_start)] if before else []
    lines += [(epoch, start) for epoch, start in epochs if start > log_start]
    return "".join(f"{line}\n" for line in ("0", len(lines), *(f"{e} {s}" for e, s in lines))).encode()


def checkpoint_bytes(offsets: Mapping[tuple[str, int], int]) -> bytes:
    """An offset checkpoint's bytes, offsets by topic and partition."""
    lines = [f"{topic} {partition} {offset}" for (topic, partition), offset in offsets.items()]
    return "".join(f"{line}\n" for line in ("0", len(lines), *lines)).encode()


def epochs_in(partition: Partition) -> list[EpochStart]:
    """The lines of a leader-epoch-checkpoint; none where it is missing, unreadable or malformed."""
    path = os.path.join(partition.directory, LEADER_EPOCHS)
    if not any(file.path == path for file in partition.files):
        return []
    try:
        epochs, problems = parse_leader_epochs(read_file(path))
    except KidxError:
        return []
    return [] if problems else epochs


def _log_start(partition: Partition, first_base: int, end: int) -> int:
    """The log start offset by the log dir's checkpoint, else by the first leader epoch, which moves with it."""
    if partition.name is not None:
        checkpoint = LogDir(os.path.dirname(os.path.normpath(partition.directory)) or ".").checkpoint(LOG_STARTS)
        start = None if checkpoint.problems else checkpoint.offsets.get(partition.name[:2])
        if start is not None and first_base <= start <= end:
            return start
    epochs = epochs_in(partition)
    return epochs[0].start_offset if epochs and first_base <= epochs[0].start_offset <= end else first_base


# ---- which files are sound


def is_sound(path: str, rebuilt: bytes) -> bool:
    """Whether a file that is there says nothing that the log contradicts. It may know more, or have forgotten."""
    try:
        data = read_file(path)
    except CannotRead:
        return False
    if path.endswith(SEGMENT_SUFFIX[PRODUCER_SNAPSHOT]):
        return _snapshot_is_sound(data, rebuilt)
    return _epochs_are_sound(data, rebuilt)


def _snapshot_is_sound(data: bytes, rebuilt: bytes) -> bool:
    try:
        snapshot = parse_snapshot(data)
    except KidxError:
        return False
    whole = snapshot.crc_ok and snapshot.entry_count == len(snapshot.producers) and not snapshot.extra_bytes
    by_log = {producer.producer_id: producer for producer in parse_snapshot(rebuilt).producers}
    listed = {producer.producer_id for producer in snapshot.producers}
    agree = all(by_log.get(p.producer_id, p) == p for p in snapshot.producers)
    return whole and agree and all(p in listed for p, s in by_log.items() if s.current_txn_first_offset >= 0)


def _epochs_are_sound(data: bytes, rebuilt: bytes) -> bool:
    """Each epoch of the log is listed, from its first batch or earlier on, and none where another's batches are."""
    listed, problems = parse_leader_epochs(data)
    by_log, _ = parse_leader_epochs(rebuilt)
    starts = {line.epoch: number for number, line in enumerate(listed)}
    for epoch, first in by_log:
        number = starts.get(epoch)
        if number is None or listed[number].start_offset > first:
            return False
        if number + 1 < len(listed) and listed[number + 1].start_offset <= first:
            return False
    return not problems


# ---- the checkpoints of a log dir


def rebuild_checkpoints(
    log_dir: LogDir, states: Iterable[RebuiltState], cluster: Cluster, names: Sequence[str] = CHECKPOINTS
) -> Iterator[tuple[str, bytes]]:
    """A log dir's checkpoints, as far as its logs and what is sound in the old ones tell them: name and bytes.

    Recovery points are the logs' ends. High watermarks are those of the old file within the log; a partition with one
    replica has its log end. Where the cleaner was is only in the old file.
    """
    known = [s for s in states if s.partition.name is not None and s.partition.name.topic != METADATA_TOPIC]
    by_key = {s.partition.name[:2]: s for s in known if s.partition.name is not None and not s.partition.name.state}
    for name in names:
        old = {} if log_dir.checkpoint(name).problems else log_dir.checkpoint(name).offsets
        offsets: dict[tuple[str, int], int] = {}
        for key, state in by_key.items():
            offset = _offset_for(name, key, state, old.get(key), cluster)
            if offset is not None:
                offsets[key] = offset
        yield name, checkpoint_bytes(offsets)


def checkpoint_is_sound(name: str, log_dir: LogDir, rebuilt: bytes) -> bool:
    """Whether a checkpoint has a line for every partition that needs one, and none that the logs contradict.

    Recovery points and high watermarks may lie before the log end.
    """
    old = log_dir.checkpoint(name)
    lines, _ = parse_offset_checkpoint(rebuilt)
    by_log = {(line.topic, line.partition): line.offset for line in lines}
    may_be_lower = name in (RECOVERY_POINTS, HIGH_WATERMARKS)
    return not old.problems and all(
        key in old.offsets and (old.offsets[key] == offset or (may_be_lower and old.offsets[key] < offset))
        for key, offset in by_log.items()
    )


def _offset_for(name: str, key: tuple[str, int], state: RebuiltState, old: int | None, cluster: Cluster) -> int | None:
    """A partition's line in a checkpoint, None for no line."""
    start, end = state.log_start_offset, state.log_end_offset
    if name == RECOVERY_POINTS:
        return state.recovery_point
    if name == LOG_STARTS:
        return start if start > state.first_base else None
    if name == HIGH_WATERMARKS:
        topic = cluster.topic(key[0])
        assignment = topic.assignments.get(key[1]) if topic is not None else None
        if assignment is not None and len(assignment.replicas) == 1:
            return end
    return None if old is None else min(max(old, start), end)


def log_dirs_below(path: str) -> Iterator[LogDir]:
    """The log dirs at or below a directory."""
    if not is_directory(path):
        return
    from kidx.logdir.tree import walk_tree

    for listing in walk_tree(path):
        if isinstance(listing, CannotRead):
            raise listing
        log_dir = LogDir(listing.directory, listing.entries)
        if log_dir.looks_like_one:
            yield log_dir
