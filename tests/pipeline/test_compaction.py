"""What compaction would do over a fleet, keys put together by DataFrames: the same as each partition's plan."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from kidx.cleaner.map_sizing import need_of, smallest_buffer
from kidx.cleaner.plan import CleanerOptions, Plan
from kidx.logdir.tree import Partition
from kidx.lookup.partition import PartitionReader
from kidx.pipeline import compaction
from kidx.pipeline.fleet_compaction import COMPACTION, compaction_row, compaction_tables
from kidx.pipeline.frames import frame_of
from kidx.pipeline.results import RESULT
from tests.damage import flip_byte
from tests.pipeline.support import SET, checked_unit, units_of, writable

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
    asked = pa.RecordBatch.from_pylist([{"path": str(directory), "now_ms": NOW}])
    read = pa.Table.from_batches(compaction.read_keys(iter([asked])), compaction._KEY)
    keys = read.group_by(["path", "digest"]).aggregate([("first", "min"), ("latest", "max")])
    told = compaction.judge(str(directory), keys.rename_columns(["path", "digest", "first", "latest"]), NOW)
    row = compaction_row(PLACE | told)
    expected = plan_of(directory)
    assert {name: row[name] for name in expected} == expected


@pytest.mark.spark
def test_a_fleet_on_spark(spark: Any, tmp_path: Path) -> None:
    root = writable(SET / "compaction" / "before", tmp_path / "before")
    broken = root / "broken-0"
    writable(root / "compacted-0", broken)
    flip_byte(sorted(broken.glob("*.log"))[0], 30)
    (root / "nothing-0").mkdir()
    results = frame_of(spark, [checked_unit(unit) for unit in units_of(root)], RESULT)
    judged = compaction.judge_compaction(results, 6, NOW)
    assert judged.rdd.getNumPartitions() == 6
    rows = sorted(judged.toArrow().to_pylist(), key=lambda row: str(row["topic"]))
    assert [row["topic"] for row in rows] == ["broken", "compacted", "compacted-txn"]
    assert "the cleaner would stop there" in rows[0]["why_not"] and rows[0]["records"] is None
    for row in rows[1:]:
        expected = plan_of(root / f"{row['topic']}-{row['partition']}")
        assert {name: row[name] for name in expected} == expected and row["dropped"]["superseded"]


def judged(topic: str, *, before: int, after: int, why_not: str | None = None) -> dict[str, Any]:
    """What a cleaning makes of a partition, as a row of COMPACTION."""
    dropped = {"superseded": 3, "tombstone": 0, "aborted": 0, "keyless": 0, "control": 0}
    sizes = {"records": 9, "kept": 6, "dropped": dropped, "bytes_before": before, "bytes_after": after}
    dirty = {"first_dirty": 0, "first_uncleanable": 9, "checkpointed": True, "distinct_keys": 6, "ends_new": False}
    said = sizes | dirty
    place = {"cluster": "c", "broker": "/b", "topic": topic, "partition": 0}
    return compaction_row(place | (dict.fromkeys(said) if why_not else said) | {"why_not": why_not})


@pytest.mark.spark
def test_partitions_are_summed_by_topic_and_the_neediest_is_named(spark: Any) -> None:
    rows = [
        judged("a", before=9, after=2),
        judged("b", before=100, after=10),
        judged("a", before=0, after=0, why_not="x"),
    ]
    frames = compaction_tables(frame_of(spark, rows, COMPACTION))
    tables = {name: frame.toArrow().to_pylist() for name, frame in frames.items()}
    a, b = sorted(tables["compaction_topics"], key=lambda row: str(row["topic"]))
    assert (b["topic"], b["bytes_saved"]) == ("b", 90)
    assert (a["topic"], a["bytes_saved"], a["partitions"], a["not_judged"]) == ("a", 7, 2, 1)
    (cleaner,) = tables["cleaners"]
    assert cleaner["smallest_dedupe_buffer_bytes"] == 8 * 24 and cleaner["neediest"] in ("a-0", "b-0")  # 7 at 0.9
    assert sorted(str(row["why_not"]) for row in tables["compaction"]) == ["None", "None", "x"]
