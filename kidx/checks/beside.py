"""Small text files beside the segments: leader epochs, checkpoints and properties."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kidx.checks.making import finding
from kidx.errors import WrongFormat
from kidx.findings import Finding
from kidx.formats.checkpoints import (
    parse_leader_epochs,
    parse_offset_checkpoint,
    parse_partition_metadata,
    parse_properties,
    parse_quorum_state,
)

TEXT_KINDS = ("leader_epochs", "offset_checkpoint", "partition_metadata", "quorum_state", "meta_properties")


def check_text_file(path: str, kind: str, data: bytes) -> Iterator[Finding]:
    """Findings about a text file by its kind (kidx.logdir.names)."""
    if kind in ("leader_epochs", "offset_checkpoint"):
        _, problems = (parse_leader_epochs if kind == "leader_epochs" else parse_offset_checkpoint)(data)
        for problem in problems:
            where = f"line {problem.line}: " if problem.line else ""
            yield finding("KX505", path, where + problem.why, found=problem.line)
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
        yield finding("KX505", path, str(e))
        return
    for name in wanted:
        if name not in fields:
            yield finding("KX505", path, f"it has no {name}", expected=name)
