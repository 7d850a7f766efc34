"""Which rows of a file are shown: --from and --to, --head and --tail."""

from __future__ import annotations

from typing import NamedTuple

from kidx.errors import UsageError

_OTHER_NAMES = {"time": "timestamp"}


class Bound(NamedTuple):
    """An end of a range: `field` is None for the natural key of whatever file it meets."""

    field: str | None
    value: int


class Selection(NamedTuple):
    """Rows from `low` to `high`, both included; of them the first `head` and the last `tail`; None: no limit."""

    low: Bound | None = None
    high: Bound | None = None
    head: int | None = None
    tail: int | None = None

    def of_these(self, ranges: list[range]) -> list[range]:
        """The head and the tail of numbers given as rising ranges."""
        if self.head is None and self.tail is None:
            return ranges
        total = sum(map(len, ranges))
        head_end = min(self.head or 0, total)
        tail_start = max(total - (self.tail or 0), head_end)
        return [*_part(ranges, 0, head_end), *_part(ranges, tail_start, total)]


def parse_bound(text: str | None) -> Bound | None:
    """`FIELD:NUMBER` (`time:` takes ISO 8601 too), a bare number (the natural key), or an ISO time."""
    if text is None:
        return None
    import re

    from kidx.tables.targets import timestamp_ms, whole_number

    field, colon, value = text.partition(":")
    if colon and re.fullmatch("[a-z_]+", field):
        field = _OTHER_NAMES.get(field, field)
        return Bound(
            field, timestamp_ms(value) if field.endswith("timestamp") else whole_number(value, f"{field}'s value")
        )
    if re.fullmatch(r"-?\d+", text, re.ASCII):
        return Bound(None, whole_number(text, "a bound"))
    return Bound("timestamp", timestamp_ms(text))


def field_of(bound: Bound, natural: str, columns: tuple[str, ...], path: str) -> str:
    """The column that a bound is about in a file with these columns. Raises UsageError where it has none such."""
    field = bound.field or natural
    if field in columns:
        return field
    raise UsageError(f"{path}: its rows hold no {field}; choose rows by one of {', '.join(columns)}")


def _part(ranges: list[range], start: int, end: int) -> list[range]:
    """The `start`th to `end`th of the numbers in ranges."""
    out = []
    for numbers in ranges:
        part = numbers[max(start, 0) : max(end, 0)]
        if part:
            out.append(part)
        start -= len(numbers)
        end -= len(numbers)
    return out
