"""What the log cleaner would do to a partition, and why. Nothing is changed.

Sources: kafka.log.LogCleaner and Cleaner (org.apache.kafka.storage.internals.log from 4.0 on): doClean, cleanSegments,
groupSegmentsBySize.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from kidx.cleaner.batches import aborted_in, read_batches, read_blocks
from kidx.cleaner.dirty_range import DirtyRange, dirty_range
from kidx.cleaner.map_filling import fill
from kidx.cleaner.offset_map import MAX_MEMORY_BYTES, OffsetMap
from kidx.cleaner.producers import active_producers
from kidx.cleaner.retention import CONTROL, UNCLEANED, Cleaning, KeptBatch, LatestOffsets, judge
from kidx.cleaner.transactions import CleanedTransactions
from kidx.formats.records import Record
from kidx.logdir.names import LOG, OFFSET, TIME
from kidx.logdir.tree import Segment
from kidx.lookup.partition import PartitionReader

_MAX_SPAN = 2**31 - 1  # offsets of one segment are relative to its base in 31 bits


class CleanerOptions(NamedTuple):
    """The cleaner's configuration, which the files do not contain, with Kafka's defaults."""

    dedupe_buffer_bytes: int = 128 << 20  # log.cleaner.dedupe.buffer.size
    threads: int = 1  # log.cleaner.threads, which share the buffer
    load_factor: float = 0.9  # log.cleaner.io.buffer.load.factor
    digest: str = "MD5"
    delete_retention_ms: int = 86_400_000
    segment_bytes: int = 1 << 30
    index_bytes: int = 10 << 20
    min_compaction_lag_ms: int = 0
    now_ms: int = 0


class SegmentPlan(NamedTuple):
    """One segment: `group` is the base offset of the segment it is merged into, None if it is not touched.

    `dropped` counts records by reason (kidx.cleaner.retention.DROPPED).
    """

    segment: Segment
    group: int | None
    records: int
    kept: int
    dropped: Counter[str]
    bytes_before: int
    bytes_after: int


class RecordPlan(NamedTuple):
    """One record's fate."""

    offset: int
    kept: bool
    why: str


