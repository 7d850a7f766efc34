"""Which rows of a file are wanted: from a value to a value of a column, of these the first and the last."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from kidx.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from kidx.tables.nested import Cells
    from kidx.text.integer_text import Integers, Maybe

T = TypeVar("T")
_OTHER_NAMES = {"time": "timestamp"}


class Bound(NamedTuple):
    """An end of a range: `field` is a column, None for the natural key of the file's kind."""

    field: str | None
    value: int


class Selection(NamedTuple):
    """Rows from `low` to `high`, both included; of them the first `head` and the last `tail`. None is no limit."""

    low: Bound | None = None
    high: Bound | None = None
    head: int | None = None
    tail: int | None = None

    def ends_of(self, rows: Iterable[T]) -> Iterator[T]:
        """The first `head` and the last `tail` of rows, or all of them. Only `tail` rows are held in memory."""
        if self.head is None and self.tail is None:
            yield from rows
            return
        rows = iter(rows)
        yield from islice(rows, self.head or 0)
        if self.tail:
            yield from deque(rows, self.tail)

    def ends_of_arrays(self, batches: Iterable[Sequence[Cells]]) -> Iterator[Sequence[Cells]]:
        """The same of batches of columns, each of shape (n,)."""
        if self.head is None and self.tail is None:
            yield from batches
            return
        head, tail = self.head or 0, self.tail or 0
        last: deque[Sequence[Cells]] = deque()  # the rows of the tail, and at most a batch more
        held = 0
        for columns in batches if head or tail else ():
            rows = _length(columns)
            if head:
                yield part_of(columns, slice(head))
            first, head = min(head, rows), max(head - rows, 0)
            if not tail and not head:
                return
            if tail and first < rows:
                last.append(part_of(columns, slice(max(first, rows - tail), None)))
                held += _length(last[-1])
                while held - _length(last[0]) >= tail:
                    held -= _length(last.popleft())
        if last:
            last[0] = part_of(last[0], slice(max(0, held - tail), None))
        yield from last

    def last_of(
        self,
        pieces: Callable[[], Iterable[tuple[int, int]]],
        rows_of: Callable[[int, int], Iterable[Sequence[Cells]]],
    ) -> Iterator[Sequence[Cells]] | None:
        """The last `tail` rows of a file, read in `pieces` from its end on until there are enough; None with `head`.

        `rows_of` gives the batches of rows of a byte range.
        """
        if self.head or not self.tail:
            return None
        return self._last_of(pieces(), rows_of)

    def _last_of(
        self, pieces: Iterable[tuple[int, int]], rows_of: Callable[[int, int], Iterable[Sequence[Cells]]]
    ) -> Iterator[Sequence[Cells]]:
        found: list[Sequence[Cells]] = []
        missing = self.tail or 0
        for start, end in pieces:
            last = list(Selection(tail=missing).ends_of_arrays(rows_of(start, end)))
            found = [*last, *found]
            missing -= sum(map(_length, last))
            if not missing:
                break
        yield from found

    def ends_of_ranges(self, ranges: list[range]) -> list[range]:
        """The same of numbers given as rising ranges."""
        if self.head is None and self.tail is None:
            return ranges
        total = sum(map(len, ranges))
        head_end = min(self.head or 0, total)
        tail_start = max(total - (self.tail or 0), head_end)
        return [*_numbers(ranges, 0, head_end), *_numbers(ranges, tail_start, total)]


EVERYTHING = Selection()


def parse_bound(text: str | None) -> Bound | None:
    """`FIELD:NUMBER` (`time:` takes ISO 8601 too), a bare number (the natural key), or an ISO 8601 time.

    None for None. Raises UsageError.
    """
    if text is None:
        return None
    import re

    from kidx.text.quantities import timestamp_ms, whole_number

    field, colon, value = text.partition(":")
    if colon and re.fullmatch("[a-z_]+", field):
        field = _OTHER_NAMES.get(field, field)
        return Bound(
            field, timestamp_ms(value) if field.endswith("timestamp") else whole_number(value, f"{field}'s value")
        )
    if re.fullmatch(r"-?\d+", text, re.ASCII):
        return Bound(None, whole_number(text, "a bound"))
    return Bound("timestamp", timestamp_ms(text))


class Condition(NamedTuple):
    """A column (by its place) and the least and largest value wanted, None: no limit. An absent value is not wanted."""

    column: int
    low: int | None
    high: int | None

    def holds(self, row: Sequence[Any]) -> bool:
        """Whether a row meets the condition."""
        value = row[self.column]
        return (
            value is not None and (self.low is None or value >= self.low) and (self.high is None or value <= self.high)
        )

    def mask(self, columns: Sequence[Integers | Maybe]) -> npt.NDArray[np.bool_]:
        """Which rows of some columns meet it: bool, shape (n,)."""
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
    wanted: Selection,
    names: Sequence[str],
    natural: str,
    path: str,
    spans: Mapping[str, tuple[str, str]] | None = None,
) -> list[Condition]:
    """A selection's bounds as conditions on columns called `names`; a bound without a field is about `natural`.

    `spans` names, for a field that a row has a range of (the offsets of a batch), the columns of its ends: rows that
    overlap the bounds are wanted. Raises UsageError for a field that is no column; the message names `path`.
    """
    spans = spans or {}
    found = []
    for bound, is_low in ((wanted.low, True), (wanted.high, False)):
        if bound is None:
            continue
        field = bound.field or natural
        if field not in spans and field not in names:
            known = ", ".join((*spans, *names))
            raise UsageError(f"{path}: its rows hold no {field}; choose rows by one of {known}")
        column = spans[field][is_low] if field in spans else field
        limits = (bound.value, None) if is_low else (None, bound.value)
        found.append(Condition(names.index(column), *limits))
    return found


def part_of(columns: Sequence[Cells], rows: Any) -> Sequence[Cells]:
    """The same rows (a slice, row numbers, or a mask) of every column."""
    from kidx.tables.nested import part

    return [part(column, rows) for column in columns]


def _length(columns: Sequence[Cells]) -> int:
    from kidx.tables.nested import row_count

    return row_count(columns[0])


def _numbers(ranges: list[range], start: int, end: int) -> list[range]:
    """The `start`th to `end`th of the numbers in ranges."""
    out = []
    for numbers in ranges:
        part = numbers[max(start, 0) : max(end, 0)]
        if part:
            out.append(part)
        start -= len(numbers)
        end -= len(numbers)
    return out
