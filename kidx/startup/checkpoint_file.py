"""Checkpoint files as a broker reads them at its start. Source: org.apache.kafka.server.common.CheckpointFile."""

from __future__ import annotations

import re
from typing import NamedTuple

_SPACES = re.compile(r"[ \t\n\x0b\f\r]+")
_SHOWN = 1000  # characters of a line; Kafka's message has all of it
_IO_ERROR = "java.io.IOException: "
_LINE_END = re.compile(r"\r\n|\n|\r")


class CheckpointContent(NamedTuple):
    """The rows of a checkpoint, each split into fields; or Java's exception.

    `io_error` is an IOException, `number_error` a NumberFormatException; at most one is set.
    """

    rows: list[list[str]]
    io_error: str | None = None
    number_error: str | None = None


def read_checkpoint(data: bytes, path: str, numbers_from: int, *, malformed_is_io_error: bool) -> CheckpointContent:
    """Parse a checkpoint; fields from `numbers_from` on must be numbers, one more field than that at least."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return CheckpointContent([], "java.nio.charset.MalformedInputException: Input length = 1")
    lines = _LINE_END.split(text)
    if lines[-1] == "":
        lines.pop()
    if len(lines) < 1:
        return CheckpointContent([])
    for line in lines[:2]:
        if not _is_number(line):
            return CheckpointContent([], _malformed(path, line))
    if int(lines[0]) != 0:
        message = f"Unrecognised version:{int(lines[0])}, expected version: 0 in checkpoint file at: {path}"
        return CheckpointContent([], _IO_ERROR + message)
    if len(lines) < 2:
        return CheckpointContent([])
    rows = []
    for line in lines[2:]:
        fields = _SPACES.split(line)
        while fields and not fields[-1]:
            fields.pop()
        if len(fields) != (3 if numbers_from else 2):
            return CheckpointContent([], _malformed(path, line))
        wrong = next((f for f in fields[numbers_from:] if not _is_number(f)), None)
        if wrong is not None:
            if malformed_is_io_error:
                return CheckpointContent([], _malformed(path, line))
            said = f'java.lang.NumberFormatException: For input string: "{wrong[:_SHOWN]}"'
            return CheckpointContent([], None, said)
        rows.append(fields)
    if len(rows) != int(lines[1]):
        message = f"Expected [{int(lines[1])}] entries in checkpoint file [{path}], but found only [{len(rows)}]"
        return CheckpointContent([], _IO_ERROR + message)
    return CheckpointContent(rows)


def _malformed(path: str, line: str) -> str:
    return f"{_IO_ERROR}Malformed line in checkpoint file [{path}]: {line[:_SHOWN]}"


def _is_number(text: str) -> bool:
    digits = text[1:] if text[:1] in ("+", "-") else text
    return digits.isdecimal() and len(digits) <= 19