class Pass:
    """A pass over one partition with the offsets in its map. `segments` and `records` read the complete log."""

    def __init__(
        self, reader: PartitionReader, options: CleanerOptions, dirty: DirtyRange, latest: LatestOffsets
    ) -> None:
        self.reader, self.options, self.dirty, self.latest = reader, options, dirty, latest
        self._groups = self._group() if dirty.first_dirty < dirty.first_uncleanable else {}

    @property
    def cleaned_up_to(self) -> int:
        """The offset from which the log is dirty after this pass."""
        return max(self.latest.latest_offset + 1, self.dirty.first_dirty)

    def segments(self) -> Iterator[SegmentPlan]:
        """Every segment, the active one included."""
        for segment, fates in self._judged():
            counts: Counter[str] = Counter()
            kept = after = 0
            if fates is None:
                size = segment.files[LOG].size()
                kept = sum(map(len, read_blocks(segment)))
                yield SegmentPlan(segment, None, kept, kept, counts, size, size)
                continue
            for _, batch in fates:
                after += batch.bytes_after
                for verdict in batch.verdicts:
                    kept += verdict.kept
                    if not verdict.kept:
                        counts[verdict.why] += 1
            group = self._groups.get(segment.base_offset)
            yield SegmentPlan(segment, group, kept + counts.total(), kept, counts, segment.files[LOG].size(), after)

    def records(self) -> Iterator[RecordPlan]:
        """Every record of every segment, the active one included."""
        for segment, fates in self._judged():
            if fates is None:
                for block in read_blocks(segment):
                    control = block.window.control[block.batch].tolist()
                    for offset, marker in zip(block.offset.tolist(), control, strict=True):
                        yield RecordPlan(offset, True, CONTROL if marker else UNCLEANED)
                continue
            for records, batch in fates:
                for record, verdict in zip(records, batch.verdicts, strict=True):
                    yield RecordPlan(record.offset, *verdict)

    def _judged(self) -> Iterator[tuple[Segment, Iterator[tuple[list[Record], KeptBatch]] | None]]:
        """Every segment with the fates of its records, None for one that is not touched."""
        transactions = CleanedTransactions()
        cleaning = Cleaning(
            self.latest,
            active_producers(self.reader.partition, self.reader.end_offset),
            self.dirty.first_uncleanable,
            self.options.now_ms,
            self.options.delete_retention_ms,
            self._legacy_horizon(),
        )
        segments = self.reader.segments
        for i, segment in enumerate(segments):
            if segment.base_offset not in self._groups:
                yield segment, None
                continue
            after = segments[i + 1].base_offset if i + 1 < len(segments) else self.reader.end_offset
            transactions.add_aborted(aborted_in(self.reader, segment, after))
            yield segment, _cleaned(segment, cleaning, transactions)

    def _legacy_horizon(self) -> int:
        """Segments modified up to this time, ms, lose tombstones of v0 and v1 (LogCleaner's legacyDeleteHorizonMs)."""
        clean = [s for s in self.reader.segments if s.base_offset < self.dirty.first_dirty]
        return _mtime_ms(clean[-1]) - self.options.delete_retention_ms if clean else 0

    def _group(self) -> dict[int, int]:
        """Base offset of each segment that is cleaned: base offset of the segment it ends up in."""
        options = self.options
        cleaned = [s for s in self.reader.segments if s.base_offset <= self.latest.latest_offset]
        groups: dict[int, int] = {}
        first: Segment | None = None
        sizes = [0, 0, 0]
        for i, segment in enumerate(cleaned):
            own = [segment.files[LOG].size(), *(_size(segment, kind) for kind in (OFFSET, TIME))]
            joined = [a + b for a, b in zip(sizes, own, strict=True)]
            after = cleaned[i + 1].base_offset if i + 1 < len(cleaned) else self.dirty.first_uncleanable
            limits = (options.segment_bytes, options.index_bytes, options.index_bytes)
            fits = all(size <= limit for size, limit in zip(joined, limits, strict=True))
            if first is None or not fits or (own[0] and after - 1 - first.base_offset > _MAX_SPAN):
                first, joined = segment, own
            sizes = joined
            groups[segment.base_offset] = first.base_offset
        return groups


class Plan(Pass):
    """A pass as the cleaner would make it. Making the plan reads the dirty part once to fill the cleaner's own map.

    If `map_full`, one pass is not enough; `cleaned_up_to` is the next first dirty offset.
    """

    def __init__(self, reader: PartitionReader, options: CleanerOptions) -> None:
        dirty = dirty_range(reader, options.min_compaction_lag_ms, options.now_ms)
        memory = min(options.dedupe_buffer_bytes // options.threads, MAX_MEMORY_BYTES)
        self.offset_map = OffsetMap(memory, options.digest)
        self.map_full, self.ends_new = fill(self.offset_map, reader, dirty, options.load_factor)
        # Computed now: the look-ups of the second read would change it. None if nothing was put.
        self.map_collision_rate = self.offset_map.collision_rate if self.offset_map.lookups else None
        super().__init__(reader, options, dirty, self.offset_map)


def _size(segment: Segment, kind: str) -> int:
    file = segment.file(kind)
    return file.size() if file else 0


def _mtime_ms(segment: Segment) -> int:
    with segment.files[LOG].open() as evidence:
        return evidence.mtime_ns // 1_000_000


def _cleaned(
    segment: Segment, cleaning: Cleaning, transactions: CleanedTransactions
) -> Iterator[tuple[list[Record], KeptBatch]]:
    modified = _mtime_ms(segment)
    for read in read_batches(segment):
        yield read.records, judge(cleaning, transactions, read, modified)
