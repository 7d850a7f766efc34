"""The order of a log's offsets, and offsets that are missing where nothing was compacted."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kidx.checks.rule import LOG, Found, check
from kidx.checks.subjects.logs import Batches, Bools, Gap, RangeBorder
from kidx.checks.subjects.partitions import CheckedSegments, LogStart
from kidx.checks.texts import FETCH_AGAIN
from kidx.findings import ERROR, WARNING, Finding, Rule
from kidx.logdir.names import LOG as LOG_KIND
from kidx.logdir.names import METADATA_SNAPSHOT

BATCH_ORDER = Rule(
    code="KX305",
    name="batch-order",
    severity=ERROR,
    title="Offsets do not increase from batch to batch",
    broker=(
        "No version notices when loading. A fetch finds the first batch that ends at or after its offset, and "
        "consumers see records twice, or skip some. A follower refuses such an append (OffsetsOutOfOrderException)."
    ),
    story=(
        "Offsets rise from batch to batch. One that does not was written twice (a copy or repair that pasted pieces "
        "together), or its base offset, which no CRC covers, was overwritten."
    ),
    repair=FETCH_AGAIN,
)

OFFSET_GAP = Rule(
    code="KX306",
    name="offset-gap",
    severity=WARNING,
    title="Offsets are missing between two batches, though nothing was compacted here",
    broker="Every version skips the gap: consumers continue at the next offset and are not notified of the loss.",
    story=(
        "Without compaction a log has every offset. Missing ones mean that batches were cut out, or that a base offset "
        "(which no CRC covers) was overwritten. kidx regards a partition as compacted if the cleaner's checkpoint "
        "names it, a batch has fewer records than offsets or a delete horizon, or it is one of Kafka's own compacted "
        "topics; a compacted topic of which only some files are here and that shows none of these is a false alarm."
    ),
    repair=FETCH_AGAIN,
)

SEGMENT_GAP = Rule(
    code="KX503",
    name="segment-gap",
    severity=WARNING,
    title="Offsets are missing between two segments",
    broker="Every version loads the log as it is: consumers that reach the gap continue with the next segment.",
    story=(
        "A segment begins with the offset after the last one of the segment before it. A segment in between was "
        "deleted by hand, not copied, or the end of the one before was cut off. In a compacted partition gaps are "
        "normal, and not reported."
    ),
    repair=FETCH_AGAIN,
)


def order_finding(batches: Batches, row: int) -> Finding:
    """The finding about one row."""
    at = int(batches.steps.rows.searchsorted(row))
    first, before = int(batches.steps.first[at]), int(batches.steps.before[at])
    text = f"it begins with offset {first}, but offset {before} came before it"
    return batches.finding(BATCH_ORDER, row, text, expected=before + 1, found=first)


@check(Batches, BATCH_ORDER, finding=order_finding, distrust=LOG)
def batch_order(batches: Batches) -> Bools | None:
    """Sound batches that begin at or before the last offset of the one before, bool, shape (n,)."""
    if batches.contiguous:
        return None
    steps = batches.steps
    wrong = np.zeros(len(batches), bool)
    wrong[steps.rows[steps.first - steps.before < 1]] = True
    return wrong


@check(RangeBorder, BATCH_ORDER, distrust=LOG)
def order_across(border: RangeBorder) -> Iterator[Finding] | None:
    """The same of the first batch of a range."""
    last, first, start = border.before.previous_last, border.after.first_offset, border.after.start
    if last is None or first is None or first > last:
        return None
    text = f"the batch at byte {start} begins with offset {first}, but offset {last} came before it"
    return iter([BATCH_ORDER.finding(border.path, text, span=(start, start + 8), expected=last + 1, found=first)])


def _missing(path: str, gap: Gap) -> Finding:
    one = gap.first == gap.last
    what = f"offset {gap.first}" if one else f"offsets {gap.first} to {gap.last}"
    return OFFSET_GAP.finding(
        path,
        f"{what} {'is' if one else 'are'} missing before the batch at byte {gap.position}",
        span=(gap.position, gap.position + 8),
        expected=gap.first,
        found=gap.last + 1,
    )


@check(CheckedSegments, OFFSET_GAP)
def offset_gap(segments: CheckedSegments) -> Iterator[Found] | None:
    """Missing offsets inside the living segments of a partition that was not compacted."""
    return None if segments.compacted else _offset_gaps(segments)


def _offset_gaps(segments: CheckedSegments) -> Iterator[Finding]:
    for segment in segments.living:
        log, base = segment.log, segment.segment.base_offset
        if log is None:
            continue
        gaps = list(log.gaps)
        if log.first_offset is not None and log.first_offset > base and 0 not in log.not_believed:
            gaps.insert(0, Gap(0, base, log.first_offset - 1))
        path = segment.segment.files[LOG_KIND].path
        yield from (_missing(path, gap) for gap in gaps)


@check(CheckedSegments, OFFSET_GAP)
def offset_gap_in_snapshot(segments: CheckedSegments) -> Iterator[Finding]:
    """Missing offsets in KRaft's snapshots, whose records are numbered from 0 without a gap."""
    for segment in segments.all:
        log, file = segment.log, segment.segment.file(METADATA_SNAPSHOT)
        if log is None or file is None:
            continue
        gaps = list(log.gaps)
        if log.first_offset and 0 not in log.not_believed:
            gaps.insert(0, Gap(0, 0, log.first_offset - 1))
        yield from (_missing(file.path, gap) for gap in gaps)


@check(LogStart, SEGMENT_GAP)
def first_segment_missing(start: LogStart) -> list[Finding] | None:
    """A log that starts, by log-start-offset-checkpoint, before its first segment.

    A clean stop writes the checkpoint last, and only for logs that start within a segment.
    """
    first = start.living[0].segment if start.living else None
    if start.offset is None or first is None or not start.clean_start or start.tiered:
        return None
    if start.offset >= first.base_offset:
        return None
    text = f"the log starts at offset {start.offset} by log-start-offset-checkpoint, its first segment at "
    return [
        SEGMENT_GAP.finding(
            first.files[LOG_KIND].path, f"{text}{first.base_offset}", expected=start.offset, found=first.base_offset
        )
    ]


@check(CheckedSegments, SEGMENT_GAP)
def segment_gap(segments: CheckedSegments) -> Iterator[Finding] | None:
    """Living segments that do not begin with the offset after the segment before, where nothing was compacted."""
    return None if segments.compacted else _segment_gaps(segments)


def _segment_gaps(segments: CheckedSegments) -> Iterator[Finding]:
    before: int | None = None  # the offset after the segment before, None where that is unknown
    for segment in segments.living:
        log, base = segment.log, segment.segment.base_offset
        if before is not None and before < base:
            text = f"the segment begins with offset {base}; the one before it ends with {before - 1}"
            yield SEGMENT_GAP.finding(segment.segment.files[LOG_KIND].path, text, expected=before, found=base)
        if log is None:
            before = None
            continue
        end = base if log.last_offset is None else log.last_offset + 1
        before = end if log.whole and max(log.not_believed, default=-1) <= log.last_position else None
