"""Timestamps of batches."""

from __future__ import annotations

from kidx.checks.rule import check
from kidx.checks.subjects.logs import CheckedLog
from kidx.findings import NOTE, Finding, Rule
from kidx.formats.batches import BATCH_HEADER

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


@check(CheckedLog, FUTURE_TIMESTAMP)
def future_timestamp(log: CheckedLog) -> list[Finding] | None:
    """The first batch whose largest timestamp is more than a day from now."""
    if log.result.future is None:
        return None
    position, timestamp = log.result.future
    said = f"the batch at byte {position} has timestamp {timestamp}, more than a day from now"
    span = position, position + _HEADER_UP_TO_IT
    return [FUTURE_TIMESTAMP.finding(log.evidence.path, said, span=span, found=timestamp)]
