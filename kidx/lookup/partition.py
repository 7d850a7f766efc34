"""A partition as a consumer sees it: where the log starts and ends, reads and ListOffsets across segments.

Sources: org.apache.kafka.storage.internals.log.UnifiedLog (read, fetchOffsetByTimestamp), kafka.cluster.Partition
(fetchOffsetForTimestamp) and KafkaApis (which negative timestamps are invalid).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from kidx.errors import CannotRead, UsageError
from kidx.evidence import exists, read_file
from kidx.formats import broker_versions as versions
from kidx.formats.batches import Batch
from kidx.logdir.tree import Partition, Segment
from kidx.lookup.segment import NOT_FOUND, FoundBatch, FoundTime, SegmentReader
from kidx.lookup.transactions import is_aborted, open_transactions

if TYPE_CHECKING:
    from kidx.formats.checkpoints import EpochStart
    from kidx.formats.records import Record
    from kidx.lookup.partition_records import PartitionRecords

# ListOffsetsRequest's special timestamps
LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING_UPLOAD = range(-1, -7, -1)
SPECIAL = {  # by the names that kafka-get-offsets uses
    "latest": LATEST,
    "earliest": EARLIEST,
    "max-timestamp": MAX_TIMESTAMP,
    "earliest-local": EARLIEST_LOCAL,
    "latest-tiered": LATEST_TIERED,
    "earliest-pending-upload": EARLIEST_PENDING_UPLOAD,
}
_SINCE = {
    MAX_TIMESTAMP: versions.MAX_TIMESTAMP,
    EARLIEST_LOCAL: versions.EARLIEST_LOCAL,
    LATEST_TIERED: versions.LATEST_TIERED,
    EARLIEST_PENDING_UPLOAD: versions.EARLIEST_PENDING_UPLOAD,
}
READ_COMMITTED, READ_UNCOMMITTED = "read_committed", "read_uncommitted"


class Listed(NamedTuple):
    """The answer of ListOffsets: `found` is None for no answer, `why` is the reason, `segment` is the one searched."""

    segment: Segment | None
    found: FoundTime | None
    bytes_walked: int
    why: str | None


class PartitionReader:
    """A partition's bounds and segments, as a consumer sees them.

    Missing files are replaced by assumptions: without a replication-offset-checkpoint the high watermark is the log's
    end, without a log-start-offset-checkpoint the log starts with its first segment. Raises CannotRead for a directory
    without segments.
    """

    def __init__(self, partition: Partition) -> None:
        self.partition, self.segments = partition, partition.segments
        if not self.segments:
            raise CannotRead(f"{partition.directory}: there is no segment in it (no .log file)")

    @cached_property
    def start_offset(self) -> int:
        """The log start offset."""
        return max(self.segments[0].base_offset, self.checkpointed("log-start-offset-checkpoint") or 0)

    @cached_property
    def end_offset(self) -> int:
        """The log end offset: after the last record."""
        with SegmentReader(self.segments[-1]) as reader:
            return reader.end_offset()

    @cached_property
    def high_watermark(self) -> int:
        """The first offset that consumers cannot read yet; at most the log's end."""
        checkpointed = self.checkpointed("replication-offset-checkpoint")
        return self.end_offset if checkpointed is None else min(checkpointed, self.end_offset)

    @cached_property
    def last_stable_offset(self) -> int:
        """The first offset of the earliest transaction without a marker, else the high watermark."""
        return min([self.high_watermark, *open_transactions(self.partition, self.end_offset).values()])

    def fetch_end(self, isolation: str | None) -> int:
        """The first offset that a consumer of this isolation level cannot read."""
        return self.last_stable_offset if isolation == READ_COMMITTED else self.high_watermark

    def segment_for(self, offset: int) -> Segment:
        """The last segment that begins at or before an offset, else the first one."""
        return next((s for s in reversed(self.segments) if s.base_offset <= offset), self.segments[0])

    def segments_from(self, segment: Segment) -> list[Segment]:
        """That segment and those after it."""
        return [s for s in self.segments if s.base_offset >= segment.base_offset]

    def out_of_range(self, offset: int) -> str | None:
        """Why a broker answers a fetch of this offset with OFFSET_OUT_OF_RANGE, None if it does not."""
        if offset < self.start_offset:
            return f"below the log start offset {self.start_offset}: the broker answers OFFSET_OUT_OF_RANGE"
        if offset > self.end_offset:
            return f"past the log end offset {self.end_offset}: the broker answers OFFSET_OUT_OF_RANGE"
        return None

    def active(self, segment: Segment) -> bool:
        """Whether appends go to this segment."""
        return segment is self.segments[-1]

    def segment_of_time(self, timestamp: int) -> Segment | None:
        """The first segment whose largest timestamp is at least this one, or None."""
        return self.segment_of_time_in(self.segments, timestamp)

    def segment_of_time_in(self, segments: Sequence[Segment], timestamp: int) -> Segment | None:
        """The same of some segments."""
        for segment in segments:
            with SegmentReader(segment) as reader:
                largest, _ = reader.largest_timestamp(active=self.active(segment))
                if largest < 0:
                    largest = reader.log.mtime_ns // 1_000_000
            if largest >= timestamp:
                return segment
        return None

    def segment_of_largest_time(self) -> tuple[Segment, int, int]:
        """The first segment with the partition's largest timestamp, that timestamp, and its offset."""
        return self.largest_time_of(self.segments)

    def largest_time_of(self, segments: Sequence[Segment]) -> tuple[Segment, int, int]:
        """The same of some segments."""
        largest = []
        for segment in segments:
            with SegmentReader(segment) as reader:
                largest.append((segment, *reader.largest_timestamp(active=self.active(segment))))
        return max(largest, key=lambda found: found[1])

    def find_offset(self, offset: int) -> tuple[Segment | None, FoundBatch]:
        """The first batch that reaches an offset, as a fetch from there begins, and its segment; None without one."""
        found = NOT_FOUND
        if self.out_of_range(offset) is None:
            for segment in self.segments_from(self.segment_for(offset)):
                with SegmentReader(segment) as reader:
                    found = reader.translate_offset(offset)
                if found.batch is not None:
                    return segment, found
        return None, found

    def records(
        self,
        start: int | None = None,
        *,
        end: int | None = None,
        since: int | str | None = None,
        until: int | str | None = None,
        columns: Sequence[str] | None = None,
    ) -> PartitionRecords:
        """The partition's records from the offset `start` (default: the log start) to `end`, itself included.

        `since` and `until` bound timestamps: epoch milliseconds, or ISO 8601; both are included. `columns` are those of
        Arrow batches, None for all. Raises UsageError for a time that is none.
        """
        from kidx.lookup.partition_records import PartitionRecords
        from kidx.segments.column_reader import Wanted
        from kidx.text.quantities import timestamp_ms

        times = [timestamp_ms(time) if isinstance(time, str) else time for time in (since, until)]
        return PartitionRecords(self, Wanted((start, end), (times[0], times[1])), columns)

    def each_record(self, start: int | None = None) -> Iterator[Record]:
        """Every record from an offset on, one after another."""
        first = self.start_offset if start is None else start
        for segment in self.segments_from(self.segment_for(first)):
            with SegmentReader(segment) as reader:
                yield from reader.records(first)

    def list_offsets(
        self,
        timestamp: int,
        start: int | None = None,
        isolation: str | None = None,
        watch: Callable[[SegmentReader], None] | None = None,
        broker_version: versions.Version = versions.NEWEST,
    ) -> Listed:
        """The broker's ListOffsets: the first record at or past a time (and `start`), or what one of SPECIAL means.

        Only the first segment that reaches the time is searched, as in the broker. `watch` is called with its reader
        afterwards. Raises UsageError for a negative number that a broker of that version does not know, CannotRead for
        answers that only tiered storage has.
        """
        if timestamp < 0:
            self.must_be_known(timestamp, start, broker_version)
        if timestamp in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
            word = word_of(timestamp)
            raise CannotRead(
                f"{self.partition.directory}: {word} ({timestamp}) is known from __remote_log_metadata alone, not from "
                "a partition's files: name the tier with --remote; of a partition without tiers a broker answers none"
            )
        if timestamp == LATEST:
            return Listed(None, FoundTime(0, -1, self.fetch_end(isolation), self.epochs.latest), 0, None)
        if timestamp in (EARLIEST, EARLIEST_LOCAL):  # the local log of a tiered one starts with its first segment, too
            offset = self.start_offset
            return Listed(None, FoundTime(0, -1, offset, self.epochs.at(offset)), 0, None)
        if timestamp == MAX_TIMESTAMP:
            segment, largest, offset = self.segment_of_largest_time()
            with SegmentReader(segment) as reader:
                if broker_version >= versions.MAX_TIMESTAMP_BY_RECORD:
                    found = reader.find_timestamp_from(largest, offset)
                else:  # the offset next to it in the time index, usually its batch's last, and the newest epoch
                    entry = (largest, offset, self.epochs.latest) if largest >= 0 else (None, None, None)
                    found = FoundTime(0, *entry)
                if watch:
                    watch(reader)
            return self.listed(segment, found, isolation)
        in_time = self.segment_of_time(timestamp)
        if in_time is None:
            return Listed(None, None, 0, "no segment has a timestamp so late")
        with SegmentReader(in_time) as reader:
            found = reader.find_by_timestamp(timestamp, max(self.start_offset, start or 0))
            if watch:
                watch(reader)
        return self.listed(in_time, found, isolation)

    def listed(self, segment: Segment, found: FoundTime, isolation: str | None) -> Listed:
        """What a search in a segment found, as consumers of an isolation level get it."""
        if found.offset is None:
            return Listed(segment, None, found.bytes_walked, "the segment that reaches this time has no such record")
        end = self.fetch_end(isolation)
        if found.offset >= end:
            why = f"offset {found.offset} is withheld: consumers can read up to {end}"
            return Listed(segment, None, found.bytes_walked, why)
        return Listed(segment, found, found.bytes_walked, None)

    def must_be_known(self, timestamp: int, start: int | None, broker_version: versions.Version) -> None:
        """Raises UsageError for one of SPECIAL that a broker of that version does not know, or with a `start`."""
        if timestamp < EARLIEST_PENDING_UPLOAD:
            known = ", ".join(f"{number} ({word})" for word, number in SPECIAL.items())
            raise UsageError(f"{timestamp} is no time: negative ones that a broker knows are {known}")
        since = _SINCE.get(timestamp, versions.OLDEST)
        if broker_version < since:
            word, text = word_of(timestamp), versions.version_text
            raise UsageError(
                f"{word} ({timestamp}): a broker of {text(broker_version)} does not know it; it came with {text(since)}"
            )
        if start is not None:
            raise UsageError(f"{timestamp} asks for no time, so --start has no meaning with it")

    @cached_property
    def epochs(self) -> Epochs:
        """The leader epochs of the log."""
        from kidx.formats.checkpoints import parse_leader_epochs

        path = os.path.join(self.partition.directory, "leader-epoch-checkpoint")
        return Epochs(parse_leader_epochs(read_file(path))[0] if exists(path) else [])

    def checkpointed(self, name: str) -> int | None:
        """This partition's offset in a checkpoint file of the log dir, None if it has none."""
        path, known = os.path.join(self.partition.log_dir, name), self.partition.name
        if known is None or not exists(path):
            return None
        from kidx.formats.checkpoints import parse_offset_checkpoint

        lines, _ = parse_offset_checkpoint(read_file(path))
        return next((p.offset for p in lines if (p.topic, p.partition) == (known.topic, known.partition)), None)

    def visible(self, segment: Segment, batch: Batch, offset: int, isolation: str) -> bool:
        """Whether a consumer of this isolation gets the record at `offset` of a batch of `segment`."""
        if batch.control or offset >= self.fetch_end(isolation):
            return False
        if isolation != READ_COMMITTED or not batch.transactional:
            return True
        return not is_aborted(self.segments_from(segment), batch.producer_id, offset)


def word_of(timestamp: int) -> str:
    """The name of one of SPECIAL."""
    return next(word for word, number in SPECIAL.items() if number == timestamp)


class Epochs:
    """The lines of leader-epoch-checkpoint; None for an epoch that it does not have."""

    def __init__(self, lines: Sequence[EpochStart]) -> None:
        self._lines = lines

    @property
    def latest(self) -> int | None:
        """The newest leader's epoch."""
        return self._lines[-1].epoch if self._lines else None

    def at(self, offset: int) -> int | None:
        """The epoch that an offset was written in."""
        return next((line.epoch for line in reversed(self._lines) if line.start_offset <= offset), None)
