"""One segment: its indexes by themselves, its log, and a comparison of the two."""

from __future__ import annotations

import os
from functools import partial

from kidx.checks.engine.discovery import few_or_one, findings_about
from kidx.checks.engine.index_file import check_index_file, report_index_file
from kidx.checks.engine.log import check_log
from kidx.checks.engine.options import QUICK, Options
from kidx.checks.engine.partition_context import PartitionContext
from kidx.checks.engine.result import CheckResult, cannot_read
from kidx.checks.subjects.indexes import IndexFile, OffsetEntries, TimeEntries
from kidx.checks.subjects.logs import CheckedLog, LogFacts, SegmentIndexes
from kidx.checks.subjects.partitions import CheckedSegment
from kidx.errors import CannotRead, ChangedWhileRead
from kidx.findings import NOT_HELD, limited
from kidx.logdir.names import INDEX_OF_KIND, LOG, METADATA_SNAPSHOT, OFFSET, TIME
from kidx.logdir.tree import DataFile, Segment


def check_segment(
    segment: Segment, context: PartitionContext, options: Options, facts: LogFacts, done: CheckResult
) -> CheckedSegment:
    """Check one segment's files into `done`. Indexes are read before the log, which a broker writes first."""
    log = segment.file(LOG) or segment.file(METADATA_SNAPSHOT)
    left_out = "" if log is None else _why_left_out(log, options)
    read_log = log is not None and not left_out
    indexes = {}
    for kind in INDEX_OF_KIND:
        file = segment.file(kind)
        if file is not None:
            index = check_index_file(file, context.index_facts(file, options), options, done, keep_entries=read_log)
            if index is not None:
                indexes[kind] = index
    checked = CheckedSegment(segment, indexes)
    offsets, times = indexes.get(OFFSET), indexes.get(TIME)
    if offsets and times and offsets.slots is not None and times.slots is not None:
        done.findings += limited(findings_about(SegmentIndexes(offsets, times)))
    if log is None:
        _skip_indexes(checked, f"no log next to it, so its entries were {NOT_HELD} one", done)
    elif left_out:
        _skip_log(log, left_out, options, done)
    else:
        facts = facts._replace(
            live=options.live,
            active=context.is_active(facts.base_offset),
            clean_start=context.clean_start,
            zero_tail=partial(context.preallocation, log),
        )
        _check_log(log, checked, options, facts, done)
    for index in indexes.values():
        report_index_file(index, done)
    return checked


def _why_left_out(log: DataFile, options: Options) -> str:
    """Why a log is not read; empty if it is read."""
    if options.level == QUICK:
        return "--quick reads no log and holds no index against one"
    return "" if options.sample is None or options.sample.has(_sample_name(log)) else "not in the sample"


def _sample_name(file: DataFile) -> str:
    """The partition and segment, so that replicas of a log are in the same sample wherever they lie."""
    directory, name = os.path.split(file.path)
    return os.path.join(os.path.basename(directory), name)


def _skip_log(file: DataFile, why: str, options: Options, done: CheckResult) -> None:
    try:
        done.skip(file.path, why, file.size())
    except CannotRead as e:
        cannot_read(file, e, options, done)


def _skip_indexes(checked: CheckedSegment, why: str, done: CheckResult) -> None:
    for index in checked.indexes.values():
        done.skip(index.path, why)


def _check_log(file: DataFile, checked: CheckedSegment, options: Options, facts: LogFacts, done: CheckResult) -> None:
    time_index = checked.indexes.get(TIME)
    offsets, times = _offset_entries(checked.indexes.get(OFFSET)), _time_entries(time_index)
    try:
        with file.open() as log:
            result = check_log(log, facts, offsets, times, options.jobs)
            against = CheckedLog(log, facts, result, offsets, times, time_index, checked.indexes.get(OFFSET))
            found = list(findings_about(against))
            if log.changed() and not options.live:
                raise ChangedWhileRead(f"{file.path}: it changed while it was read; try again, or with --live")
    except CannotRead as e:
        cannot_read(file, e, options, done)
        _skip_indexes(checked, f"its log could not be read, so its entries were {NOT_HELD} it", done)
        return
    checked.log = result
    if time_index is not None:
        time_index.log_max_timestamp = result.max_timestamp
    done.findings += limited([*few_or_one(result.findings), *found])
    if result.being_written:
        done.skip(file.path, "its end was being written when it was read")
    for sentence in result.too_large:
        done.cannot(file.path, sentence)
    if more := result.not_decoded - len(result.too_large):
        done.cannot(file.path, f"{file.path}: {more:,} more batches were not decoded, for the same reason")
    done.cover(file.path, log.size - result.skipped_bytes, batches=result.batches)
    for first, after in result.broken:
        done.skip(file.path, "no batch can be read there", after - first, f": bytes {first}-{after - 1}")


def _offset_entries(index: IndexFile | None) -> OffsetEntries | None:
    if index is None or index.slots is None:
        return None
    return OffsetEntries(index.path, index.slots, index.fields["offset"], index.fields["position"])


def _time_entries(index: IndexFile | None) -> TimeEntries | None:
    if index is None or index.slots is None:
        return None
    return TimeEntries(index.path, index.slots, index.fields["offset"], index.fields["timestamp"])
