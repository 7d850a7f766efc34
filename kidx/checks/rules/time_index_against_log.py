"""A time index's entries against the batches that they name."""

from __future__ import annotations

from collections.abc import Iterator

from kidx.checks.rule import Found, check
from kidx.checks.subjects.indexes import TimeEntries
from kidx.checks.subjects.logs import Batches, CheckedLog, RangeBorder
from kidx.checks.texts import CONFIRM_BY_REBUILD, LOADS_IT, REBUILD, TIERED
from kidx.findings import ERROR, WARNING, Finding, FindingLimiter, Rule
from kidx.segments.records import read_records

TIME_INDEX_OFFSET_NOT_FOUND = Rule(
    code="KX205",
    name="time-index-offset-not-found",
    severity=ERROR,
    title="A time index entry names an offset that no batch has",
    broker=(
        LOADS_IT + "a look-up by time that ends on it starts at the entry's offset, past records that it should have "
        "found." + TIERED
    ),
    story=(
        "Compaction keeps the offsets that a time index names, because it writes a new index with the new log. So an "
        "offset in no batch is an overwritten entry or an index of another log. " + CONFIRM_BY_REBUILD
    ),
    repair=REBUILD,
)

TIME_INDEX_TIMESTAMP_MISMATCH = Rule(
    code="KX206",
    name="time-index-timestamp-mismatch",
    severity=ERROR,
    title="A time index entry's timestamp is not the one first reached by the batch it names",
    broker=(
        LOADS_IT
        + "look-ups by time go wrong by the difference; if it is the last entry, retention by time does, too."
        + TIERED
    ),
    story=(
        "An entry says: with this offset the largest timestamp so far became this. The offset is the last one of the "
        "first batch with that maximum; brokers up to 3.x name the record itself, which is equally healthy. For an "
        "index with a zero tail, DumpLogSegments reports mismatches that do not exist. " + CONFIRM_BY_REBUILD
    ),
    repair=REBUILD,
)

MAX_TIMESTAMP_NOT_COVERED = Rule(
    code="KX207",
    name="max-timestamp-not-covered",
    severity=WARNING,
    title="The log holds a larger timestamp than its time index",
    broker=(
        "Retention by time goes by the time index's last entry, or by the file's modification time where there is "
        "none: the segment is deleted too early. Look-ups for times after the last entry may skip it."
    ),
    story=(
        "When a segment rolls or the log closes, the largest timestamp gets its entry and the index is cut to size. "
        "A cut index without it lost its end, or it was missing and was recreated (KX502). " + CONFIRM_BY_REBUILD
    ),
    repair=REBUILD,
)


@check(CheckedLog, TIME_INDEX_OFFSET_NOT_FOUND)
def offset_not_found(log: CheckedLog) -> Iterator[Found] | None:
    """Entries whose offset no batch has."""
    times = log.times
    if times is None or not log.result.whole or 0 not in times.met:
        return None

    def finding(index: int) -> Finding:
        text = f"names offset {times.offsets[index]}, which no batch of the log has"
        return times.finding(TIME_INDEX_OFFSET_NOT_FOUND, index, text, None)

    missing = [index for index, met in enumerate(times.met) if not met]
    return FindingLimiter().of(TIME_INDEX_OFFSET_NOT_FOUND.code, missing, finding)


def _mismatch(times: TimeEntries, index: int, there: int, before: int) -> Finding:
    """The finding about an entry whose timestamp is not that of the batch it names."""
    timestamp, offset = int(times.timestamps[index]), int(times.offsets[index])
    if there == timestamp and before >= timestamp:
        why = f"earlier batches had reached {before} already"
    elif there == timestamp:
        why = "another record of that batch is the first to have it"
    else:
        why = f"the batch with that offset has {there} as its largest timestamp"
    text = f"says offset {offset} is the first to reach timestamp {timestamp}; {why}"
    return times.finding(TIME_INDEX_TIMESTAMP_MISMATCH, index, text, there)


def mismatch_finding(batches: Batches, at: int) -> Finding:
    """The finding about an entry, counted from the first one of the window."""
    times, met = batches.times, batches.met_times
    assert times is not None
    assert met is not None
    return _mismatch(times, met.low + at, int(met.largest[at]), int(met.before[at]))


@check(Batches, TIME_INDEX_TIMESTAMP_MISMATCH, finding=mismatch_finding)
def timestamp_mismatch(batches: Batches) -> list[int] | None:
    """Entries that do not name the first batch, or the first record in it, to reach their timestamp."""
    times, met = batches.times, batches.met_times
    if times is None or met is None:
        return None
    high = met.low + len(met.rows)
    offsets, timestamps = times.offsets[met.low : high], times.timestamps[met.low : high]
    wrong = met.inside & ((met.largest != timestamps) | (met.before >= timestamps))
    if wrong.any() and not batches.current:  # messages of magic 0 are stored without the timestamp that was indexed
        wrong &= batches.column("magic")[met.rows] > 0
    inner = met.inside & ~wrong & (offsets != batches.window.last_offset[met.rows])
    for at in inner.nonzero()[0].tolist():  # next to no index has such entries
        records = read_records(batches.log, batches.window.batch(int(met.rows[at]))).records
        first = next((r.offset for r in records if r.timestamp >= timestamps[at]), None)
        wrong[at] = bool(records) and first != int(offsets[at])
    return wrong.nonzero()[0].tolist() if wrong.any() else None


@check(RangeBorder, TIME_INDEX_TIMESTAMP_MISMATCH)
def mismatch_across(border: RangeBorder) -> list[Finding] | None:
    """The first entry of a range whose timestamp had been reached before the range."""
    times, index = border.times, border.after.first_time_met
    if times is None or index is None or border.broken or border.max_timestamp < int(times.timestamps[index]):
        return None
    return [_mismatch(times, index, int(times.timestamps[index]), border.max_timestamp)]


@check(CheckedLog, MAX_TIMESTAMP_NOT_COVERED)
def max_timestamp_not_covered(log: CheckedLog) -> list[Finding] | None:
    """A trimmed time index without the log's largest timestamp at its end: trimming adds that entry.

    An active segment that a broker will recover at its next start needs no last entry before it rolls.
    """
    index, largest = log.time_index, log.result.max_timestamp
    if index is None or index.slots is None or largest < 0 or index.extent.torn_bytes:
        return None
    if log.result.last_magic == 0 or (log.facts.active and log.facts.clean_start is False):
        return None
    if index.is_one_zero_entry:
        last = 0
    elif index.extent.zero_tail_bytes:
        return None
    else:
        last = int(index.fields["timestamp"][-1]) if len(index.slots) else -1
    if last >= largest:
        return None
    text = f"its last timestamp is {last if last >= 0 else 'none'}; the log has {largest}"
    return [MAX_TIMESTAMP_NOT_COVERED.finding(index.path, text, expected=largest, found=last)]
