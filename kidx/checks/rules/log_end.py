"""Where a broker takes the log's end to be after a clean stop, against where it is.

Source: org.apache.kafka.storage.internals.log.LogSegment.readNextOffset and .read, UnifiedLog; asked of brokers 2.8.2,
3.5.2, 3.9.1, 4.1.0 and 4.3.1.
"""

from __future__ import annotations

from kidx.checks.rule import check
from kidx.checks.subjects.logs import CheckedLog
from kidx.findings import ERROR, Finding, Rule
from kidx.segments.walk import END, TORN, walk

LOG_END_FALLS = Rule(
    code="KX313",
    name="log-end-falls",
    severity=ERROR,
    title="After this clean stop a broker sets the log end too low",
    broker=(
        "Brokers of 2.8 to 4.3 do not recover a log after a clean stop. They look for the log's end from the offset "
        "index's last entry on; where no whole batch with that offset follows, the end falls to the segment's base "
        "offset. Records vanish from view, and new ones get their offsets."
    ),
    story=(
        "The log lost its end, or the last index entry points past it, and the mark of the clean stop "
        "(.kafka_cleanshutdown) keeps the broker from checking. What it appends then lies behind the old records under "
        "the same offsets, or behind a torn batch where no consumer gets to it. Delete .kafka_cleanshutdown of the "
        "stopped broker, so that it recovers the active segments, or rebuild the segment's indexes (`kidx rebuild "
        "--in-place`; not enough where the last batch is torn) before it starts."
    ),
    repair="delete .kafka_cleanshutdown while the broker is stopped: it then recovers the active segments",
)

_WITHOUT_ERROR = (END, TORN)


@check(CheckedLog, LOG_END_FALLS)
def log_end_falls(log: CheckedLog) -> list[Finding] | None:
    """An active segment, after a clean stop, whose end a broker does not find."""
    facts, index = log.facts, log.offset_index
    if not facts.active or not facts.clean_start or facts.live or index is None or index.extent.zero_tail_bytes:
        return None
    last = log.result.last_offset
    if last is None or log.result.not_believed:
        return None
    slot, offset, position = log.last_index_entry
    taken = _end_taken(log, offset, position)
    if taken is None or taken == last + 1:
        return None
    lost = last + 1 - taken
    text = (
        f"after this clean stop a broker takes offset {taken} for the log's end, not {last + 1}: the last index entry "
        f"says offset {offset} is at byte {position}, the log's batches end at byte {log.result.end}; {lost:,} "
        f"{'offset vanishes' if lost == 1 else 'offsets vanish'} from view, and new records get the same ones"
    )
    span = (log.result.last_position, log.evidence.size)
    return [LOG_END_FALLS.finding(log.evidence.path, text, span=span, slot=slot, expected=last + 1, found=taken)]


def _end_taken(log: CheckedLog, offset: int, position: int) -> int | None:
    """The log's end as a broker reads it from an index entry on; None where it throws."""
    base = log.facts.base_offset
    if not 0 <= position < log.evidence.size:
        return base
    end = None
    batches = walk(log.evidence, position)
    for batch in batches:
        if end is None and batch.last_offset < offset:
            continue
        end = batch.last_offset + 1
    if batches.ending is not None and batches.ending.kind not in _WITHOUT_ERROR:
        return None
    return base if end is None else end
