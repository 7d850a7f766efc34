"""Which records a start loses, counted by hand from the scenarios' acts."""

from __future__ import annotations

import pytest

from kidx.startup.log_manager import predict
from tests.startup.recorded import recorded

LOSSES = {
    "clean-as-it-was": {},
    "killed-as-it-was": {},
    "killed-rich-as-it-was": {},
    "clean-rich-log-start-missing": {},
    "clean-index-without-segment": {},
    "killed-unflushed-wrong-crc": {"later-segments-dropped": 10, "cut": 5},
    "clean-active-lost-tail": {"log-end-falls": 4, "ends-below-recovery-point": 3},
    "clean-active-log-missing": {"ends-below-recovery-point": 7},
    "clean-all-logs-missing": {"ends-below-recovery-point": 51},
    "clean-older-log-missing": {"orphaned-index": 11},
    "clean-partition-missing": {"partition-missing": 51},
    "clean-partition-metadata-missing": {"stray": 51},
    "clean-swap-torn": {"torn-not-seen": 3},
    "killed-active-offset-goes-back": {"offsets-go-back": 10},
    "killed-active-torn-header": {"cut": None},
    "clean-active-index-last-past-end": {"log-end-falls": 7},
}


@pytest.mark.parametrize(("name", "losses"), LOSSES.items())
def test_a_start_loses_these_records(name: str, losses: dict[str, int | None]) -> None:
    start = predict(recorded(f"kafka-4.3.1/{name}").log_dirs, "4.3.1")
    found = {a.behaviour.name: a.records_lost for a in start.actions if a.records_lost != 0}
    assert found == losses
