"""A slow, obvious encoder of Kafka's messages, and values to feed it: the model that readers are held against.

Values are Python's: str, bytes (uuids too), int, float, bool, list, dict, None. Tagged fields with their default are
left out, as Kafka leaves them out.
"""

from __future__ import annotations

import random
import string
from base64 import b64encode, urlsafe_b64encode
from struct import pack
from typing import Any

from kidx.formats.schemas.model import Field, Message

CODES = {
    "bool": "?",
    "int8": "b",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "float64": "d",
}
LIMITS = {"int8": 7, "int16": 15, "int32": 31, "int64": 63, "uint16": 16, "uint32": 32}  # bits without a sign
ALPHABET = string.ascii_letters + 'äß€\U0001f600"\\\n\t\x01\x1f\x7f/ '


def varint(value: int) -> bytes:
    """An unsigned varint."""
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def default(field: Field, version: int) -> Any:
    """A field's value where nothing is said of it."""
    if field.default is None:
        return None
    if field.array:
        return []
    if field.type == "struct":
        return {f.name: default(f, version) for f in field.children if exists(f, version)}
    return bytes(16) if field.type == "uuid" else field.default


def exists(field: Field, version: int) -> bool:
    return version in field.versions or version in field.tagged


def encode(message: Message, version: int, value: dict[str, Any], unknown: dict[int, bytes] | None = None) -> bytes:
    """A message's bytes; `unknown` are tags of its outermost struct that no schema knows."""
    return _struct(message.fields, version, version in message.flexible, value, unknown or {})


def _struct(
    fields: tuple[Field, ...], version: int, flexible: bool, value: dict[str, Any], unknown: dict[int, bytes]
) -> bytes:
    out = b""
    tags = dict(unknown)
    for field in fields:
        if not exists(field, version):
            continue
        if version in field.tagged:
            if value[field.name] != default(field, version):
                tags[field.tag] = _value(field, version, flexible, value[field.name], in_tag=True)
        else:
            out += _value(field, version, flexible, value[field.name], in_tag=False)
    if flexible:
        out += varint(len(tags)) + b"".join(varint(tag) + varint(len(tags[tag])) + tags[tag] for tag in sorted(tags))
    return out


def _value(field: Field, version: int, flexible: bool, value: Any, *, in_tag: bool) -> bytes:
    nullable = version in field.nullable
    assert value is not None or nullable, field.name
    if field.array:
        if value is None:
            return _length(-1, "array", flexible)
        elements = (_element(field, version, flexible, each) for each in value)
        return _length(len(value), "array", flexible) + b"".join(elements)
    if field.type == "struct" and nullable:
        if value is None:
            return b"\0" if in_tag else b"\xff"
        return b"\1" + _element(field, version, flexible, value)
    if value is None:
        return _length(-1, field.type, flexible)
    return _element(field, version, flexible, value)


def _element(field: Field, version: int, flexible: bool, value: Any) -> bytes:
    if field.type == "struct":
        return _struct(field.children, version, flexible, value, {})
    if field.type == "uuid":
        return value
    if field.type == "string":
        value = value.encode()
    if field.type in ("string", "bytes"):
        return _length(len(value), field.type, flexible) + value
    return pack(">" + CODES[field.type], value)


def _length(length: int, kind: str, flexible: bool) -> bytes:
    if flexible:
        return varint(length + 1)
    return pack(">h" if kind == "string" else ">i", length)


def random_value(fields: tuple[Field, ...], version: int, chance: random.Random) -> dict[str, Any]:
    """Values for a struct's fields: edges and defaults often, else anything."""
    return {f.name: _random_field(f, version, chance) for f in fields if exists(f, version)}


def _random_field(field: Field, version: int, chance: random.Random) -> Any:
    if version in field.nullable and chance.random() < 0.3:
        return None
    if version in field.tagged and chance.random() < 0.3:
        return default(field, version)
    if field.array:
        count = chance.choice((0, 1, 1, 2, 3) if field.children else (0, 1, 2, 130))
        return [_random_element(field, version, chance) for _ in range(count)]
    return _random_element(field, version, chance)


def _random_element(field: Field, version: int, chance: random.Random) -> Any:
    kind = field.type
    if kind == "struct":
        return random_value(field.children, version, chance)
    if kind == "uuid":
        return chance.choice((bytes(16), chance.randbytes(16)))
    if kind == "string":
        return "".join(chance.choices(ALPHABET, k=chance.choice((0, 1, 5, 126, 127, 128))))
    if kind == "bytes":
        return chance.randbytes(chance.choice((0, 1, 5, 127, 128)))
    if kind == "bool":
        return chance.random() < 0.5
    if kind == "float64":
        return chance.choice((0.0, 1.5, -2.25e-7, 1e300, chance.uniform(-1e9, 1e9), float(chance.randrange(10**9))))
    top = 1 << LIMITS[kind]
    low = 0 if kind.startswith("u") else -top
    return chance.choice((0, 1, -1 if low else 1, low, top - 1, chance.randrange(low, top)))


def shown(fields: tuple[Field, ...], version: int, value: dict[str, Any], *, jackson: bool) -> dict[str, Any]:
    """A value as kidx's rows show it, or as Kafka's JSON converters write it."""
    out = {}
    for field in fields:
        if not exists(field, version):
            continue
        it = value[field.name]
        if jackson and version in field.tagged and it == default(field, version):
            continue
        if field.array and it is not None:
            out[field.name] = [_shown(field, version, each, jackson) for each in it]
        else:
            out[field.name] = _shown(field, version, it, jackson)
    return out


def _shown(field: Field, version: int, value: Any, jackson: bool) -> Any:
    if value is None:
        return None
    if field.type == "struct":
        return shown(field.children, version, value, jackson=jackson)
    if field.type == "uuid":
        return urlsafe_b64encode(value)[:22].decode()
    if field.type == "bytes":
        return b64encode(value).decode() if jackson else value.hex()
    return value
