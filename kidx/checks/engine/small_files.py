"""The small files next to a partition's segments: each by itself, and what they say about the logs."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from functools import cached_property
from operator import attrgetter, index
from typing import TypeVar

from kidx.checks.engine.discovery import findings_about
from kidx.checks.engine.options import Options
from kidx.checks.engine.result import CheckResult, cannot_read
from kidx.checks.subjects.partitions import SnapshotFile, TextFile
from kidx.checks.subjects.producers import NamedProducers
from kidx.errors import KidxError, WrongFormat
from kidx.evidence import read_file
from kidx.findings import limited
from kidx.formats.checkpoints import EpochStart, parse_leader_epochs
from kidx.formats.producer_snapshot import ProducerSnapshot, parse_snapshot
from kidx.logdir.names import PRODUCER_SNAPSHOT
from kidx.logdir.tree import DataFile

T = TypeVar("T")
TEXT_KINDS = ("leader_epochs", "offset_checkpoint", "partition_metadata", "quorum_state", "meta_properties")
SMALL_KINDS = (*TEXT_KINDS, PRODUCER_SNAPSHOT)


class SmallFiles:
    """Checks a directory's small files into `done`, before the first log.

    `snapshots` are the sound ones by their offsets, `epochs` the lines of a sound leader-epoch-checkpoint.
    """

    def __init__(self, options: Options, done: CheckResult) -> None:
        self.options, self.done = options, done
        self.snapshots: dict[int, tuple[DataFile, ProducerSnapshot]] = {}
        self.epochs: list[EpochStart] = []

    def check(self, file: DataFile) -> None:
        """Check a file by itself, and keep its content for later checks."""
        try:
            data = read_file(file.path)
        except KidxError as e:
            cannot_read(file, e, self.options, self.done)
            return
        self.done.cover(file.path, len(data))
        if file.kind == PRODUCER_SNAPSHOT:
            self._snapshot(file, data)
        else:
            self._text_file(file, data)

    def _text_file(self, file: DataFile, data: bytes) -> None:
        found = list(limited(findings_about(TextFile(file.path, file.kind, data))))
        self.done.findings += found
        if file.kind == "leader_epochs" and not found:
            self.epochs = parse_leader_epochs(data)[0]

    def _snapshot(self, file: DataFile, data: bytes) -> None:
        snapshot, why = None, ""
        try:
            snapshot = parse_snapshot(data)
        except WrongFormat as e:
            why = str(e)
        found = list(limited(findings_about(SnapshotFile(file.path, len(data), snapshot, why))))
        self.done.findings += found
        if snapshot and not found and not file.name.state and file.name.base_offset is not None:
            self.snapshots[file.name.base_offset] = file, snapshot

    def last_offsets(self, first: int, last: int | None) -> Sequence[int]:
        """The last offsets that snapshots name, ascending, from `first` to `last` (None: without end)."""
        return _within(self._last_offsets, first, last, index)

    def named_producers(self, first: int = 0, last: int | None = None) -> Sequence[NamedProducers]:
        """What the snapshots of these offsets name, ascending."""
        return _within(self._named_producers, first, last, attrgetter("offset"))

    @cached_property
    def producer_ids(self) -> frozenset[int]:
        """All producers that snapshots name."""
        return frozenset[int]().union(*(named.producer_ids for named in self._named_producers))

    @cached_property
    def _last_offsets(self) -> list[int]:
        return sorted({p.last_offset for _, s in self.snapshots.values() for p in s.producers if p.last_offset >= 0})

    @cached_property
    def _named_producers(self) -> list[NamedProducers]:
        return [
            NamedProducers(offset, frozenset(p.producer_id for p in self.snapshots[offset][1].producers))
            for offset in sorted(self.snapshots)
        ]


def _within(ascending: Sequence[T], first: int, last: int | None, offset_of: Callable[[T], int]) -> Sequence[T]:
    """Those of a rising list whose offsets are `first` to `last`."""
    low = bisect_left(ascending, first, key=offset_of)
    return ascending[low:] if last is None else ascending[low : bisect_right(ascending, last, key=offset_of)]
