"""The conditions of a query, by which files, windows and rows are skipped: ranges of columns, topics, partitions."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kidx.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

NAMED = ("topic", "partition")  # decided by a directory's name alone, so Spark need not check again
RANGED = ("segment", "base_offset", "offset", "timestamp", "max_timestamp", "producer_id")
_NULLABLE = ("timestamp", "producer_id")  # records of old formats lack them
_LEAST, _MOST = -(2**63), 2**63 - 1


@dataclass(slots=True)
class Conditions:
    """All must hold. `among` maps topic and partition to allowed values, `ranges` columns to inclusive bounds."""

    among: dict[str, set[Any]] = field(default_factory=dict)
    ranges: dict[str, tuple[int, int]] = field(default_factory=dict)

    def restrict(self, name: str, values: Collection[Any]) -> None:
        """Allow only these values of topic or partition."""
        self.among[name] = self.among.get(name, set(values)) & set(values)

    def bound(self, name: str, least: int = _LEAST, most: int = _MOST) -> None:
        """Allow only values from `least` to `most`."""
        low, high = self.ranges.get(name, (_LEAST, _MOST))
        self.ranges[name] = max(low, least), min(high, most)

    def allows(self, **named: Any) -> bool:
        """Whether a directory's topic and partition fulfil the conditions."""
        return all(named[name] in values for name, values in self.among.items() if name in named)

    def may_hold(self, segment: int, next_segment: int | None, name: str) -> bool:
        """Whether a segment may hold rows that fulfil the conditions. `name` is the column of offsets."""
        low, high = self.ranges.get("segment", (_LEAST, _MOST))
        if not low <= segment <= high:
            return False
        low, high = self.ranges.get(name, (_LEAST, _MOST))
        return segment <= high and (next_segment is None or next_segment > low)

    def limits(self, name: str) -> tuple[int | None, int | None]:
        """The bounds of a column, None where there is none."""
        low, high = self.ranges.get(name, (_LEAST, _MOST))
        return None if low <= _LEAST else low, None if high >= _MOST else high

    def mask(self, columns: Mapping[str, npt.NDArray[np.int64]]) -> npt.NDArray[np.bool_] | None:
        """The rows that lie in the ranges of their columns: bool, shape (rows,); None for all rows."""
        chosen = None
        for name, (low, high) in self.ranges.items():
            if name in columns:
                inside = (columns[name] >= low) & (columns[name] <= high)
                chosen = inside if chosen is None else chosen & inside
        return chosen


def conditions_from(options: Mapping[str, str], columns: Collection[str]) -> Conditions:
    """Conditions given as options: topic and partition as comma lists, ranged columns as LEAST..MOST, both included.

    Either side of a range may be omitted. Raises UsageError for malformed values and unknown columns.
    """
    conditions = Conditions()
    for name in (*NAMED, *RANGED):
        text = options.get(name)
        if text is None:
            continue
        if name not in columns:
            raise UsageError(f"option {name}: rows of this kind have no such column")
        if name == "topic":
            conditions.restrict(name, text.split(","))
            continue
        least, dots, most = text.partition("..")
        try:
            if name == "partition":
                conditions.restrict(name, [int(number) for number in text.split(",")])
            else:
                low = int(least) if least else _LEAST
                conditions.bound(name, low, (int(most) if most else _MOST) if dots else int(least))
        except ValueError:
            wanted = "numbers, as 0,1,2" if name == "partition" else "a number or a range, as 100..200"
            raise UsageError(f"option {name}: {text} is not {wanted}") from None
    return conditions


def take(conditions: Conditions, filters: list[Any]) -> list[Any]:
    """Add Spark's filters to the conditions. Returns the filters that Spark must still apply itself.

    Filters on ranges are returned too: they only skip files, windows and rows early.
    """
    left = []
    for item in filters:
        name = item.attribute[0] if len(getattr(item, "attribute", ())) == 1 else ""
        kind = type(item).__name__
        value = getattr(item, "value", None)
        if kind == "IsNotNull" and name in RANGED and name not in _NULLABLE:
            continue
        if name in NAMED and kind in ("EqualTo", "In") and value is not None:
            conditions.restrict(name, value if kind == "In" else [value])
            continue
        if name in RANGED and isinstance(value, int):
            _range(conditions, name, kind, value)
        elif name in RANGED and kind == "In" and value:
            conditions.bound(name, min(value), max(value))
        left.append(item)
    return left


def _range(conditions: Conditions, name: str, kind: str, value: int) -> None:
    if kind == "EqualTo":
        conditions.bound(name, value, value)
    elif kind == "GreaterThan":
        conditions.bound(name, least=value + 1)
    elif kind == "GreaterThanOrEqual":
        conditions.bound(name, least=value)
    elif kind == "LessThan":
        conditions.bound(name, most=value - 1)
    elif kind == "LessThanOrEqual":
        conditions.bound(name, most=value)
