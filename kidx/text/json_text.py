r"""JSON that every reader takes: strings of nothing but Unicode, whatever bytes a name is made of.

Python keeps bytes of a path that are no UTF-8 as lone surrogates, which JSON can write (as \udcff) and many readers
refuse or replace. A string that has such bytes is written with each of them as \xff and with its own backslashes
doubled (in JSON's notation that is "\\xff" and "\\\\"): nothing is lost. All other strings are written as they are.
"""

from __future__ import annotations

from functools import cache
from json import JSONEncoder
from typing import Any

from kidx.text.escaping import escaped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def json_text(value: Any, *, compact: bool = False) -> str:
    """A value as JSON in one line; `compact` leaves out the spaces after commas and colons."""
    text = _encode(compact)(value)
    return text if is_unicode(text) else _encode(compact)(as_unicode(value))


def as_unicode(value: Any) -> Any:
    """A value made of dicts, lists and strings, its strings with undecodable bytes as above."""
    if isinstance(value, str):
        return value if is_unicode(value) else "".join(map(_character, value))
    if isinstance(value, dict):
        return {as_unicode(key): as_unicode(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [as_unicode(item) for item in value]
    return value


def is_unicode(text: str) -> bool:
    """Whether a text has no lone surrogate."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _character(c: str) -> str:
    return r"\\" if c == "\\" else escaped(c) if "\ud800" <= c <= "\udfff" else c


@cache
def _encode(compact: bool) -> Callable[[Any], str]:
    return JSONEncoder(separators=(",", ":") if compact else (", ", ": "), ensure_ascii=False).encode
