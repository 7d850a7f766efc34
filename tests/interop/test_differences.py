"""Mutated files: where Kafka's tool, recovery or a start finds damage, kidx does too, or the difference has a class.

$KIDX_SEED chooses other files; the seed is printed. docs/differences.md has the figures of many more.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.interop.differences import BLIND_SPOTS, FALSE_ALARMS, compare, tables

pytestmark = pytest.mark.interop
SEED = int(os.environ.get("KIDX_SEED", "1"))
COUNT = 300


def test_kidx_never_calls_clean_what_kafka_finds_damaged(tmp_path: Path) -> None:
    print(f"KIDX_SEED={SEED}")
    tally = compare(range(SEED * COUNT, (SEED + 1) * COUNT), tmp_path)
    print("\n".join(tables(tally)))
    assert tally.unclassed == []
    assert tally.files == COUNT and tally.both > tally.only_kafka
    assert set(tally.blind) <= set(BLIND_SPOTS)
    assert {name for name, _ in tally.alarms} <= {known.name for known in FALSE_ALARMS}
    others = sum(count for (_, same), count in tally.texts.items() if not same)
    assert others <= sum(tally.texts.values()) / 50, "--format kafka prints what DumpLogSegments prints"
