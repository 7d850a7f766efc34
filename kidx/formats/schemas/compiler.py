"""Compiled readers of messages: a Python function is generated for each message, version and style.

Topics of millions of records are read with these, so the generated code has no look-ups: it lists the fields of its
version, unpacks neighbouring fixed-width fields together, and decodes varints of one byte inline. `source_of` returns
its text. Every length is compared with the bytes that are left, so no record makes a reader loop or fill memory.

Source of the encodings: org.apache.kafka.common.protocol.ByteBufferAccessor and what Kafka's message generator writes,
old and flexible (KIP-482), nullable structs (KIP-893).
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from struct import Struct, calcsize, unpack_from
from typing import Any, NamedTuple

from kidx.errors import KidxError
from kidx.formats.schemas.model import Field, Message

UNKNOWN_TAGS = "_unknown_tags"
Reader = Callable[[bytes, int], tuple[dict[str, Any], int]]  # (buffer, position) -> (fields, position after them)
_CODES = {
    "bool": "?", "int8": "b", "int16": "h", "uint16": "H", "int32": "i", "uint32": "I", "int64": "q", "float64": "d",
}  # fmt: skip


class Style(NamedTuple):
    """How values are represented: `bytes_text` turns bytes into text; `bad_text` is the error handler of bytes.decode.

    `kafka` follows Kafka: tagged fields with their default value, and unknown ones, are left out; known ones may differ
    from their stated size; framed records of later versions are read up to the last known field.
    """

    name: str
    bytes_text: Callable[[bytes], Any]
    bad_text: str = "backslashreplace"
    kafka: bool = False


class Undecodable(KidxError):
    """Raised when bytes are not the expected message; `position` is the byte where that was noticed."""

    def __init__(self, why: str, position: int) -> None:
        super().__init__(f"{why} at byte {position}")
        self.position = position


def compile_reader(message: Message, version: int, style: Style) -> Reader:
    """A reader of that message's fields. It raises Undecodable; struct.error or IndexError if the bytes end early."""
    source = source_of(message, version, style)
    names: dict[str, Any] = {**_HELPERS, "bytes_text": style.bytes_text}
    for codes in re.findall(r"unpack_(\w+)\(", source):
        names[f"unpack_{codes}"] = Struct(">" + codes.replace("B", "?")).unpack_from
    exec(compile(source, f"<reader of {message.name} version {version}>", "exec"), names)
    reader: Reader = names["read"]
    return reader


def source_of(message: Message, version: int, style: Style) -> str:
    """The Python text of a reader: `b` is the buffer, `p` the position in it, `size` where it ends."""
    writer = _Writer(version, version in message.flexible, style)
    writer.say("def read(b, p):")
    with writer.indented():
        writer.say("size = len(b)")
        fields = writer.struct(message.fields)
        writer.say(f"return {fields}, p")
    return "\n".join(writer.lines) + "\n"


def read_unsigned_varint(buffer: bytes, position: int) -> tuple[int, int]:
    """An unsigned varint of at most five bytes. Raises Undecodable; IndexError where the buffer ends inside it."""
    value = shift = 0
    for at in range(position, position + 5):
        byte = buffer[at]
        value |= (byte & 127) << shift
        if byte < 128:
            return value & 0xFFFFFFFF, at + 1
        shift += 7
    raise Undecodable("a varint of more than five bytes", position)


def uuid_text(data: bytes) -> str:
    """16 bytes as Kafka's Uuid.toString prints them."""
    return urlsafe_b64encode(data)[:22].decode()


def _short(name: str, claimed: int, unit: str, left: int, position: int) -> Undecodable:
    return Undecodable(f"{name} says {claimed} {unit} and {left} are left", position)


def _null(name: str, position: int) -> Undecodable:
    return Undecodable(f"{name} is null and may not be", position)


def _badly_tagged(tag: int, claimed: int, taken: int, position: int) -> Undecodable:
    return Undecodable(f"tagged field {tag} says {claimed} bytes and takes {taken}", position)


