"""One reader for every record kind, in the old encoding and the flexible one (KIP-482).

Source: org.apache.kafka.common.protocol.ByteBufferAccessor and the code that Kafka's message generator writes. A
schema is turned once into a chain of small readers; fixed-width neighbours are unpacked together. Values are what JSON
has: int, float, bool, str, list, dict, None; a uuid is text as Kafka writes it (Uuid.toString), bytes are text in the
way that a Style says. Nothing a record holds makes the reader loop: what an array or text claims is held against the
bytes that are left.
"""

from __future__ import annotations

from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from struct import Struct, error
from typing import Any, NamedTuple

from kidx.errors import KidxError
from kidx.formats.schemas.model import Field, Message

UNKNOWN_TAGS = "_unknown_tags"
Reader = Callable[[bytes, int], tuple[Any, int]]  # (buffer, position) -> (value, position after it)
_FIXED = {
    "bool": "?", "int8": "b", "int16": "h", "uint16": "H", "int32": "i", "uint32": "I", "int64": "q", "float64": "d",
}  # fmt: skip


class Style(NamedTuple):
    """How values are given: `bytes_text` turns bytes into text; `defaults` says whether a tagged field that a record
    does not carry, or carries with its default, stands there.
    """

    name: str
    bytes_text: Callable[[bytes], str]
    defaults: bool


def _base64(data: bytes) -> str:
    return b64encode(data).decode()


PLAIN = Style("plain", bytes.hex, True)  # kidx's own rows
JACKSON = Style("jackson", _base64, False)  # as Kafka's JSON converters write a message


class Undecodable(KidxError):
    """Raised when bytes are not the message they were said to be; `position` is where it was seen."""

    def __init__(self, why: str, position: int) -> None:
        super().__init__(f"{why} at byte {position}")
        self.position = position


def read_message(
    message: Message, version: int, buffer: bytes, position: int = 0, style: Style = PLAIN
) -> tuple[dict[str, Any], int]:
    """A message's fields of that version in declared order, and the position after it.

    Tags that the table does not know are under `_unknown_tags`, as {tag: bytes}, where the style shows defaults too.
    Raises Undecodable.
    """
    if version not in message.versions:
        raise Undecodable(f"{message.name} has no version {version} (known: {_range(message)})", position)
    try:
        value, end = _message_reader(message, version, style)(buffer, position)
    except (error, IndexError):
        raise Undecodable(f"{message.name} version {version} breaks off: {len(buffer)} bytes", len(buffer)) from None
    except UnicodeDecodeError as e:
        raise Undecodable(
            f"{message.name} version {version} has text that is not UTF-8 ({e.reason})", position
        ) from None
    return value, end


def read_unsigned_varint(buffer: bytes, position: int) -> tuple[int, int]:
    """An unsigned varint of at most five bytes. Raises Undecodable; IndexError where the buffer ends inside it."""
    byte = buffer[position]
    if byte < 128:
        return byte, position + 1
    value, shift, start = byte & 127, 7, position
    while True:
        position += 1
        byte = buffer[position]
        value |= (byte & 127) << shift
        if byte < 128:
            return value & 0xFFFFFFFF, position + 1
        shift += 7
        if shift > 28:
            raise Undecodable("a varint of more than five bytes", start)


def _range(message: Message) -> str:
    first, last = message.versions
    return str(first) if first == last else f"{first} to {last}"


_READERS: dict[tuple[str, int, str], Reader] = {}


class _Context(NamedTuple):
    """What a reader is made for."""

    version: int
    flexible: bool
    style: Style


def _message_reader(message: Message, version: int, style: Style) -> Reader:
    key = (message.name, version, style.name)
    reader = _READERS.get(key)
    if reader is None:
        reader = _READERS[key] = _struct_reader(message.fields, _Context(version, version in message.flexible, style))
    return reader


def _struct_reader(fields: tuple[Field, ...], context: _Context) -> Reader:
    """A reader of a struct: its plain fields in order, then, in flexible versions, its tagged ones."""
    version, flexible, style = context
    plain = [f for f in fields if version in f.versions and version not in f.tagged]
    tagged = {f.tag: f for f in fields if version in f.tagged}
    tag_readers = {tag: _field_reader(f, context) for tag, f in tagged.items()}
    steps = _steps(plain, context)
    order = [f.name for f in fields if version in f.versions or version in f.tagged]
    absent = {f.name: _absent(f, context) for f in tagged.values()}
    defaults = absent if style.defaults else {}
    in_order = not tagged or [f.name for f in plain] + [f.name for f in tagged.values()] == order

    def read(buffer: bytes, position: int) -> tuple[Any, int]:
        value: dict[str, Any] = {}
        for names, step in steps:
            got, position = step(buffer, position)
            if type(names) is str:
                value[names] = got
            else:
                value.update(zip(names, got, strict=True))
        if not flexible:
            return value, position
        value.update(defaults)
        count, position = read_unsigned_varint(buffer, position)
        if count:
            position = _read_tags(buffer, position, count, tagged, tag_readers, value)
        if not in_order and (count or style.defaults):
            ordered = {name: value[name] for name in order if name in value}
            value = ordered | value
        if count and not style.defaults:
            for field in tagged.values():
                if field.name in value and value[field.name] == absent[field.name]:
                    del value[field.name]
            value.pop(UNKNOWN_TAGS, None)
        return value, position

    return read


