"""Java's arithmetic where a store's bytes depend on it."""

from __future__ import annotations


class JavaThrows(Exception):
    """Raised where the real store would throw: `name` is the Java exception. Callers answer null and say why."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"the store throws {name}: {why}")
        self.name = name


def string_hash(text: str) -> int:
    """String.hashCode: over UTF-16 code units, as a signed 32-bit integer."""
    value = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for at in range(0, len(units), 2):
        value = (31 * value + (units[at] << 8 | units[at + 1])) & 0xFFFFFFFF
    return value - (1 << 32) if value >= 1 << 31 else value


def index_hash(key: str) -> int:
    """IndexFile.indexKeyHashMethod: abs(hashCode), and 0 for the one value that abs leaves negative."""
    value = abs(string_hash(key))
    return 0 if value == 1 << 31 else value


def int32(value: int) -> int:
    """What is left of a number in a Java int."""
    value &= 0xFFFFFFFF
    return value - (1 << 32) if value >= 1 << 31 else value


def remainder(value: int, by: int) -> int:
    """Java's %: with the sign of the value."""
    return value - by * divide(value, by)


def divide(value: int, by: int) -> int:
    """Java's integer division: toward zero."""
    return value // by if value >= 0 else -(-value // by)
