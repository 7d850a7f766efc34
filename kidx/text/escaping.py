"""Untrusted text (file names, topics, keys), escaped for one line of a terminal."""

from __future__ import annotations

import codecs

NAMES = "kidx-names"  # an error handler for str.encode: undecodable bytes of a file's name become escapes


def plain(text: str) -> str:
    r"""`text` with escapes for what is not printable: controls as \x1b, line breaks as \n, undecodable bytes as \xff.

    A file's name may hold anything but a slash and NUL. It must neither break a line nor control the terminal.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else escaped(c) for c in text)


def escaped(c: str) -> str:
    r"""The escape of one character, in ASCII. A lone surrogate stands for an undecodable byte and becomes \xff."""
    return rf"\x{ord(c) & 0xFF:02x}" if "\udc80" <= c <= "\udcff" else c.encode("unicode_escape").decode()


def for_terminal(text: str) -> str:
    r"""Exact output (JSON, CSV, DumpLogSegments' text) for a terminal: unprintable characters become \u001b.

    In a pipe or a file such output stays exact. The escape is that of JSON.
    """
    if text.replace("\n", "").isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" else f"\\u{ord(c):04x}" for c in text.replace("\r\n", "\n"))


def _escape(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    return "".join(map(escaped, error.object[error.start : error.end])), error.end


codecs.register_error(NAMES, _escape)
