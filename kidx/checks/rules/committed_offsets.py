"""The offsets that consumer groups have committed, against the logs. Only `kidx scan` has both."""

from __future__ import annotations

from kidx.checks.rule import check
from kidx.checks.subjects.replicas import CommittedOffset
from kidx.findings import NOTE, WARNING, Finding, Rule

COMMIT_AFTER_END = Rule(
    code="KX604",
    name="commit-after-log-end",
    severity=WARNING,
    title="A group has committed an offset after the end of the log",
    broker=(
        "The group's next fetch gets OFFSET_OUT_OF_RANGE, and auto.offset.reset decides. Once the log has grown past "
        "the offset, the group silently skips the records between."
    ),
    story=(
        "The log was truncated (unclean leader election, restored from an older copy), or the topic was recreated "
        "under its name. Of several replicas the one that ends last is taken; a partition that is not in the scan is "
        "not judged. With --live it is a note: commits may be copied later than the log."
    ),
    repair="reset the group's offset: kafka-consumer-groups --reset-offsets",
)

COMMIT_BEFORE_START = Rule(
    code="KX605",
    name="commit-before-log-start",
    severity=NOTE,
    title="A group has committed an offset before the start of the log",
    broker="The group's next fetch gets OFFSET_OUT_OF_RANGE, and auto.offset.reset decides where it continues.",
    story=(
        "Retention or DeleteRecords removed records that the group had not read. An abandoned group looks the same "
        "until its offsets expire (offsets.retention.minutes), so it is a note."
    ),
)


@check(CommittedOffset, COMMIT_AFTER_END)
def commit_after_end(commit: CommittedOffset) -> list[Finding] | None:
    """A committed offset above the largest end of all replicas."""
    if commit.offset <= commit.log_end:
        return None
    said = f"{_committed(commit)}, and the log ends at {commit.log_end}: {commit.offset - commit.log_end:,} before"
    severity = NOTE if commit.live else WARNING
    return [_finding(COMMIT_AFTER_END, commit, said, commit.log_end, severity)]


@check(CommittedOffset, COMMIT_BEFORE_START)
def commit_before_start(commit: CommittedOffset) -> list[Finding] | None:
    """A committed offset below the first offset of the log."""
    if commit.offset >= commit.log_start:
        return None
    lost = commit.log_start - commit.offset
    said = f"{_committed(commit)}, and the log starts at {commit.log_start}: {lost:,} records were deleted unread"
    return [_finding(COMMIT_BEFORE_START, commit, said, commit.log_start, NOTE)]


def _committed(commit: CommittedOffset) -> str:
    return f"group {commit.group} has committed offset {commit.offset}"


def _finding(rule: Rule, commit: CommittedOffset, said: str, bound: int, severity: str) -> Finding:
    found = {"group": commit.group, "offset": commit.offset, "timestamp": commit.timestamp}
    return rule.finding(commit.directory, said, expected=bound, found=found, severity=severity)
