"""Ranges that rows must lie in: what --from, --to and the filters of logs come to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from kidx.tables.selection import Bound, Selection, field_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from kidx.text.integer_text import Integers, Maybe

T = TypeVar("T")


class Condition(NamedTuple):
    """A column's least and largest value, None: no limit. A row where it is absent fails."""

    column: int
    low: int | None
    high: int | None

    def holds(self, row: Sequence[Any]) -> bool:
        """Whether a row of Python's values meets it."""
        value = row[self.column]
        return (
            value is not None and (self.low is None or value >= self.low) and (self.high is None or value <= self.high)
        )

    def mask(self, columns: Sequence[Integers | Maybe]) -> npt.NDArray[np.bool_]:
        """Which rows of arrays meet it."""
        import numpy as np

        from kidx.text.integer_text import Maybe

        column = columns[self.column]
        values = column.values if isinstance(column, Maybe) else column
        keep = column.present.copy() if isinstance(column, Maybe) else np.ones(len(values), np.bool_)
        if self.low is not None:
            keep &= values >= self.low
        if self.high is not None:
            keep &= values <= self.high
        return keep


def conditions_of(
    wanted: Selection, names: tuple[str, ...], spans: dict[str, tuple[str, str]], natural: str, path: str
) -> list[Condition]:
    """--from and --to as conditions. `spans` names, for a field that a row has a range of (a batch's offsets), the
    columns that --from and --to are compared with: what overlaps the bounds is shown. Raises UsageError.
    """
    found = []
    for bound, end in ((wanted.low, 1), (wanted.high, 0)):
        if bound is None:
            continue
        column = spans[field][end] if (field := _field(bound, names, spans, natural, path)) in spans else field
        limits = (bound.value, None) if end else (None, bound.value)
        found.append(Condition(names.index(column), *limits))
    return found


def _field(bound: Bound, names: tuple[str, ...], spans: Iterable[str], natural: str, path: str) -> str:
    return field_of(bound, natural, (*spans, *names), path)


def ends_of(rows: Iterable[T], wanted: Selection) -> Iterator[T]:
    """The first `head` and the last `tail` of rows, or all of them; no more is held than the tail."""
    if wanted.head is None and wanted.tail is None:
        yield from rows
        return
    from collections import deque
    from itertools import islice

    rows = iter(rows)
    yield from islice(rows, wanted.head or 0)
    if wanted.tail:
        yield from deque(rows, wanted.tail)
