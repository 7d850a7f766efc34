"""Times as users type them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from kidx.errors import UsageError
from kidx.text.quantities import timestamp_ms

DAY, HOUR = 86_400_000, 3_600_000


def now_ms() -> int:
    return int(datetime.now(UTC).timestamp() * 1000)


@pytest.mark.parametrize(
    ("text", "away"),
    [
        ("now", 0),
        ("now-90s", -90_000),
        ("now-15m", -900_000),
        ("now-1h", -HOUR),
        ("now+2d", 2 * DAY),
        ("now-1w", -7 * DAY),
    ],
)
def test_times_relative_to_now(text: str, away: int) -> None:
    before = now_ms()
    assert before + away - 1 <= timestamp_ms(text) <= now_ms() + away + 1


def test_days_and_times_of_day() -> None:
    today = timestamp_ms("today")
    assert today % DAY == 0 and 0 <= now_ms() - today < DAY + HOUR
    assert timestamp_ms("yesterday") in (today - DAY, today)
    assert timestamp_ms("10:00") % DAY == timestamp_ms("10:00:00") % DAY == 10 * HOUR
    assert timestamp_ms("9:30") % DAY == 9.5 * HOUR
    assert timestamp_ms("1970-01-02") == DAY and timestamp_ms("1970-01-01T02:00+02:00") == 0
    assert datetime.fromtimestamp(timestamp_ms("10:00") / 1000, UTC) - datetime.now(UTC) < timedelta(days=1)


@pytest.mark.parametrize(
    "text",
    ["", "soon", "now-", "now-h", "now-1", "now-1y", "now1h", "now-999999999999w", "25:00", "1:2:3:4", "10:0x", "-"],
)
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(UsageError, match="is not a time"):
        timestamp_ms(text)
