"""JSON as Jackson writes it, which Kafka's tools print."""

from __future__ import annotations

import re
from decimal import Decimal
from json import JSONEncoder
from typing import Any

_encode = JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def compact_json(value: Any) -> str:
    """JSON as Jackson prints a node: control characters in upper-case hex, doubles as Double.toString has them."""
    if not _has_double(value):
        return _upper_hex(_encode(value))
    if isinstance(value, dict):
        return "{" + ",".join(f"{compact_json(k)}:{compact_json(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(compact_json, value)) + "]"
    return double_text(value)


def _has_double(value: Any) -> bool:
    """Whether Python's encoder would not do: it writes doubles in its own way."""
    if type(value) is dict:
        value = value.values()
    elif type(value) is not list:
        return type(value) is float
    for item in value:
        kind = type(item)
        if kind is float or ((kind is dict or kind is list) and item and _has_double(item)):
            return True
    return False


def _upper_hex(text: str) -> str:
    if "\\u00" not in text:
        return text
    return re.sub(r"(?<!\\)((?:\\\\)*)\\u00(1[a-f]|0[a-f])", lambda m: f"{m[1]}\\u00{m[2].upper()}", text)


def double_text(value: float) -> str:
    """Double.toString; what is no number is quoted, as Jackson does."""
    if value != value or value in (float("inf"), float("-inf")):
        return {"inf": '"Infinity"', "-inf": '"-Infinity"'}.get(str(value), '"NaN"')

    if value == 0 or 1e-3 <= abs(value) < 1e7:
        text = format(Decimal(repr(value)), "f")
        return text if "." in text else text + ".0"
    sign, digits, exponent = Decimal(repr(value)).as_tuple()
    assert isinstance(exponent, int)
    written = "".join(map(str, digits)).rstrip("0") or "0"
    return f"{'-' if sign else ''}{written[0]}.{written[1:] or '0'}E{exponent + len(digits) - 1}"
