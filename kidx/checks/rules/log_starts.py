"""Where a partition's log starts by log-start-offset-checkpoint, against its segments."""

from __future__ import annotations

from kidx.checks.rule import check
from kidx.checks.subjects.partitions import LogStart
from kidx.findings import ERROR, Finding, Rule

LOG_START_PAST_END = Rule(
    code="KX534",
    name="log-start-past-end",
    severity=ERROR,
    title="log-start-offset-checkpoint has a log start past the end of the log",
    broker=(
        'Brokers of 2.8 to 4.3 delete the whole log ("Deleting all segments because logEndOffset is smaller than '
        'logStartOffset") and begin an empty one at that offset.'
    ),
    story=(
        "Records below the log start were deleted by request or by retention; it never passes the log's end. The file "
        "is of another log dir or was edited, or the log lost its end. Lower the offset in the file's line, or remove "
        "the line, while the broker is stopped: at its next start all records of the partition would be gone."
    ),
    repair="lower the offset of the partition's line while the broker is stopped",
)


@check(LogStart, LOG_START_PAST_END)
def log_start_past_end(start: LogStart) -> list[Finding] | None:
    """A log start past the last sound batch of the last segment."""
    last = start.living[-1] if start.living else None
    if start.offset is None or last is None or last.log is None:
        return None
    end = last.segment.base_offset if last.log.last_offset is None else last.log.last_offset + 1
    if start.offset <= end:
        return None
    text = f"it says that the log of {start.name} starts at offset {start.offset}; its log ends before offset {end}"
    return [LOG_START_PAST_END.finding(start.checkpoint, text, expected=f"<= {end}", found=start.offset)]
