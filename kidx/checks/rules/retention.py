"""Retention that a timestamp in the future holds up, by the indexes of a partition. Only `kidx scan` examines it."""

from __future__ import annotations

from kidx.checks.rule import check
from kidx.checks.subjects.replicas import RetainedSegments
from kidx.findings import NOTE, Finding, Rule
from kidx.text.quantities import counted, iso_time, size_text

STALLED_RETENTION = Rule(
    code="KX606",
    name="stalled-retention",
    severity=NOTE,
    title="A timestamp in the future keeps segments from being deleted",
    broker=(
        "Retention by time counts from a segment's largest timestamp and goes from the oldest segment on: neither this "
        "segment nor any later one is deleted before that moment plus retention.ms."
    ),
    story=(
        "A producer's clock was wrong, or it counts in other units (microseconds). The rule goes by the last entry of "
        "the time index and the bytes held on this replica; KX311 is about the batch itself. Delete the records "
        "(kafka-delete-records), or limit the log by retention.bytes for some time. A topic that is only compacted "
        "has no retention."
    ),
    repair="delete the records up to this segment's end with kafka-delete-records, if they are no longer needed",
)


@check(RetainedSegments, STALLED_RETENTION)
def stalled_retention(retained: RetainedSegments) -> list[Finding] | None:
    """The first segment of a partition whose largest timestamp is more than a day after the scan."""
    if retained.largest_timestamp <= retained.limit_ms:
        return None
    at = retained.largest_timestamp
    later = f" and {counted(retained.segments - 1, 'later one')}" if retained.segments > 1 else ""
    said = (
        f"its largest timestamp is {iso_time(at) or at}: until then plus retention.ms, retention "
        f"keeps this segment{later}, {size_text(retained.held_bytes)}"
    )
    found = {"timestamp": retained.largest_timestamp, "held_bytes": retained.held_bytes}
    return [STALLED_RETENTION.finding(retained.file, said, found=found)]
