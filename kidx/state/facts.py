"""Facts: the state at a moment, each with the record that last changed it."""

from __future__ import annotations

from typing import Any, NamedTuple

_Identity = tuple[Any, ...]


class Fact(NamedTuple):
    """One fact: its `kind` (committed_offset, topic, ...), its key, and the key's value.

    `key` and `value` are JSON-able. `offset` and `timestamp` are those of the record that last changed it; facts from a
    metadata snapshot have no offset, because a snapshot numbers its own records.
    """

    kind: str
    key: dict[str, Any]
    value: dict[str, Any]
    offset: int | None
    timestamp: int


class Facts:
    """Facts by kind and key. Records set and drop them; of a dropped fact only the record that dropped it is kept."""

    def __init__(self) -> None:
        self._by_kind: dict[str, dict[_Identity, Fact]] = {}
        self._dropped_by: dict[tuple[str, _Identity], tuple[int | None, int]] = {}

    def set(self, kind: str, key: dict[str, Any], value: dict[str, Any], offset: int | None, timestamp: int) -> None:
        """Set a key's value; an earlier one is replaced."""
        self._by_kind.setdefault(kind, {})[identity(key)] = Fact(kind, key, value, offset, timestamp)

    def get(self, kind: str, key: dict[str, Any]) -> Fact | None:
        """A key's fact, or None."""
        return self._by_kind.get(kind, {}).get(identity(key))

    def drop(self, kind: str, key: dict[str, Any], offset: int | None, timestamp: int) -> None:
        """Remove a key's fact, if there is one, by the record at this offset."""
        if self._by_kind.get(kind, {}).pop(identity(key), None) is not None:
            self._dropped_by[kind, identity(key)] = offset, timestamp

    def dropped_by(self, kind: str, key: dict[str, Any]) -> tuple[int | None, int | None]:
        """The offset and timestamp of the record that last dropped a key's fact; None, None where that is unknown."""
        return self._dropped_by.get((kind, identity(key)), (None, None))

    def of_kind(self, kind: str) -> list[Fact]:
        """All facts of a kind."""
        return list(self._by_kind.get(kind, {}).values())

    def sorted(self) -> list[Fact]:
        """All facts, by kind and key."""
        return sorted((fact for facts in self._by_kind.values() for fact in facts.values()), key=order)


def identity(key: dict[str, Any]) -> _Identity:
    """A hashable form of a key, unique within its kind."""
    return tuple(tuple(part.items()) if isinstance(part, dict) else part for part in key.values())


def order(fact: Fact) -> tuple[str, list[tuple[int, int, str]]]:
    """Sort key by kind and key: None first, numbers as numbers, everything else as text."""
    return fact.kind, [
        (0, 0, "") if part is None else (1, part, "") if isinstance(part, int) else (2, 0, str(part))
        for part in fact.key.values()
    ]
