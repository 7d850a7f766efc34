r"""JSON whose strings are valid Unicode, even for file names that are not.

Python represents bytes of a path that are not UTF-8 as lone surrogates. JSON could hold them (\udcff), but many readers
refuse or replace them. In a string with such bytes, each of them becomes \xff, and backslashes are doubled (in JSON's
notation "\\xff" and "\\\\"), so the name can be recovered. All other strings are unchanged.
"""

from __future__ import annotations

from functools import cache
from json import JSONEncoder
from typing import TYPE_CHECKING, Any

from kidx.text.escaping import escaped

if TYPE_CHECKING:
    from collections.abc import Callable


def json_text(value: Any, *, compact: bool = False) -> str:
    """A value as JSON on one line. `compact` omits the spaces after commas and colons."""
    text = _encode(compact)(value)
    return text if is_unicode(text) else _encode(compact)(as_unicode(value))


def as_unicode(value: Any) -> Any:
    """A value of dicts, lists, tuples and strings, with escapes for the undecodable bytes in its strings."""
    if isinstance(value, str):
        return value if is_unicode(value) else "".join(map(_character, value))
    if isinstance(value, dict):
        return {as_unicode(key): as_unicode(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [as_unicode(item) for item in value]
    return value


def is_unicode(text: str) -> bool:
    """Whether a text has no lone surrogates."""
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
