"""Small text files: leader epochs, offset checkpoints, properties."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kidx.checks.rule import check
from kidx.checks.subjects.partitions import TextFile
from kidx.checks.texts import REBUILD_STATE_FILE
from kidx.errors import WrongFormat
from kidx.findings import ERROR, Finding, Rule
from kidx.formats.checkpoints import (
    parse_leader_epochs,
    parse_offset_checkpoint,
    parse_partition_metadata,
    parse_properties,
    parse_quorum_state,
)
from kidx.logdir.log_dir import why_no_id

TEXT_FILE_MALFORMED = Rule(
    code="KX505",
    name="text-file-malformed",
    severity=ERROR,
    title="A checkpoint or properties file cannot be read as one",
    broker=(
        "A malformed offset checkpoint or leader-epoch-checkpoint is an IOException when it is read: the log dir "
        "goes offline or the broker does not start. Without meta.properties a log dir counts as new and is not "
        "formatted."
    ),
    story=(
        "These are small text files that the broker writes under another name and renames, so a half-written one "
        "points to a file system that lost data, or to an editor. An offset checkpoint may be deleted while the broker "
        "is stopped: the recovery point is then 0 (every log is recovered), and the log start is that of the first "
        "segment."
    ),
    repair=f"of checkpoints: {REBUILD_STATE_FILE}",
)


@check(TextFile, TEXT_FILE_MALFORMED)
def malformed(file: TextFile) -> Iterator[Finding]:
    """Lines that cannot be read, or fields that are missing."""
    path, kind, data = file
    if kind in ("leader_epochs", "offset_checkpoint"):
        _, problems = (parse_leader_epochs if kind == "leader_epochs" else parse_offset_checkpoint)(data)
        for problem in problems:
            yield TEXT_FILE_MALFORMED.finding(path, f"line {problem.line}: {problem.why}", found=problem.line)
        return
    try:
        if kind == "partition_metadata":
            fields: Mapping[str, object] = parse_partition_metadata(data)
            wanted: tuple[str, ...] = ("version", "topic_id")
        elif kind == "quorum_state":
            fields, wanted = parse_quorum_state(data), ()
        elif kind == "meta_properties":
            fields, wanted = parse_properties(data), ("version",)
        else:
            return
    except WrongFormat as e:
        yield TEXT_FILE_MALFORMED.finding(path, str(e))
        return
    topic_id = fields.get("topic_id") if kind == "partition_metadata" else None
    if isinstance(topic_id, str) and (why := why_no_id(topic_id)):
        yield TEXT_FILE_MALFORMED.finding(path, f"topic_id {topic_id[:100]}: {why}", found=topic_id)
    for name in wanted:
        if name not in fields:
            yield TEXT_FILE_MALFORMED.finding(path, f"it has no {name}", expected=name)
