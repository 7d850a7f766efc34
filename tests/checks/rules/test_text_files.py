"""Small text files: each kind, what it needs, and the line that cannot be read."""

from __future__ import annotations

import pytest

from kidx.checks.engine.discovery import findings_about
from kidx.checks.subjects.partitions import TextFile
from kidx.findings import ERROR, limited

CASES: dict[str, tuple[str, bytes, list[tuple[object, object, str]]]] = {
    "epochs": ("leader_epochs", b"0\n1\n0 0\n", []),
    "epochs of version 1": ("leader_epochs", b"1\n1\n0 0\n", [(None, 1, "line 1: the version is '1'")]),
    "an epoch that falls": ("leader_epochs", b"0\n2\n1 0\n0 9\n", [(None, 4, "line 4: '0 9' does not rise")]),
    "offsets": ("offset_checkpoint", b"0\n1\nplain 0 7\n", []),
    "offsets without a partition": ("offset_checkpoint", b"0\n1\nplain 7\n", [(None, 3, "line 3: 'plain 7' is not")]),
    "offsets as epochs": ("leader_epochs", b"0\n1\nplain 0 7\n", [(None, 3, "line 3")]),
    "epochs as offsets": ("offset_checkpoint", b"0\n1\n0 0\n", [(None, 3, "line 3")]),
    "metadata": ("partition_metadata", b"version: 0\ntopic_id: LLFwgXryRf2v4oqp9-d2MA\n", []),
    "metadata without an id": ("partition_metadata", b"version: 0\n", [("topic_id", None, "it has no topic_id")]),
    "metadata without a version": (
        "partition_metadata",
        b"topic_id: LLFwgXryRf2v4oqp9-d2MA\n",
        [("version", None, "it has no version")],
    ),
    "no metadata": ("partition_metadata", b"version\n", [(None, None, "'version' is no line")]),
    "quorum": ("quorum_state", b'{"leaderId": 1}', []),
    "no quorum": ("quorum_state", b"version=1\n", [(None, None, "it is not the JSON object")]),
    "properties": ("meta_properties", b"#\nversion=1\n", []),
    "properties without a version": ("meta_properties", b"node.id=1\n", [("version", None, "it has no version")]),
    "something else": ("transaction_index", b"x\n", []),
}


@pytest.mark.parametrize(("kind", "data", "wanted"), CASES.values(), ids=CASES)
def test_a_text_file(kind: str, data: bytes, wanted: list[tuple[object, object, str]]) -> None:
    found = list(limited(findings_about(TextFile("x", kind, data))))
    assert [(f.rule, f.file, f.severity, f.expected, f.found) for f in found] == [
        ("KX505", "x", ERROR, expected, number) for expected, number, _ in wanted
    ]
    assert all(f.message.startswith(said) for f, (_, _, said) in zip(found, wanted, strict=True))
