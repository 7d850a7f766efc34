"""Times as text."""

from __future__ import annotations


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
