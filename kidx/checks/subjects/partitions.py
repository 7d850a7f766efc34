"""What rules about a whole directory examine: its names, its segments in order, their transactions, its small files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from kidx.checks.subjects.indexes import IndexFile
from kidx.checks.subjects.log_dirs import CoordinatedTransaction, Witness
from kidx.checks.subjects.logs import LogResult, Named
from kidx.checks.subjects.producers import Known, Producers, SequenceBreak
from kidx.checks.subjects.transactions import Aborted, TransactionEvent
from kidx.formats.producer_snapshot import ProducerSnapshot, ProducerState
from kidx.logdir.log_dir import LOG_STARTS
from kidx.logdir.names import LOG, PartitionName
from kidx.logdir.tree import Partition, Segment


class TextFile(NamedTuple):
    """A text file next to segments: a checkpoint or properties. `kind` as in kidx.logdir.names."""

    path: str
    kind: str
    data: bytes


class SnapshotFile(NamedTuple):
    """A producer snapshot by itself; `snapshot` is None if its bytes are not one, for the reason `why`."""

    path: str
    size: int
    snapshot: ProducerSnapshot | None
    why: str = ""


class Listing(NamedTuple):
    """A directory's names: a partition, or a log dir. `live`: files may come and go while it is checked.

    `log_dir` is what the partition lies in, None where that is no log dir.
    """

    partition: Partition
    live: bool
    log_dir: Witness | None = None


class CheckedSegment:
    """A segment that was checked; `log` is None where its log was not read."""

    def __init__(self, segment: Segment, indexes: dict[str, IndexFile]) -> None:
        self.segment = segment
        self.indexes = indexes
        self.log: LogResult | None = None

    @property
    def is_living(self) -> bool:
        """Whether it has a log and is not about to be deleted or swapped."""
        return not self.segment.state and LOG in self.segment.files


class CheckedSegments(NamedTuple):
    """The segments of a partition, by base offset. `sequence_breaks` are producers' by the path of the log.

    `compacted`: a cleaner has been at work, so missing offsets and batches are no loss. `setting` gives a value of the
    topic's configuration, None where the cluster's metadata is not at hand or has none.
    """

    all: Sequence[CheckedSegment]
    compacted: bool
    sequence_breaks: Mapping[str, Sequence[SequenceBreak]]
    setting: Callable[[str], str | None] = lambda name: None

    @property
    def living(self) -> Iterator[CheckedSegment]:
        """The living ones."""
        return (s for s in self.all if s.is_living)


class LogStart(NamedTuple):
    """Where a partition's log starts by log-start-offset-checkpoint, None where that has no line for it.

    `living` are its segments. `clean_start`: a broker loads it as after a clean stop; None where that is not known.
    `tiered`: its older segments may be in a remote tier.
    """

    directory: str
    offset: int | None
    living: Sequence[CheckedSegment]
    clean_start: bool | None
    tiered: bool = False

    @property
    def name(self) -> str:
        """The partition's name."""
        return os.path.basename(os.path.normpath(self.directory))

    @property
    def checkpoint(self) -> str:
        """The path of the checkpoint, in the log dir."""
        directory = self.directory.rstrip("/")
        above = ".." if directory in ("", ".", "..") else os.path.dirname(directory)
        return os.path.join(above, LOG_STARTS)


class SegmentTransactions(NamedTuple):
    """A segment's transactions by its log and by its index.

    `entries` are slots and fields of the transaction index, whose path is `index_path` (None without one); `aborted`
    are the log's ABORT markers. `ranges` and `events` are the log's, `open_before` the first offsets of the
    transactions open at its start, by producer id.
    """

    log_path: str
    index_path: str | None
    entries: Sequence[tuple[int, tuple[int, ...]]]
    aborted: Sequence[Aborted]
    ranges: Sequence[Producers]
    events: Sequence[TransactionEvent]
    open_before: Mapping[int, int]
    compacted: bool


class OpenTransaction(NamedTuple):
    """A transaction that no marker has ended; unknown values are None.

    `since_ms` is the largest timestamp of its first batch, `held_records` and `held_bytes` what lies in the log from
    there on. `coordinator` is what the cluster's transaction state says of the producer.
    """

    first_offset: int
    producer_id: int
    producer_epoch: int | None = None
    since_ms: int | None = None
    held_records: int | None = None
    held_bytes: int | None = None
    coordinator: CoordinatedTransaction | None = None


class OpenTransactions(NamedTuple):
    """The open transactions of a partition. `live`: a broker may be about to end them."""

    log_path: str
    open: Sequence[OpenTransaction]
    partition: PartitionName | None = None
    live: bool = False


class SnapshotClaims(NamedTuple):
    """A sound snapshot of the offset `at`, and what the partition's files show of that moment.

    `named` are the log's batches by the last offsets that snapshots name; one that is not there was deleted or
    compacted away, which proves nothing. `known` is what the log says of the producers, and `open` are the first
    offsets of the transactions open there, by producer id: both None where it does not show. `before` are the entries
    of the snapshot before, where the log has no gap since. `log_end` is the offset after the log's last one, None where
    that is not known.
    """

    path: str
    at: int
    snapshot: ProducerSnapshot
    named: Mapping[int, Named]
    known: Known | None
    open: Mapping[int, int] | None
    before: Mapping[int, ProducerState]
    log_end: int | None
    compacted: bool
