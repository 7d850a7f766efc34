"""Compaction plans against what real cleaners kept, and what must hold of any plan."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path

import pytest

from kidx.cleaner.digests import digest_named
from kidx.cleaner.map_sizing import expected_collision_rate, need_of, smallest_buffer
from kidx.cleaner.plan import CleanerOptions, Plan
from kidx.cleaner.retention import DROPPED
from kidx.errors import WrongFormat
from kidx.logdir.tree import Partition
from kidx.lookup.partition import PartitionReader
from tests.support import KAFKA_SETS, answers, kidx

SETS = [s for s in KAFKA_SETS if (s / "compaction").is_dir()]
CASES = [(s, topic) for s in SETS for topic in ("compacted", "compacted-txn")]
AFTER_CLEANING_MS = 1_800_000_000_000  # the fixtures' brokers ran before; tombstones wait a day from their cleaning


def plan_of(directory: Path, **options: int) -> Plan:
    return Plan(
        PartitionReader(Partition(str(directory))),
        CleanerOptions(**{"now_ms": AFTER_CLEANING_MS, "dedupe_buffer_bytes": 1 << 20, **options}),
    )


@pytest.mark.parametrize(("fixture_set", "topic"), CASES, ids=lambda x: getattr(x, "name", x))
def test_keeps_what_the_real_cleaner_kept(fixture_set: Path, topic: str) -> None:
    kept = {int(r["offset"]) for r in answers(fixture_set, "compaction_kept.tsv") if r["topic"] == topic}
    plan = plan_of(fixture_set / f"compaction/before/{topic}-0")
    records = list(plan.records())
    assert {r.offset for r in records if r.kept and r.why != "control"} == kept
    assert [r.offset for r in records] == sorted(r.offset for r in records)
    assert not plan.map_full


@pytest.mark.parametrize("fixture_set", SETS, ids=lambda s: s.name)
def test_bytes_of_uncompressed_segments_are_the_real_ones(fixture_set: Path) -> None:
    """Transactions here are uncompressed, so their sizes afterwards are no estimate; batches get a delete horizon."""
    plan = plan_of(fixture_set / "compaction/before/compacted-txn-0", segment_bytes=12288)
    sizes: Counter[int] = Counter()
    for s in plan.segments():
        sizes[s.segment.base_offset if s.group is None else s.group] += s.bytes_after
    after = Partition(str(fixture_set / "compaction/after/compacted-txn-0"))
    real = {s.base_offset: s.files["log"].size() for s in after.segments}
    assert {base: size for base, size in sizes.items() if base in real} == real


@pytest.mark.parametrize(("fixture_set", "topic"), CASES, ids=lambda x: getattr(x, "name", x))
def test_a_second_pass_over_the_cleaned_log_keeps_everything(fixture_set: Path, topic: str) -> None:
    directory = fixture_set / f"compaction/after/{topic}-0"
    plan = plan_of(directory, now_ms=AFTER_CLEANING_MS - 30 * 86_400_000)
    assert all(r.kept for r in plan.records())
    if len(plan.reader.segments) > 1:  # else all of it is active and was never cleaned
        assert plan.dirty.first_dirty > 0
        assert plan.dirty.first_dirty_why == "cleaner-offset-checkpoint"


@pytest.mark.parametrize(("fixture_set", "topic"), CASES, ids=lambda x: getattr(x, "name", x))
@pytest.mark.parametrize("buffer", [480, 700, 1_000_000])
def test_segments_and_records_agree_and_the_advice_is_the_least(fixture_set: Path, topic: str, buffer: int) -> None:
    directory = fixture_set / f"compaction/before/{topic}-0"
    plan = plan_of(directory, dedupe_buffer_bytes=buffer)
    records = list(plan.records())
    segments = list(plan.segments())
    assert sum(s.records for s in segments) == len(records)
    assert sum(s.kept for s in segments) == sum(r.kept for r in records)
    dropped = Counter(r.why for r in records if not r.kept)
    assert dropped == sum((s.dropped for s in segments), Counter())
    assert set(dropped) <= set(DROPPED)
    least = smallest_buffer(need_of(plan).entries, plan.offset_map.digest, 0.9, 1)
    assert not plan_of(directory, dedupe_buffer_bytes=least).map_full
    if least > 24:
        assert plan_of(directory, dedupe_buffer_bytes=least - 1).map_full
    if plan.map_full:
        assert plan.cleaned_up_to < plan.dirty.first_uncleanable
        assert {r.why for r in records if r.offset >= plan.cleaned_up_to and not r.kept} <= {"aborted"}


def test_groups_join_neighbours_within_the_limits(tmp_path: Path) -> None:
    directory = SETS[0] / "compaction/before/compacted-0"
    groups = [s.group for s in plan_of(directory).segments()]
    assert groups[0] == groups[1] == 0
    assert groups[-1] is None  # the active segment
    assert [s.group for s in plan_of(directory, segment_bytes=12288).segments()][1] != 0
    assert [s.group for s in plan_of(directory, index_bytes=8).segments()][1] != 0


def test_young_records_wait() -> None:
    directory = SETS[0] / "compaction/before/compacted-0"
    plan = plan_of(directory, min_compaction_lag_ms=AFTER_CLEANING_MS)
    assert plan.dirty.first_uncleanable == 0
    assert "younger" in plan.dirty.first_uncleanable_why
    assert all(r.kept for r in plan.records())
    assert plan.map_collision_rate is None


def test_sizing() -> None:
    md5 = digest_named("MD5")
    assert smallest_buffer(0, md5, 0.9, 1) == 24
    assert smallest_buffer(9, md5, 0.9, 1) == 240
    assert smallest_buffer(1000, md5, 0.9, 2) == 2 * smallest_buffer(1000, md5, 0.9, 1)
    assert expected_collision_rate(0, 10) == 0
    assert 0.38 < expected_collision_rate(5, 10) < 0.39


def test_a_log_that_breaks_off_is_said(tmp_path: Path) -> None:
    directory = tmp_path / "compacted-0"
    shutil.copytree(SETS[0] / "compaction/before/compacted-0", directory)
    log = directory / "00000000000000000000.log"
    log.write_bytes(log.read_bytes()[:-7])
    with pytest.raises(WrongFormat, match="break off at byte"):
        plan_of(directory)
    ran = kidx("compact", directory, "--plan")
    assert (ran.status, ran.out) == (3, b"")
    assert b"kidx verify" in ran.err


def test_the_command() -> None:
    directory = SETS[0] / "compaction/before/compacted-0"
    ran = kidx("compact", directory, "--plan", "--format", "jsonl")
    assert {r["schema"] for r in ran.rows[:-1]} == {"kidx.compaction_segment.v1"}
    summary = ran.rows[-1]
    assert summary["schema"] == "kidx.summary.v1"
    assert summary["bytes_saved"] == sum(r["bytes_before"] - r["bytes_after"] for r in ran.rows[:-1])
    records = kidx("compact", directory, "--plan", "--records", "--format", "json")
    answer = json.loads(records.out)
    assert answer["schema"] == "kidx.compaction_record.v1"
    assert answer["summary"]["kept"] == summary["kept"] == sum(r["kept"] for r in answer["rows"])
    text = kidx("compact", directory, "--plan").out.decode()
    assert "one pass is enough" in text
    assert "ONE PASS IS NOT ENOUGH" in kidx("compact", directory, "--plan", "--dedupe-buffer", "480").out.decode()


@pytest.mark.parametrize(
    ("args", "status", "said"),
    [
        (["--digest", "CRC"], 2, "the cleaner's digests"),
        (["--plan", "--dedupe-buffer", "5"], 2, "one entry takes 24"),
        (["--plan", "--load-factor", "0"], 2, "load-factor"),
        (["--plan", "--now", "someday"], 2, "not a time"),
    ],
)
def test_refusals(args: list[str], status: int, said: str) -> None:
    ran = kidx("compact", SETS[0] / "compaction/before/compacted-0", *args)
    assert ran.status == status
    assert said in ran.err.decode()


def test_no_partition(tmp_path: Path) -> None:
    for path, said in ((tmp_path, "no segment"), (tmp_path / "missing", "no such file")):
        ran = kidx("compact", path, "--plan")
        assert ran.status == 3
        assert said in ran.err.decode()
