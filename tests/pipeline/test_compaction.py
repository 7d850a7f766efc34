"""What compaction would do over a fleet, keys put together by DataFrames: the same as each partition's plan."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from kidx.checks.engine.options import Options
from kidx.cleaner.map_sizing import need_of, smallest_buffer
from kidx.cleaner.plan import CleanerOptions, Plan
from kidx.logdir.tree import Partition
from kidx.lookup.partition import PartitionReader
from kidx.pipeline import compaction
from kidx.pipeline.fleet_compaction import compaction_tables
from kidx.pipeline.inventory import discover
from tests.damage import flip_byte
from tests.pipeline.support import SET, writable

PLACE = {"broker": "/b", "topic": "t", "partition": 0}
NOW = 1_900_000_000_000


def plan_of(directory: Path) -> dict[str, Any]:
    """The plan that `kidx compact` makes, with the fields that a fleet's row has."""
    plan = Plan(PartitionReader(Partition(str(directory))), CleanerOptions(now_ms=NOW))
    assert not plan.map_full
    segments = list(plan.segments())
    need = need_of(plan)
    return {
        "first_dirty": plan.dirty.first_dirty,
        "first_uncleanable": plan.dirty.first_uncleanable,
        "records": sum(s.records for s in segments),
        "kept": sum(s.kept for s in segments),
        "dropped": {why: sum(s.dropped[why] for s in segments) for why in compaction.DROPPED},
        "bytes_before": sum(s.bytes_before for s in segments),
        "bytes_after": sum(s.bytes_after for s in segments),
        "distinct_keys": need.keys,
        "smallest_dedupe_buffer_bytes": smallest_buffer(need.entries, plan.offset_map.digest, 0.9, 1),
    }


def directories() -> list[Path]:
    found = [*(SET / "compaction" / "before").iterdir(), *(SET / "clean").iterdir()]
    return sorted(path for path in found if path.is_dir() and list(path.glob("*.log")))


@pytest.mark.parametrize("directory", directories(), ids=lambda path: path.name)
def test_a_partition_has_its_plan(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "_KEYS_AT_ONCE", 7)  # so that a key comes in several stretches
    asked = pa.RecordBatch.from_pylist(
        [{"group": 0, "unit": 5, "directory": str(directory), "now_ms": NOW}], schema=compaction._UNIT
    )
    read = pa.Table.from_batches(compaction.read_keys(iter([asked])), compaction._KEY)
    keys = read.group_by(["unit", "digest"]).aggregate([("first", "min"), ("latest", "max")])
    told = compaction.judge(str(directory), keys.rename_columns(["unit", "digest", "first", "latest"]), NOW)
    (row,) = compaction_tables([PLACE | told])["compaction"]
    expected = plan_of(directory)
    assert {name: row[name] for name in expected} == expected


@pytest.mark.spark
def test_a_fleet_on_spark(spark: Any, tmp_path: Path) -> None:
    root = writable(SET / "compaction" / "before", tmp_path / "before")
    broken = root / "broken-0"
    writable(root / "compacted-0", broken)
    flip_byte(sorted(broken.glob("*.log"))[0], 30)
    (root / "nothing-0").mkdir()
    units = discover([str(root)], Options()).units
    rows = compaction_tables(compaction.judge_compaction(lambda: spark, units, NOW))["compaction"]
    assert [row["topic"] for row in rows] == ["broken", "compacted", "compacted-txn"]
    assert "the cleaner would stop there" in rows[0]["why_not"] and rows[0]["records"] is None
    for row in rows[1:]:
        expected = plan_of(root / f"{row['topic']}-{row['partition']}")
        assert {name: row[name] for name in expected} == expected and row["dropped"]["superseded"]