_HELPERS = {
    "varint": read_unsigned_varint,
    "uuid_text": uuid_text,
    "unpack": unpack_from,
    "short": _short,
    "null": _null,
    "badly_tagged": _badly_tagged,
}


class _Writer:
    """Generates a reader's lines. Each method generates code that reads a value, and returns the variable's name."""

    def __init__(self, version: int, flexible: bool, style: Style) -> None:
        self.version, self.flexible, self.style = version, flexible, style
        self.lines: list[str] = []
        self._indent = self._variables = 0

    def say(self, line: str) -> None:
        self.lines.append(" " * self._indent + line)

    @contextmanager
    def indented(self) -> Iterator[None]:
        self._indent += 1
        yield
        self._indent -= 1

    def struct(self, fields: Iterable[Field]) -> str:
        """The plain fields in order, then, in flexible versions, the tagged ones."""
        present = [f for f in fields if self.version in f.versions or self.version in f.tagged]
        plain = [f for f in present if self.version not in f.tagged]
        tagged = [f for f in present if self.version in f.tagged]
        values = self._plain(plain)
        unknown = ""
        if self.flexible:
            values |= {f.name: self._variable(self._default(f)) for f in tagged}
            unknown = self._tags(tagged, values)
        made = self._variable("{" + ", ".join(f"{f.name!r}: {values[f.name]}" for f in present) + "}")
        if self.style.kafka:
            for f in tagged:
                self.say(f"if {values[f.name]} == {self._default(f)}: del {made}[{f.name!r}]")
        elif unknown:
            self.say(f"if {unknown}: {made}[{UNKNOWN_TAGS!r}] = {unknown}")
        return made

    def _plain(self, fields: list[Field]) -> dict[str, str]:
        """Variables by field; runs of fixed-width fields, and a length after them, are unpacked together."""
        values: dict[str, str] = {}
        codes, run = "", list[str]()
        for field in fields:
            fixed = _CODES.get(field.type) if not field.array else None
            if fixed is not None:
                values[field.name] = self._name()
                codes, run = codes + fixed, [*run, values[field.name]]
                continue
            length = (
                "" if self.flexible or (field.type in ("struct", "uuid") and not field.array) else _length_code(field)
            )
            self._unpack(codes + length, [*run, "n"] if length else run)
            codes, run = "", []
            values[field.name] = self._value(field, length_is_read=bool(length))
        self._unpack(codes, run)
        return values

    def _unpack(self, codes: str, variables: list[str]) -> None:
        if variables:
            self.say(f"{', '.join(variables)}, = unpack_{codes.replace('?', 'B')}(b, p)")
            self.say(f"p += {calcsize('>' + codes)}")

    def _value(self, field: Field, length_is_read: bool = False) -> str:
        nullable = self.version in field.nullable
        if field.array:
            return self._array(field, nullable, length_is_read)
        if field.type == "struct" and nullable:
            return self._nullable_struct(field)
        return self._element(field, nullable, length_is_read)

    def _element(self, field: Field, nullable: bool = False, length_is_read: bool = False) -> str:
        if field.type == "struct":
            return self.struct(field.children)
        if field.type == "uuid":
            self._ends(field, "16", "bytes")
            return self._taken("uuid_text(b[p:e])")
        if field.type in _CODES:
            name = self._name()
            self._unpack(_CODES[field.type], [name])
            return name
        value = self._length(field, nullable, length_is_read)
        with self.indented():
            self._ends(field, "n", "bytes")
            if field.type == "string":
                self._taken(f"str(b[p:e], 'utf-8', {self.style.bad_text!r})", value)
            else:
                self._taken("bytes_text(b[p:e])", value)
        return value

    def _array(self, field: Field, nullable: bool, length_is_read: bool) -> str:
        value = self._length(field, nullable, length_is_read)
        with self.indented():
            if field.type in _CODES:
                self._ends(field, f"n * {calcsize('>' + _CODES[field.type])}", "bytes")
                self._taken(f"list(unpack('>%d{_CODES[field.type]}' % n, b, p))", value)
                return value
            self.say(f"if n > size - p: raise short({field.name!r}, n, 'elements', size - p, p)")  # each takes a byte
            self.say(f"{value} = []")
            self.say("for _ in range(n):")
            with self.indented():
                element = self._element(field._replace(array=False))
                self.say(f"{value}.append({element})")
        return value

    def _nullable_struct(self, field: Field) -> str:
        """A byte before the struct states whether it is null: a negative one; in a tagged field, 0."""
        value = self._variable("None")
        self.say("n = b[p]; p += 1")
        self.say("if n:" if self.version in field.tagged else "if n < 128:")
        with self.indented():
            self.say(f"{value} = {self.struct(field.children)}")
        return value

    def _length(self, field: Field, nullable: bool, is_read: bool) -> str:
        """Read `n`, -1 for null; the indented lines that follow handle values that are not null."""
        value = self._name()
        if self.flexible:
            self._varint("n")
            self.say("n -= 1")
        elif not is_read:
            self._unpack(_length_code(field), ["n"])
        if nullable:
            self.say(f"if n < 0: {value} = None")
        else:
            self.say(f"if n < 0: raise null({field.name!r}, p)")
        self.say("else:")
        return value

    def _ends(self, field: Field, length: str, unit: str) -> None:
        """Set `e` to the end position."""
        self.say(f"e = p + {length}")
        self.say(f"if e > size: raise short({field.name!r}, {length}, {unit!r}, size - p, p)")

    def _taken(self, expression: str, value: str = "") -> str:
        value = self._variable(expression, value)
        self.say("p = e")
        return value

    def _varint(self, name: str) -> None:
        self.say(f"{name} = b[p]; p += 1")
        self.say(f"if {name} > 127: {name}, p = varint(b, p - 1)")

    def _tags(self, fields: list[Field], values: dict[str, str]) -> str:
        """Read tagged fields into the variables of `values`; returns that of unknown ones, "" if Kafka drops them."""
        strict = not self.style.kafka
        unknown = self._variable("None") if strict else ""
        count, tag, claimed, end = (self._name() for _ in range(4))
        too_long = f"if {end} > size: raise short('tagged field %d' % {tag}, {claimed}, 'bytes', size - p, p)"
        self._varint(count)
        self.say(f"for _ in range({count}):")
        with self.indented():
            self._varint(tag)
            self._varint(claimed)
            self.say(f"{end} = p + {claimed}")
            if strict:
                self.say(too_long)
            for i, field in enumerate(fields):
                self.say(f"{'elif' if i else 'if'} {tag} == {field.tag}:")
                with self.indented():
                    self.say(f"{values[field.name]} = {self._value(field)}")
                    if strict:
                        self.say(f"if p != {end}: raise badly_tagged({tag}, {claimed}, p - {end} + {claimed}, p)")
            self.say("else:" if fields else "if True:")
            with self.indented():
                if strict:
                    self.say(f"{unknown} = {unknown} or {{}}")
                    self.say(f"{unknown}[str({tag})] = b[p:{end}].hex()")
                else:
                    self.say(too_long)
                self.say(f"p = {end}")
        return unknown

    def _default(self, field: Field) -> str:
        """The value of a field that a record does not have, as an expression."""
        if field.default is None:
            return "None"
        if field.array:
            return "[]"
        if field.type == "struct":
            present = (f for f in field.children if self.version in f.versions)
            shown = (f for f in present if not self.style.kafka or self.version not in f.tagged)
            return "{" + ", ".join(f"{f.name!r}: {self._default(f)}" for f in shown) + "}"
        if field.type == "uuid":
            return repr(uuid_text(bytes(16)))
        return repr(self.style.bytes_text(b"") if field.type == "bytes" else field.default)

    def _name(self) -> str:
        self._variables += 1
        return f"v{self._variables}"

    def _variable(self, expression: str, name: str = "") -> str:
        name = name or self._name()
        self.say(f"{name} = {expression}")
        return name


def _length_code(field: Field) -> str:
    """A length in the old encoding: an int16 for text, an int32 for bytes and arrays; "" for other types."""
    if field.array or field.type == "bytes":
        return "i"
    return "h" if field.type == "string" else ""
