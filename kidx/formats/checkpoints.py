"""The text files next to logs: offset checkpoints, leader epochs, and the properties of a log dir or partition.

Sources: org.apache.kafka.server.common.CheckpointFile (version, count, lines), OffsetCheckpointFile,
LeaderEpochCheckpointFile, PartitionMetadataFile, MetaProperties (a Java properties file), FileQuorumStateStore (JSON).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from kidx.errors import WrongFormat

_MOST_PROBLEMS = 1000  # a file with more of them is no checkpoint: the rest of it is not read


class PartitionOffset(NamedTuple):
    """A line of an offset checkpoint; the file determines its meaning (recovery point, high watermark, ...)."""

    topic: str
    partition: int
    offset: int


class EpochStart(NamedTuple):
    """A line of leader-epoch-checkpoint: the first offset of a leader's epoch."""

    epoch: int
    start_offset: int


class Problem(NamedTuple):
    """What is wrong with a text file; `line` counts from 1."""

    line: int
    why: str


def parse_offset_checkpoint(data: bytes) -> tuple[list[PartitionOffset], list[Problem]]:
    """The lines `topic partition offset` of a checkpoint of a log dir, and what is wrong with the file.

    An empty file is no problem: Kafka creates the file before it first writes to it.
    """
    rows, problems = _checkpoint_lines(data, 3)
    offsets = []
    seen: set[tuple[str, int]] = set()
    for number, fields in rows:
        row = PartitionOffset(fields[0], int(fields[1]), int(fields[2]))
        if row[:2] in seen:
            problems.append(Problem(number, f"{row.topic}-{row.partition} stands here a second time"))
            if len(problems) > _MOST_PROBLEMS:
                break
        seen.add(row[:2])
        offsets.append(row)
    return offsets, problems


def parse_leader_epochs(data: bytes) -> tuple[list[EpochStart], list[Problem]]:
    """The lines `epoch start_offset` of leader-epoch-checkpoint, and what is wrong with it: both must strictly rise."""
    rows, problems = _checkpoint_lines(data, 2)
    epochs = [EpochStart(int(fields[0]), int(fields[1])) for _, fields in rows]
    for at in range(1, len(epochs)):
        if epochs[at].epoch <= epochs[at - 1].epoch or epochs[at].start_offset <= epochs[at - 1].start_offset:
            before, here = " ".join(map(str, epochs[at - 1])), " ".join(map(str, epochs[at]))
            problems.append(Problem(rows[at][0], f"'{here}' does not rise above '{before}'"))
            if len(problems) > _MOST_PROBLEMS:
                break
    return epochs, problems


def _checkpoint_lines(data: bytes, width: int) -> tuple[list[tuple[int, list[str]]], list[Problem]]:
    """Numbered lines split into fields, the last `width - 1` (of two: both) integers; and the problems."""
    if not data:
        return [], []
    problems: list[Problem] = []
    layout = "topic partition offset" if width == 3 else "epoch offset"
    lines = data.decode("utf-8", "replace").split("\n")
    if lines[-1] == "":
        lines.pop()
    if lines[0].strip() != "0":
        problems.append(Problem(1, f"the version is {lines[0][:200]!r}, and only 0 exists"))
    rows = []
    for number, line in enumerate(lines[2:], 3):
        fields = _fields(line)
        numbers = fields[1:] if width == 3 else fields
        if len(fields) == width and all(map(_is_integer, numbers)):
            rows.append((number, fields))
        else:
            problems.append(Problem(number, f"{line[:200]!r} is not '{layout}'"))
            if len(problems) > _MOST_PROBLEMS:
                break
    claimed = lines[1].strip() if len(lines) > 1 else ""
    if claimed != str(len(lines) - 2):
        problems.append(Problem(2, f"{claimed[:200]!r} lines are announced, and {max(0, len(lines) - 2)} follow"))
    return rows, problems


def _is_integer(field: str) -> bool:
    digits = field.removeprefix("-")
    return digits.isascii() and digits.isdigit() and len(digits) <= 19


def _fields(line: str) -> list[str]:
    """A line split at white space as by Java's split("\\s+"); str.split() accepts more characters as white space."""
    for space in "\t\x0b\f\r":
        line = line.replace(space, " ")
    first, *rest = line.split(" ")
    return [first, *filter(None, rest)]


def parse_properties(data: bytes) -> dict[str, str]:
    """A Java properties file (meta.properties) as Kafka writes it: comments, `key=value`, escapes."""
    import re

    properties = {}
    for line in data.decode("latin-1").splitlines():
        line = line.strip()
        if not line or line[0] in "#!":
            continue
        match = re.match(r"((?:[^\\=:\s]|\\.)*)\s*[=:\s]\s*(.*)", line) or re.match(r"(.*)()", line)
        assert match is not None  # the second pattern matches anything
        properties[_unescape(match[1])] = _unescape(match[2])
    return properties


def _unescape(text: str) -> str:
    import re

    special = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}

    def one(match: re.Match[str]) -> str:
        return chr(int(match[1], 16)) if match[1] else special.get(match[2], match[2])

    return re.sub(r"\\(?:u([0-9a-fA-F]{4})|(.))", one, text)


def parse_partition_metadata(data: bytes) -> dict[str, str]:
    """The lines `version: 0` and `topic_id: ...` of partition.metadata. Raises WrongFormat where one has no colon."""
    fields = {}
    for line in data.decode("utf-8", "replace").splitlines():
        name, colon, value = line.partition(":")
        if not colon:
            raise WrongFormat(f"{line!r} is no line of a partition.metadata file, which has 'name: value'")
        fields[name.strip()] = value.strip()
    return fields


def parse_quorum_state(data: bytes) -> dict[str, Any]:
    """The JSON object of KRaft's quorum-state. Raises WrongFormat if the file has none."""
    import json  # no other file here is JSON

    try:
        state = json.loads(data)
    except (ValueError, RecursionError):
        state = None
    if not isinstance(state, dict):
        raise WrongFormat("it is not the JSON object that a quorum-state file holds")
    return state
