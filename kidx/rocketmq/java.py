"""Java's arithmetic, on which a store's bytes depend."""

from __future__ import annotations


class JavaThrows(Exception):
    """Raised where the real store would throw: `name` is the Java exception. Callers return null with the reason."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"the store throws {name}: {why}")
        self.name = name


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
