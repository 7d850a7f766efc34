"""Numbers and times as users type them."""

from __future__ import annotations

from kidx.errors import UsageError

_LARGEST = 2**63 - 1
_LONGEST = 20  # characters of an int64, sign included


def whole_number(text: str, what: str = "an offset or a position") -> int:
    """An int64. Raises UsageError, which names the argument by `what`."""
    if text.isascii() and text.removeprefix("-").isdigit() and len(text) <= _LONGEST:
        number = int(text)
        if -_LARGEST - 1 <= number <= _LARGEST:
            return number
    raise UsageError(f"{text!r} is not {what}: a whole number that fits 64 bits is wanted")


def timestamp_ms(text: str) -> int:
    """Milliseconds since the epoch, from digits or an ISO 8601 date or time (UTC where it names no zone).

    Raises UsageError.
    """
    if text.isascii() and text.removeprefix("-").isdigit():
        return whole_number(text, "a timestamp")
    from datetime import UTC, datetime, timedelta

    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(
            f"{text!r} is not a time: give epoch milliseconds or ISO 8601 (2026-01-31T12:00:00Z)"
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
