"""Numbers, times, counts and sizes: parsing what users type, formatting for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kidx.errors import UsageError

if TYPE_CHECKING:
    from datetime import datetime

_LARGEST = 2**63 - 1
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_LONGEST = 20  # characters of an int64, sign included


def whole_number(text: str, what: str = "an offset or a position") -> int:
    """An int64. Raises UsageError, which names the argument by `what`."""
    if text.isascii() and text.removeprefix("-").isdigit() and len(text) <= _LONGEST:
        number = int(text)
        if -_LARGEST - 1 <= number <= _LARGEST:
            return number
    raise UsageError(f"{text!r} is not {what}: give a whole number that fits 64 bits")


def timestamp_ms(text: str) -> int:
    """Milliseconds since the epoch, from digits, an ISO 8601 date or time, or `now`, `now-90m`, `today`, `10:00`.

    Times are UTC where no zone is given; a time without a date is today's. Raises UsageError.
    """
    if text.isascii() and text.removeprefix("-").isdigit():
        return whole_number(text, "a timestamp")
    from datetime import UTC, datetime, timedelta

    try:
        moment = _relative_time(text) or datetime.fromisoformat(text)
    except (ValueError, OverflowError):
        raise UsageError(
            f"{text!r} is not a time: give epoch milliseconds, ISO 8601 (2026-01-31T12:00:00Z), 10:00 or now-1h"
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


def _relative_time(text: str) -> datetime | None:
    """The time that a text names relative to the present, None for other texts. Raises ValueError, OverflowError."""
    from datetime import UTC, datetime, time, timedelta

    now = datetime.now(UTC)
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    if text in ("today", "yesterday"):
        return midnight - timedelta(days=text == "yesterday")
    if text.startswith("now"):
        sign, amount, unit = text[3:4], text[4:-1], text[-1:]
        if text == "now":
            return now
        if sign in "+-" and amount.isascii() and amount.isdigit() and unit in _SECONDS:
            seconds = int(amount) * _SECONDS[unit]
            return now + timedelta(seconds=-seconds if sign == "-" else seconds)
        raise ValueError(text)
    if text[2:3] == ":" or text[1:2] == ":":
        return datetime.combine(midnight, time.fromisoformat(text.zfill(5) if len(text) == 4 else text), UTC)
    return None


def iso_time(timestamp_ms: int | None) -> str | None:
    """2023-11-14T22:13:20.000Z; None for None, for -1 (no timestamp) and for years outside 1 to 9999."""
    from datetime import UTC, datetime, timedelta

    if timestamp_ms is None or timestamp_ms == -1:
        return None
    try:
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=timestamp_ms)
    except OverflowError:
        return None
    return moment.isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"


def counted(count: int, one: str, many: str = "") -> str:
    """A number and its noun: `1 page`, `1,024 pages`, `2 entries` (with `many`, for irregular plurals)."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def size_text(size: float, *, unit: str = "bytes") -> str:
    """A number of bytes in binary units: `512 bytes`, `8.0 KiB`, `1.5 TiB`. `unit` names the bytes below 1 KiB."""
    if abs(size) < 1024:
        return f"{size:.0f} {unit}"
    amount = float(size)
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        amount /= 1024
        if abs(amount) < 1024 or larger == "TiB":
            break
    return f"{amount:,.1f} {larger}"
