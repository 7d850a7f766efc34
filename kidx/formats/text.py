"""Text as Java reads it from bytes."""

from __future__ import annotations

import codecs
import re

JAVA = "kidx-java"  # an error handler for bytes.decode: what `new String(bytes, UTF_8)` makes of bytes that are no text
_SURROGATE_REST = re.compile(rb"[\xa0-\xbf][\x80-\xbf]")


def _replace(error: UnicodeError) -> tuple[str, int]:
    """One replacement character for each bad sequence, as Python has it; but an encoded surrogate is one, not three."""
    assert isinstance(error, UnicodeDecodeError)
    data, at = error.object, error.start
    if data[at] == 0xED and _SURROGATE_REST.match(data[at + 1 : at + 3]):
        return "\ufffd", at + 3
    return "\ufffd", error.end


codecs.register_error(JAVA, _replace)
