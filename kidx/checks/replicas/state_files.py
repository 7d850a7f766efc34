"""What differs between two sides' small files: producer snapshots, leader epochs, partition.metadata."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from kidx.checks.engine.discovery import findings_about
from kidx.checks.replicas.comparison import Sides
from kidx.checks.subjects.partitions import SnapshotFile
from kidx.errors import CannotRead, WrongFormat
from kidx.evidence import read_file
from kidx.findings import limited
from kidx.formats.checkpoints import EpochStart, parse_leader_epochs, parse_partition_metadata
from kidx.formats.producer_snapshot import ProducerSnapshot, parse_snapshot
from kidx.logdir.names import LOG
from kidx.logdir.tree import DataFile, Partition
from kidx.segments.walk import walk

T = TypeVar("T")


def compare_snapshots(sides: Sides, name: str, one: DataFile, other: DataFile) -> None:
    """Note producers whose states differ; one that expired on one side is missing there."""
    states = [
        {p.producer_id: p._asdict() for p in _parsed(sides, file, _sound_snapshot).producers} for file in (one, other)
    ]
    for producer in sorted(states[0].keys() | states[1].keys()):
        here, there = states[0].get(producer), states[1].get(producer)
        if here != there:
            allowed = here is None or there is None or _same_state(here, there)
            sides.note("producer", f"{name} producer {producer}", here, there, allowed=allowed)


def _same_state(here: dict[str, Any], there: dict[str, Any]) -> bool:
    """Whether two states of a producer are the same, as written by brokers of two versions.

    For a transaction's marker brokers up to 2.3 keep the timestamp of the batch before it, or -1; 0.11 stores the
    marker's offset with delta 0 as the last one.
    """
    other = {field for field, value in here.items() if value != there[field]} - {"timestamp"}
    return other <= {"last_offset", "offset_delta"} and (
        not other or 0 in (here["offset_delta"], there["offset_delta"])
    )


def compare_epochs(sides: Sides, name: str, one: DataFile, other: DataFile) -> None:
    """Note leader epochs that start at different offsets."""
    lines = [{line.epoch: line.start_offset for line in _parsed(sides, file, _sound_epochs)} for file in (one, other)]
    shared = sorted(lines[0].keys() & lines[1].keys())
    for epoch in sorted(lines[0].keys() | lines[1].keys()):
        here, there = lines[0].get(epoch), lines[1].get(epoch)
        if here == there:
            continue
        # the oldest shared line starts at each log's own start; older and newer ones may be on one side only
        allowed = not shared or epoch <= shared[0] or epoch > shared[-1]
        if here is not None and there is not None and not allowed:
            # a follower takes an epoch's start from the first batch that it gets, and a cleaning may have removed some
            later = sides.right if there > here else sides.left
            allowed = not _has_batches(later, min(here, there), max(here, there))
        offset = min(o for o in (here, there) if o is not None)
        sides.note("epoch_start", f"{name} epoch {epoch}", here, there, allowed=allowed, offset=offset)


def _has_batches(partition: Partition, start: int, end: int) -> bool:
    """Whether a log has a batch with an offset from `start` up to, not including, `end`."""
    following = [s.base_offset for s in partition.segments[1:]]
    for segment, next_base in zip(partition.segments, [*following, None], strict=True):
        if segment.base_offset >= end or (next_base is not None and next_base <= start):
            continue
        with segment.files[LOG].open() as log:
            for batch in walk(log):
                if batch.base_offset >= end:
                    break
                if batch.last_offset >= start:
                    return True
    return False


def compare_metadata(sides: Sides, name: str, one: DataFile, other: DataFile) -> None:
    """Note fields of partition.metadata that differ."""
    fields = [_parsed(sides, file, parse_partition_metadata) for file in (one, other)]
    for key in sorted(fields[0].keys() | fields[1].keys()):
        if fields[0].get(key) != fields[1].get(key):
            sides.note(key, name, fields[0].get(key), fields[1].get(key), allowed=False)


def _parsed(sides: Sides, file: DataFile, parse: Callable[[bytes], T]) -> T:
    """A small file's content. Raises CannotRead for a damaged one: what is missing from it is not a difference."""
    data = read_file(file.path)
    try:
        parsed = parse(data)
    except WrongFormat as e:
        sides.checked.skip(file.path, "it is damaged", len(data))
        raise CannotRead(f"{file.path}: {e}") from None
    sides.checked.cover(file.path, len(data))
    return parsed


def _sound_snapshot(data: bytes) -> ProducerSnapshot:
    snapshot = parse_snapshot(data)
    for found in limited(findings_about(SnapshotFile("", len(data), snapshot))):
        raise WrongFormat(found.message)
    return snapshot


def _sound_epochs(data: bytes) -> list[EpochStart]:
    lines, problems = parse_leader_epochs(data)
    for problem in problems:
        raise WrongFormat(problem.why)
    return lines
