"""Java's String.hashCode, on which the placement of keys depends: RocketMQ's indexes, Kafka's internal topics."""

from __future__ import annotations

import sys
from array import array
from operator import mul

_POWERS = [1]  # of 31, modulo 2^32
_NATIVE_UTF_16 = "utf-16-le" if sys.byteorder == "little" else "utf-16-be"


def string_hash(text: str) -> int:
    """String.hashCode: over UTF-16 code units, as a signed 32-bit integer."""
    units = text.encode() if text.isascii() else array("H", text.encode(_NATIVE_UTF_16, "surrogatepass"))
    while len(_POWERS) < len(units):
        _POWERS.append(_POWERS[-1] * 31 & 0xFFFFFFFF)
    value: int = sum(map(mul, reversed(units), _POWERS)) & 0xFFFFFFFF
    return value - (1 << 32) if value >= 1 << 31 else value


def positive_hash(text: str) -> int:
    """abs(hashCode), and 0 for the one value that abs leaves negative."""
    value = abs(string_hash(text))
    return 0 if value == 1 << 31 else value