def _absent(field: Field, context: _Context) -> object:
    """What a field is where a record does not carry it, as a reader would give it."""
    if field.type == "struct" and not field.array and field.default is not None:
        present = [f for f in field.children if context.version in f.versions]
        return {f.name: _absent(f, context) for f in present}
    if field.type == "uuid" and not field.array:
        return _read_uuid(bytes(16), 0)[0]
    if isinstance(field.default, bytes):
        return context.style.bytes_text(field.default)
    return list(field.default) if isinstance(field.default, tuple) else field.default


def _read_tags(
    buffer: bytes,
    position: int,
    count: int,
    tagged: dict[int, Field],
    readers: dict[int, Reader],
    value: dict[str, Any],
) -> int:
    for _ in range(count):
        tag, position = read_unsigned_varint(buffer, position)
        size, position = read_unsigned_varint(buffer, position)
        end = position + size
        if end > len(buffer):
            raise Undecodable(f"tagged field {tag} says {size} bytes and {len(buffer) - position} are left", position)
        if tag in readers:
            value[tagged[tag].name], came = readers[tag](buffer, position)
            if came != end:
                raise Undecodable(f"tagged field {tag} says {size} bytes and takes {came - position}", position)
        else:
            value.setdefault(UNKNOWN_TAGS, {})[str(tag)] = buffer[position:end].hex()
        position = end
    return position


def _steps(fields: list[Field], context: _Context) -> list[tuple[Any, Reader]]:
    """Readers in order, runs of fixed-width fields joined into one: (names of the run, reader)."""
    steps: list[tuple[Any, Reader]] = []
    run: list[Field] = []
    for field in [*fields, None]:
        if field is not None and not field.array and field.type in _FIXED:
            run.append(field)
            continue
        if run:
            steps.append((tuple(f.name for f in run), _fixed_reader("".join(_FIXED[f.type] for f in run))))
            run = []
        if field is not None:
            steps.append((field.name, _field_reader(field, context)))
    return steps


def _fixed_reader(codes: str) -> Reader:
    packed = Struct(">" + codes)
    unpack, size = packed.unpack_from, packed.size

    def read(buffer: bytes, position: int) -> tuple[Any, int]:
        return unpack(buffer, position), position + size

    return read


def _field_reader(field: Field, context: _Context) -> Reader:
    nullable = context.version in field.nullable
    if field.array:
        return _array_reader(_element_reader(field, context), field, nullable, context.flexible)
    if field.type == "struct" and nullable:
        inner = _struct_reader(field.children, context)

        in_tag = context.version in field.tagged

        def read(buffer: bytes, position: int) -> tuple[Any, int]:
            marker = buffer[position]  # KIP-893: null is a byte below 0; as a tagged field it is 0
            is_null = marker == 0 if in_tag else marker > 127
            return (None, position + 1) if is_null else inner(buffer, position + 1)

        return read
    if field.type in ("string", "bytes"):
        return _sized_reader(field, nullable, context)
    return _element_reader(field, context)


def _element_reader(field: Field, context: _Context) -> Reader:
    if field.type == "struct":
        return _struct_reader(field.children, context)
    if field.type in ("string", "bytes"):
        return _sized_reader(field, False, context)
    if field.type == "uuid":
        return _read_uuid
    unpack = Struct(">" + _FIXED[field.type])

    def read(buffer: bytes, position: int) -> tuple[Any, int]:
        return unpack.unpack_from(buffer, position)[0], position + unpack.size

    return read


def _length_reader(kind: str, flexible: bool) -> Reader:
    """A length, -1 for null: a varint of one more in flexible versions, else int16 for text and int32 for the rest."""
    if flexible:

        def read(buffer: bytes, position: int) -> tuple[int, int]:
            length, position = read_unsigned_varint(buffer, position)
            return length - 1, position

        return read
    unpack = Struct(">h" if kind == "string" else ">i")

    def read_old(buffer: bytes, position: int) -> tuple[int, int]:
        return unpack.unpack_from(buffer, position)[0], position + unpack.size

    return read_old


def _read_uuid(buffer: bytes, position: int) -> tuple[str, int]:
    end = position + 16
    if end > len(buffer):
        raise Undecodable(f"a uuid takes 16 bytes and {len(buffer) - position} are left", position)
    return urlsafe_b64encode(buffer[position:end])[:22].decode(), end


def _sized_reader(field: Field, nullable: bool, context: _Context) -> Reader:
    """Text or bytes."""
    length_of, name = _length_reader(field.type, context.flexible), field.name
    text_of = bytes.decode if field.type == "string" else context.style.bytes_text

    def read(buffer: bytes, position: int) -> tuple[Any, int]:
        length, start = length_of(buffer, position)
        if length < 0:
            if nullable:
                return None, start
            raise Undecodable(f"{name} is null and may not be", position)
        end = start + length
        if end > len(buffer):
            raise Undecodable(f"{name} says {length} bytes and {len(buffer) - start} are left", position)
        return text_of(buffer[start:end]), end

    return read


def _array_reader(element: Reader, field: Field, nullable: bool, flexible: bool) -> Reader:
    length_of, name = _length_reader("array", flexible), field.name

    def read(buffer: bytes, position: int) -> tuple[Any, int]:
        length, at = length_of(buffer, position)
        if length < 0:
            if nullable:
                return None, at
            raise Undecodable(f"{name} is null and may not be", position)
        if length > len(buffer) - at:  # every element takes at least a byte
            raise Undecodable(f"{name} says {length} elements and {len(buffer) - at} bytes are left", position)
        values = []
        for _ in range(length):
            value, at = element(buffer, at)
            values.append(value)
        return values, at

    return read
