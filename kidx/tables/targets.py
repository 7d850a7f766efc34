"""Targets of look-ups: numbers or times, from arguments, standard input or a file."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kidx.cli.options import lines_of
from kidx.errors import UsageError

_MOST = 2**63 - 1


def read_targets(targets: Sequence[str], from_file: str | None, parse: Callable[[str], int]) -> list[int]:
    """Targets from arguments, where `-` is standard input, and from --from-file. Raises UsageError, naming the line."""
    numbers = []
    for source in targets:
        if source == "-":
            numbers += _from_lines("-", parse)
        else:
            numbers.append(parse(source))
    if from_file is not None:
        numbers += _from_lines(from_file, parse)
    return numbers


def _from_lines(name: str, parse: Callable[[str], int]) -> list[int]:
    numbers = []
    for line_number, line in enumerate(lines_of(name), 1):
        if text := line.strip():
            try:
                numbers.append(parse(text))
            except UsageError as e:
                raise UsageError(f"{name}, line {line_number}: {e}") from None
    return numbers


def whole_number(text: str, what: str = "an offset or a position") -> int:
    """An int64 argument. Raises UsageError, naming the argument by `what`."""
    if text.isascii() and text.removeprefix("-").isdigit() and -_MOST - 1 <= (number := int(text)) <= _MOST:
        return number
    raise UsageError(f"{text!r} is not {what}: a whole number that fits 64 bits is wanted")


def timestamp_ms(text: str) -> int:
    """Milliseconds since the epoch, from digits or an ISO 8601 date or time (UTC where no zone is said).

    Raises UsageError.
    """
    if text.isascii() and text.removeprefix("-").isdigit():
        return whole_number(text, "a timestamp")
    from datetime import UTC, datetime, timedelta

    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(
            f"{text!r} is not a time: epoch milliseconds or ISO 8601 (2026-01-31T12:00:00Z) is wanted"
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
