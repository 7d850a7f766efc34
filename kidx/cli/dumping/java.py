"""What Java does in its own way where DumpLogSegments prints: integers that wrap, text from bytes, paths."""

from __future__ import annotations

import re

from kidx.formats.text import JAVA

MAX_INT = 2**31 - 1


def as_int(value: int) -> int:
    """A number as Java's int arithmetic leaves it."""
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)


def sequence_after(sequence: int, increment: int) -> int:
    """DefaultRecordBatch.incrementSequence, -1 where there is no sequence (the callers' rule)."""
    if sequence == -1:
        return -1
    if sequence > as_int(MAX_INT - increment):
        return as_int(increment - (MAX_INT - sequence) - 1)
    return as_int(sequence + increment)


def sequence_before(sequence: int, decrement: int) -> int:
    """DefaultRecordBatch.decrementSequence."""
    if sequence < decrement:
        return as_int(MAX_INT - (decrement - sequence) + 1)
    return as_int(sequence - decrement)


def text(data: bytes) -> str:
    """Bytes as `new String(bytes, UTF_8)` reads them: as Python, but an encoded surrogate is one bad character."""
    return data.decode("utf-8", JAVA)


def path_text(path: str) -> str:
    """A path as java.io.File prints it: slashes once, none at the end."""
    short = re.sub("/+", "/", path)
    return short if short == "/" else short.rstrip("/")
