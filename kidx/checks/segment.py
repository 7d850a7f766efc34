"""One segment: its indexes by themselves, its log, and each against the other."""

from __future__ import annotations

import os
from collections.abc import Iterator

from kidx.checks.account import Checked, cannot_read
from kidx.checks.against_log import OffsetEntries, TimeEntries, few_or_counted
from kidx.checks.density import apart, sparse
from kidx.checks.log import LogChecked, check_log
from kidx.checks.making import finding, limited
from kidx.checks.options import QUICK, Options
from kidx.checks.read_index import Index, read_index
from kidx.checks.stretch import LogFacts
from kidx.checks.surroundings import Surroundings
from kidx.errors import CannotRead, ChangedWhileRead
from kidx.findings import Finding
from kidx.logdir.names import INDEX_OF_KIND, LOG, METADATA_SNAPSHOT, OFFSET, TIME
from kidx.logdir.tree import DataFile, Segment


class SegmentChecked:
    """What is known of a segment when it has been checked; `log` is None where its log was not read."""

    def __init__(self, segment: Segment, indexes: dict[str, Index]) -> None:
        self.segment = segment
        self.indexes = indexes
        self.log: LogChecked | None = None


def check_segment(
    segment: Segment, surroundings: Surroundings, options: Options, log_facts: LogFacts, done: Checked
) -> SegmentChecked:
    """Check one segment's files into `done`. Indexes are read before the log, which a broker writes first."""
    log = segment.file(LOG) or segment.file(METADATA_SNAPSHOT)
    left_out = "" if log is None else _why_left_out(log, options)
    read_log = log is not None and not left_out
    indexes = {}
    for kind, index_format in INDEX_OF_KIND.items():
        file = segment.file(kind)
        if file is not None:
            facts = surroundings.index_facts(file, options)
            index = read_index(file, index_format, facts, options, done, keep_entries=read_log)
            if index is not None:
                indexes[kind] = index
    checked = SegmentChecked(segment, indexes)
    offsets, times = indexes.get(OFFSET), indexes.get(TIME)
    if offsets and times and offsets.slots is not None and times.slots is not None:
        done.findings += apart(times.file.path, offsets.fields["offset"], times.fields["offset"])
    if log is None:
        for index in indexes.values():
            done.skip(index.file.path, "no log beside it, so its entries were not checked against one")
    elif left_out:
        _skip_log(log, left_out, options, done)
    else:
        _check_log(log, checked, surroundings, options, log_facts, done)
    return checked


def _why_left_out(log: DataFile, options: Options) -> str:
    """Why a log is not to be read, empty where it is."""
    if options.level == QUICK:
        return "--quick reads no log and holds no index against one"
    return "" if options.sample is None or options.sample.has(_sample_name(log)) else "not in the sample"


def _sample_name(file: DataFile) -> str:
    """The partition and segment, so that replicas of a log are in the same sample wherever they lie."""
    directory, name = os.path.split(file.path)
    return os.path.join(os.path.basename(directory), name)


def _skip_log(file: DataFile, why: str, options: Options, done: Checked) -> None:
    try:
        done.skip(file.path, why, file.size())
    except CannotRead as e:
        cannot_read(file, e, options, done)


def _check_log(
    file: DataFile,
    checked: SegmentChecked,
    surroundings: Surroundings,
    options: Options,
    facts: LogFacts,
    done: Checked,
) -> None:
    offsets, times = _offset_entries(checked), _time_entries(checked)
    try:
        with file.open() as log:
            result = check_log(log, facts, offsets, times, options.jobs)
            if offsets is not None:
                done.findings += limited(offsets.past_the_end(result.end if result.whole else log.size))
            if offsets is not None and result.whole:
                result.findings += sparse(offsets, log, result.last_position)
            if log.changed() and not options.live:
                raise ChangedWhileRead(f"{file.path}: it changed while it was read; try again, or with --live")
    except CannotRead as e:
        cannot_read(file, e, options, done)
        for index in checked.indexes.values():
            done.skip(index.file.path, "its log could not be read, so its entries were not checked against it")
        return
    checked.log = result
    if times is not None and result.whole:
        done.findings += limited(times.not_met())
    times_index = checked.indexes.get(TIME)
    if times_index is not None and times_index.is_one_zero_entry and result.max_timestamp >= 0:
        done.findings = [f for f in done.findings if (f.rule, f.file) != ("KX110", times_index.file.path)]
    result.findings += _max_timestamp_covered(file, checked, result)
    found = few_or_counted(result.findings, "KX209")
    active = surroundings.is_active(facts.base_offset)
    severity, why = surroundings.preallocation(file)
    for one in limited(found):
        if one.rule == "KX312":
            one = one._replace(severity=severity, message=f"{one.message}: {why}")
        if one.rule == "KX302" and options.live and active:
            done.skip(file.path, "its end was being written when it was read")
            continue
        done.findings.append(one)
    for sentence in result.too_large:
        done.cannot(file.path, sentence)
    done.cover(file.path, log.size - result.skipped_bytes, batches=result.batches)
    for first, after in result.broken:
        done.skip(file.path, "no batch can be read there", after - first, f": bytes {first}-{after - 1}")


def _offset_entries(checked: SegmentChecked) -> OffsetEntries | None:
    index = checked.indexes.get(OFFSET)
    if index is None or index.slots is None:
        return None
    return OffsetEntries(index.file.path, index.slots, index.fields["offset"], index.fields["position"])


def _time_entries(checked: SegmentChecked) -> TimeEntries | None:
    index = checked.indexes.get(TIME)
    if index is None or index.slots is None:
        return None
    return TimeEntries(index.file.path, index.slots, index.fields["offset"], index.fields["timestamp"])


def _max_timestamp_covered(file: DataFile, checked: SegmentChecked, log: LogChecked) -> Iterator[Finding]:
    """A trimmed time index ends with the log's largest timestamp: it gets that entry when it is trimmed."""
    index = checked.indexes.get(TIME)
    if index is None or index.slots is None or log.max_timestamp < 0:
        return
    if index.is_one_zero_entry:
        last = 0
    elif index.extent.zero_tail_bytes:
        return
    else:
        last = int(index.fields["timestamp"][-1]) if len(index.slots) else -1
    if last < log.max_timestamp and not index.extent.torn_bytes:
        yield finding(
            "KX207",
            index.file.path,
            f"its last timestamp is {last if last >= 0 else 'none'}; the log has {log.max_timestamp}",
            expected=log.max_timestamp,
            found=last,
        )
