"""Bytes to a text stream: large output is made as bytes, which a stream's own encoder would only slow down."""

from __future__ import annotations

from collections.abc import Iterable
from typing import IO

from kidx.text.escaping import NAMES


def write_bytes(out: IO[str], pieces: Iterable[bytes | memoryview]) -> None:
    """Write UTF-8 pieces to a text stream, past its encoder where there is a binary stream below it.

    Raises OSError as the stream does.
    """
    below = getattr(out, "buffer", None)
    if below is None:
        for piece in pieces:
            out.write(bytes(piece).decode())
        return
    out.flush()
    for piece in pieces:
        rest = memoryview(piece)
        while rest:  # with PYTHONUNBUFFERED the stream below is a bare file, which may take less than all
            rest = rest[below.write(rest) :]
    below.flush()


def encode(text: str) -> bytes:
    """Text as UTF-8. Bytes of a file's name that are not UTF-8 are written as escapes."""
    return text.encode("utf-8", NAMES)
