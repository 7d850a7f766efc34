"""What differs between two sides' small files: producer snapshots, leader epochs, partition.metadata."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from kidx.checks.compared import Sides
from kidx.checks.engine.discovery import findings_about
from kidx.checks.subjects.partitions import SnapshotFile
from kidx.errors import CannotRead, WrongFormat
from kidx.evidence import read_file
from kidx.findings import limited
from kidx.formats.checkpoints import EpochStart, parse_leader_epochs, parse_partition_metadata
from kidx.formats.producer_snapshot import ProducerSnapshot, parse_snapshot
from kidx.logdir.tree import DataFile

T = TypeVar("T")


def compare_snapshots(sides: Sides, name: str, one: DataFile, other: DataFile) -> None:
    """Note producers whose states differ; one that expired on one side is missing there."""
    states = [
        {p.producer_id: p._asdict() for p in _parsed(sides, file, _sound_snapshot).producers} for file in (one, other)
    ]
    for producer in sorted(states[0].keys() | states[1].keys()):
        here, there = states[0].get(producer), states[1].get(producer)
        if here != there:
            allowed = here is None or there is None
            sides.done.note("producer", sides.where(name, f"producer {producer}"), here, there, allowed=allowed)


def _parsed(sides: Sides, file: DataFile, parse: Callable[[bytes], T]) -> T:
    """What a small file says. Raises CannotRead for one that is damaged: what it lacks is no difference."""
    data = read_file(file.path)
    try:
        parsed = parse(data)
    except WrongFormat as e:
        sides.done.checked.skip(file.path, "it is damaged", len(data))
        raise CannotRead(f"{file.path}: {e}") from None
    sides.done.checked.cover(file.path, len(data))
    return parsed


def compare_epochs(sides: Sides, name: str, one: DataFile, other: DataFile) -> None:
    """Note leader epochs that start at different offsets."""
    lines = [{line.epoch: line.start_offset for line in _parsed(sides, file, _sound_epochs)} for file in (one, other)]
    shared = sorted(lines[0].keys() & lines[1].keys())
    for epoch in sorted(lines[0].keys() | lines[1].keys()):
        here, there = lines[0].get(epoch), lines[1].get(epoch)
        if here != there:
            # the oldest shared line starts at each log's own start; older and newer ones may be on one side only
            allowed = not shared or epoch <= shared[0] or epoch > shared[-1]
            sides.done.note("epoch_start", sides.where(name, f"epoch {epoch}"), here, there, allowed=allowed)


def compare_metadata(sides: Sides, name: str, one: DataFile, other: DataFile) -> None:
    """Note fields of partition.metadata that differ."""
    fields = [_parsed(sides, file, parse_partition_metadata) for file in (one, other)]
    for key in sorted(fields[0].keys() | fields[1].keys()):
        if fields[0].get(key) != fields[1].get(key):
            sides.done.note(key, sides.where(name), fields[0].get(key), fields[1].get(key), allowed=False)


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
