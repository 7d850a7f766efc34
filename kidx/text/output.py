"""Bytes to a text stream: large output is produced as bytes, and bypasses the stream's encoder, which is slower."""

from __future__ import annotations

from collections.abc import Iterable
from typing import IO, Any, cast

from kidx.text.escaping import NAMES, for_terminal


def write_bytes(out: IO[str], pieces: Iterable[bytes | memoryview]) -> None:
    """Write UTF-8 pieces to a text stream, bypassing its encoder if there is a binary stream below it.

    For a terminal, control characters are escaped. Raises OSError as the stream does.
    """
    if out.isatty():
        for piece in pieces:
            out.write(for_terminal(bytes(piece).decode("utf-8", "surrogateescape")))
        return
    below = getattr(out, "buffer", None)
    if below is None:
        for piece in pieces:
            out.write(bytes(piece).decode())
        return
    out.flush()
    for piece in pieces:
        rest = memoryview(piece)
        while rest:  # with PYTHONUNBUFFERED the stream below is a raw file, whose write may be partial
            rest = rest[below.write(rest) :]
    below.flush()


def encode(text: str) -> bytes:
    """Text as UTF-8. Bytes of a file's name that are not UTF-8 are written as escapes."""
    return text.encode("utf-8", NAMES)


def exact_output(out: IO[str]) -> IO[str]:
    """A stream for JSON and CSV: exact in files and pipes; on a terminal, control characters are escaped."""
    return cast("IO[str]", _Terminal(out)) if out.isatty() else out


class _Terminal:
    """A terminal stream that escapes control characters."""

    def __init__(self, out: IO[str]) -> None:
        self._out = out

    def write(self, text: str) -> int:
        """Write text, escaped."""
        return self._out.write(for_terminal(text))

    def isatty(self) -> bool:
        """False, so that output is not escaped twice."""
        return False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._out, name)
