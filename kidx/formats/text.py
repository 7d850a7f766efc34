"""Text as Java decodes it from bytes."""

from __future__ import annotations

import codecs

JAVA = "kidx-java"  # an error handler for bytes.decode: what `new String(bytes, UTF_8)` makes of bytes that are no text


def _replace(error: UnicodeError) -> tuple[str, int]:
    """One replacement character for each bad sequence, as in Python, except that an encoded surrogate is one, too.

    So is an incomplete surrogate. Source: java.lang.String.decodeUTF8_UTF16 and malformed3.
    """
    assert isinstance(error, UnicodeDecodeError)
    data, at = error.object, error.start
    if data[at] == 0xED and 0xA0 <= _byte(data, at + 1) <= 0xBF:
        return "\ufffd", at + (3 if 0x80 <= _byte(data, at + 2) <= 0xBF else 2)
    return "\ufffd", error.end


def _byte(data: bytes, at: int) -> int:
    return data[at] if at < len(data) else -1


codecs.register_error(JAVA, _replace)
