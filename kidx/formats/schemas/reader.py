"""Reading a message: any kind in the table, any version of it.

Values are those of JSON: int, float, bool, str, list, dict, None; a uuid is text as Kafka writes it (Uuid.toString),
bytes become text as the Style defines.
"""

from __future__ import annotations

from base64 import b64encode
from struct import error
from typing import Any

from kidx.formats.schemas.compiler import Reader, Style, Undecodable, compile_reader
from kidx.formats.schemas.model import Message
from kidx.formats.text import JAVA

_READERS: dict[tuple[str, int, str], Reader] = {}


def _base64(data: bytes) -> str:
    return b64encode(data).decode()


PLAIN = Style("plain", bytes.hex)  # kidx's own rows
JACKSON = Style("jackson", _base64, JAVA, kafka=True)  # as Kafka's JSON converters write a message


def read_message(
    message: Message, version: int, buffer: bytes, position: int = 0, style: Style = PLAIN
) -> tuple[dict[str, Any], int]:
    """A message's fields of that version in declared order, and the position after it.

    Tags that the table does not know are under `_unknown_tags`, as {tag: bytes}, unless in the style of Kafka.
    Raises Undecodable.
    """
    reader = reader_of(message, version, style)
    try:
        return reader(buffer, position)
    except (error, IndexError):
        raise breaks_off(message, version, buffer) from None


def breaks_off(message: Message, version: int, buffer: bytes) -> Undecodable:
    """The meaning of a reader's struct.error or IndexError."""
    return Undecodable(f"{message.name} version {version} breaks off", len(buffer))


def reader_of(message: Message, version: int, style: Style, *, later: bool = False) -> Reader:
    """The compiled reader, created once. Raises Undecodable if the message has no such version; with `later`, newer
    versions are accepted and have all fields that no version removed.
    """
    key = (message.name, version, style.name)
    if later and message.versions.last < version:
        return compile_reader(message, version, style)
    if key not in _READERS:
        if version not in message.versions:
            raise Undecodable(f"{message.name} has no version {version} (known: {_range(message)})", 0)
        _READERS[key] = compile_reader(message, version, style)
    return _READERS[key]


def _range(message: Message) -> str:
    first, last = message.versions
    return str(first) if first == last else f"{first} to {last}"
