"""The table of record kinds, as objects. Source: messages.txt, derived from Kafka's own message definitions.

A message has fields. Each exists in a range of versions, may be nullable or tagged (KIP-482) in some, has a default.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import NamedTuple

_NO_LIMIT = 2**15 - 1  # versions are int16


class Versions(NamedTuple):
    """An inclusive range of versions; `none` is the empty one."""

    first: int
    last: int

    def __contains__(self, version: object) -> bool:
        return isinstance(version, int) and self.first <= version <= self.last


NEVER = Versions(1, 0)


def parse_versions(text: str) -> Versions:
    """0+, 1-3, 2 or none."""
    if text == "none":
        return NEVER
    if text.endswith("+"):
        return Versions(int(text[:-1]), _NO_LIMIT)
    first, _, last = text.partition("-")
    return Versions(int(first), int(last or first))


class Field(NamedTuple):
    """`type` is a scalar's name or struct; `array` whether the field is an array of them. `tag` is -1 without a tag.

    `default` is the value in records that do not have the field.
    """

    name: str
    type: str
    array: bool
    versions: Versions
    nullable: Versions
    tag: int
    tagged: Versions
    default: object
    children: tuple[Field, ...]


class Message(NamedTuple):
    """A record kind. `family`: group, transaction, share, metadata, remote or data; `role`: key, value, record or data.

    `api_key` is the number by which records name their kind, -1 for data without one.
    """

    family: str
    role: str
    api_key: int
    name: str
    versions: Versions
    flexible: Versions
    fields: tuple[Field, ...]


@cache
def messages() -> dict[str, Message]:
    """Every message of the table by name."""
    from importlib.resources import files  # it imports zipfile, tempfile and random: a look at an index needs none

    text = files(__package__).joinpath("messages.txt").read_text(encoding="utf-8")
    found = {}
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    starts = [i for i, line in enumerate(lines) if not line.startswith(" ")]
    for start, end in pairwise([*starts, len(lines)]):
        family, role, api_key, name, versions, flexible = lines[start].split()
        found[name] = Message(
            family,
            role,
            -1 if api_key == "-" else int(api_key),
            name,
            parse_versions(versions),
            parse_versions(flexible),
            tuple(_fields(lines[start + 1 : end], 2)),
        )
    return found


@cache
def message_of(family: str, role: str, api_key: int) -> Message | None:
    """The message of a family that an api key names in that role, or None if this table has none."""
    for message in messages().values():
        if (message.family, message.role, message.api_key) == (family, role, api_key):
            return message
    return None


def _fields(lines: list[str], indent: int) -> Iterator[Field]:
    at = 0
    while at < len(lines):
        end = at + 1
        while end < len(lines) and lines[end].startswith(" " * (indent + 1)):
            end += 1
        yield _field(lines[at].split(), tuple(_fields(lines[at + 1 : end], indent + 2)))
        at = end


def _field(words: list[str], children: tuple[Field, ...]) -> Field:
    name, kind, versions, *options = words
    given = dict(option.split("=", 1) for option in options)
    tag, _, tagged = given.get("tag", "-1:none").partition(":")
    array, kind = kind.startswith("[]"), kind.removeprefix("[]")
    return Field(
        name,
        kind,
        array,
        parse_versions(versions),
        parse_versions(given.get("nullable", "none")),
        int(tag),
        parse_versions(tagged),
        _default(kind, array, given.get("default")),
        children,
    )


def _default(kind: str, array: bool, word: str | None) -> object:
    """A field's default: the one in the table, else zero or empty."""
    if word == "null":
        return None
    if array:
        return ()
    if kind == "bool":
        return word == "true"
    if kind == "string":
        return word or ""
    if kind == "bytes":
        return b""
    if kind == "uuid":
        return bytes(16)
    if kind == "float64":
        return float(word or 0)
    if kind == "struct":
        return "fields' defaults"
    return int(word or "0", 0)
