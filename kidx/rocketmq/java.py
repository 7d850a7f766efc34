"""Java's arithmetic, on which a store's bytes depend."""

from __future__ import annotations

import sys
from array import array
from operator import mul

_POWERS = [1]  # of 31, modulo 2^32
_NATIVE_UTF_16 = "utf-16-le" if sys.byteorder == "little" else "utf-16-be"


class JavaThrows(Exception):
    """Raised where the real store would throw: `name` is the Java exception. Callers return null with the reason."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"the store throws {name}: {why}")
        self.name = name


def string_hash(text: str) -> int:
    """String.hashCode: over UTF-16 code units, as a signed 32-bit integer."""
    units = text.encode() if text.isascii() else array("H", text.encode(_NATIVE_UTF_16, "surrogatepass"))
    while len(_POWERS) < len(units):
        _POWERS.append(_POWERS[-1] * 31 & 0xFFFFFFFF)
    value: int = sum(map(mul, reversed(units), _POWERS)) & 0xFFFFFFFF
    return value - (1 << 32) if value >= 1 << 31 else value


def index_hash(key: str) -> int:
    """IndexFile.indexKeyHashMethod: abs(hashCode), and 0 for the one value that abs leaves negative."""
    value = abs(string_hash(key))
    return 0 if value == 1 << 31 else value


def int32(value: int) -> int:
    """A number as Java's int arithmetic wraps it."""
    value &= 0xFFFFFFFF
    return value - (1 << 32) if value >= 1 << 31 else value


def remainder(value: int, by: int) -> int:
    """Java's %: with the sign of the value."""
    return value - by * divide(value, by)


def divide(value: int, by: int) -> int:
    """Java's integer division: toward zero."""
    return value // by if value >= 0 else -(-value // by)
