"""Timestamps of batches."""

from __future__ import annotations

from collections.abc import Iterator

from kidx.checks.rule import check
from kidx.checks.subjects.partitions import CheckedSegments
from kidx.findings import NOTE, Finding, Rule
from kidx.formats.batches import BATCH_HEADER
from kidx.logdir.names import LOG, METADATA_SNAPSHOT
from kidx.text.quantities import counted, iso_time, size_text

FUTURE_TIMESTAMP = Rule(
    code="KX311",
    name="future-timestamp",
    severity=NOTE,
    title="A timestamp lies in the future",
    broker=(
        "Retention by time goes by the segment's largest timestamp: the segment stays until that moment has passed, "
        "and so do all later ones. Look-ups by time find it for every time before."
    ),
    story=(
        "A producer's clock was wrong, or it counts in other units (microseconds). message.timestamp.after.max.ms "
        "(3.6 and later; message.timestamp.difference.max.ms before) refuses such records; log.retention.bytes still "
        "works."
    ),
)

_HEADER_UP_TO_IT = BATCH_HEADER.field_span("max_timestamp")[1]


@check(CheckedSegments, FUTURE_TIMESTAMP)
def future_timestamp(segments: CheckedSegments) -> Iterator[Finding]:
    """The first batch of each log whose largest timestamp is more than a day from now."""
    for number, segment in enumerate(segments.all):
        file = segment.segment.file(LOG) or segment.segment.file(METADATA_SNAPSHOT)
        if segment.log is None or segment.log.future is None or file is None:
            continue
        position, timestamp = segment.log.future
        text = (
            f"the batch at byte {position} has timestamp {timestamp}, more than a day from now ({iso_time(timestamp)})"
        )
        found = {"timestamp": timestamp}
        if segment.is_living:
            held, more = _held(segments, number, timestamp)
            text, found = text + held, found | more
        span = position, position + _HEADER_UP_TO_IT
        yield FUTURE_TIMESTAMP.finding(file.path, text, span=span, found=found)


def _held(segments: CheckedSegments, number: int, timestamp: int) -> tuple[str, dict[str, int]]:
    """What retention by time keeps because of a timestamp, as the end of a sentence and as numbers."""
    if segments.setting("cleanup.policy") == "compact":
        return "; cleanup.policy is compact, so retention does not apply", {}
    later = [s for s in segments.all[number:] if s.is_living and s.log is not None]
    held = sum(s.log.end for s in later if s.log is not None)
    what = f"this segment and the {counted(len(later) - 1, 'later one')}" if len(later) > 1 else "this segment"
    text = f"; retention by time keeps {what}, {size_text(held)}, until then plus retention.ms"
    retention = segments.setting("retention.ms")
    if retention is None or not retention.isdigit():
        return text, {"held_bytes": held}
    until = timestamp + int(retention)
    return f"{text} ({int(retention):,} ms)", {"held_bytes": held, "until_timestamp": until}
