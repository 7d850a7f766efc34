"""What the cleaner reads of a log: from the first dirty offset up to the first uncleanable one.

Source: LogCleanerManager.cleanableOffsets.
"""

from __future__ import annotations

from typing import NamedTuple

from kidx.logdir.tree import Segment
from kidx.lookup.partition import PartitionReader
from kidx.lookup.segment import SegmentReader

CHECKPOINT = "cleaner-offset-checkpoint"


class DirtyRange(NamedTuple):
    """`first_dirty` up to, not including, `first_uncleanable`, each with the reason as a phrase."""

    first_dirty: int
    first_dirty_why: str
    first_uncleanable: int
    first_uncleanable_why: str


def dirty_range(reader: PartitionReader, min_compaction_lag_ms: int, now_ms: int) -> DirtyRange:
    """The dirty range of a partition at `now_ms`."""
    first_dirty, dirty_why = _first_dirty(reader)
    bounds = [
        (
            reader.last_stable_offset,
            "the last stable offset: what follows belongs to open transactions or is not replicated",
        ),
        (reader.segments[-1].base_offset, "the active segment, which is never cleaned"),
    ]
    if min_compaction_lag_ms > 0:
        young = _first_young(reader, first_dirty, now_ms - min_compaction_lag_ms)
        if young is not None:
            bounds.append((young.base_offset, f"a segment with records younger than {min_compaction_lag_ms} ms"))
    first_uncleanable, why = min(bounds, key=lambda bound: bound[0])
    # A segment is cleaned completely or not at all.
    begins = reader.segment_for(first_uncleanable).base_offset
    return DirtyRange(first_dirty, dirty_why, max(min(first_uncleanable, begins), first_dirty), why)


def _first_dirty(reader: PartitionReader) -> tuple[int, str]:
    start = reader.start_offset
    checkpointed = reader.checkpointed(CHECKPOINT)
    if checkpointed is None:
        return start, f"the log start offset: {CHECKPOINT} has no line for this partition"
    if checkpointed < start:
        return start, f"the log start offset: {CHECKPOINT} says {checkpointed}, which lies before it"
    if checkpointed > reader.end_offset:
        return start, f"the log start offset: {CHECKPOINT} says {checkpointed}, past the log's end"
    return checkpointed, CHECKPOINT


def _first_young(reader: PartitionReader, first_dirty: int, since_ms: int) -> Segment | None:
    """The first dirty segment whose largest timestamp is past `since_ms`; its file's time where it has no timestamp."""
    for segment in reader.segments_from(reader.segment_for(first_dirty)):
        with SegmentReader(segment) as opened:
            largest, _ = opened.largest_timestamp(active=reader.active(segment))
            if largest < 0:
                largest = opened.log.mtime_ns // 1_000_000
        if largest > since_ms:
            return segment
    return None
