"""What Java does in its own way where DumpLogSegments prints: integers that wrap, text from bytes, paths."""

from __future__ import annotations

import re
from typing import Any

from kidx.formats.text import JAVA

MAX_INT = 2**31 - 1


def as_int(value: int) -> int:
    """A number as Java's int arithmetic leaves it."""
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)


def sequence_after(sequence: int, increment: int) -> int:
    """DefaultRecordBatch.incrementSequence, -1 where there is no sequence (the callers' rule)."""
    if sequence == -1:
        return -1
    if sequence > as_int(MAX_INT - increment):
        return as_int(increment - (MAX_INT - sequence) - 1)
    return as_int(sequence + increment)


def sequence_before(sequence: int, decrement: int) -> int:
    """DefaultRecordBatch.decrementSequence."""
    if sequence < decrement:
        return as_int(MAX_INT - (decrement - sequence) + 1)
    return as_int(sequence - decrement)


def text(data: bytes) -> str:
    """Bytes as `new String(bytes, UTF_8)` reads them: as Python, but an encoded surrogate is one bad character."""
    return data.decode("utf-8", JAVA)


def compact_json(value: Any) -> str:
    """JSON as Jackson prints a node: control characters in upper-case hex, doubles as Double.toString has them."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{_quoted(k)}:{compact_json(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(compact_json, value)) + "]"
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, float):
        return double_text(value)
    import json

    return json.dumps(value)


def _quoted(value: str) -> str:
    import json

    text = json.dumps(value, ensure_ascii=False)
    if "\\u00" in text:
        text = re.sub(r"(?<!\\)((?:\\\\)*)\\u00(1[a-f]|0[a-f])", lambda m: f"{m[1]}\\u00{m[2].upper()}", text)
    return text


def double_text(value: float) -> str:
    """Double.toString; what is no number is quoted, as Jackson does."""
    if value != value or value in (float("inf"), float("-inf")):
        return {"inf": '"Infinity"', "-inf": '"-Infinity"'}.get(str(value), '"NaN"')
    from decimal import Decimal

    if value == 0 or 1e-3 <= abs(value) < 1e7:
        text = format(Decimal(repr(value)), "f")
        return text if "." in text else text + ".0"
    sign, digits, exponent = Decimal(repr(value)).as_tuple()
    assert isinstance(exponent, int)
    written = "".join(map(str, digits)).rstrip("0") or "0"
    return f"{'-' if sign else ''}{written[0]}.{written[1:] or '0'}E{exponent + len(digits) - 1}"


def path_text(path: str) -> str:
    """A path as java.io.File prints it: slashes once, none at the end."""
    short = re.sub("/+", "/", path)
    return short if short == "/" else short.rstrip("/")
