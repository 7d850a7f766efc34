"""Groups whose committed offset is no more, or not yet, in the log: bounds and commits, put together over a fleet."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kidx.checks.engine.discovery import findings_about
from kidx.checks.engine.result import CheckResult
from kidx.logdir.tree import Partition
from kidx.pipeline.consumer_groups import Commit, Contents, commit_of, contents_of, stranded_groups
from kidx.pipeline.frames import frame_of
from kidx.pipeline.places import place_of
from kidx.pipeline.replicas import ReplicaIdentity
from kidx.pipeline.results import RESULT, result_row
from tests.pipeline.support import kidx_process
from tests.state.building import TIME, Log, commit

TOPIC = "__consumer_offsets"


def fleet(root: Path) -> Path:
    """A log from 10 to 20, and groups in it, before it, after it, and of a partition that is not there."""
    Log(root / "t-0", 10).add(*[(b"k", b"v")] * 10)
    commits = [("in", 10), ("at-end", 20), ("lost", 4), ("ahead", 25), ("healed", 1)]
    log = Log(root / f"{TOPIC}-0").add(*(commit(group, "t", 0, offset) for group, offset in commits))
    log.add(commit("healed", "t", 0, 15), commit("elsewhere", "u", 0, 99))
    log.in_transaction(7, commit("in", "t", 0, 3)).marker(7, committed=False)
    return root


def test_what_a_directory_tells(tmp_path: Path) -> None:
    fleet(tmp_path)
    assert contents_of(Partition(str(tmp_path / "t-0"))) == Contents(10, 20, [])
    told = contents_of(Partition(str(tmp_path / f"{TOPIC}-0")))
    assert (told.start_offset, told.end_offset) == (0, 9)
    assert Commit("healed", "t", 0, 15, TIME + 5000) in told.commits
    assert {c.group: c.offset for c in told.commits}["in"] == 10, "an aborted commit does not count"
    (tmp_path / "log-start-offset-checkpoint").write_text("0\n1\nt 0 12\n")
    assert contents_of(Partition(str(tmp_path / "t-0"))).start_offset == 12
    assert contents_of(Partition(str(tmp_path))) == Contents(None, None, [])


def result(directory: str, contents: Contents, cluster: str | None = None) -> dict[str, Any]:
    """A row of RESULT with a partition's bounds and commits."""
    place = place_of(directory)._asdict()
    unit = dict.fromkeys(RESULT.names) | place | {"key": directory, "directory": directory, "path": directory}
    return result_row(unit, CheckResult(), contents=contents, identity=ReplicaIdentity(cluster))


def stranded(spark: Any, *results: dict[str, Any]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = stranded_groups(frame_of(spark, results, RESULT)).toArrow().to_pylist()
    return sorted(rows, key=lambda row: str(row["group"]))


def at(offset: int, group: str = "g") -> Commit:
    return Commit(group, "t", 0, offset, TIME)


@pytest.mark.spark
def test_who_lost_their_place(spark: Any) -> None:
    commits = result(f"/b1/{TOPIC}-0", Contents(0, 9, [at(4, "lost"), at(25, "ahead"), at(20, "in")]))
    ahead, lost = stranded(spark, commits, result("/b2/t-0", Contents(10, 20, [])))
    assert [(row["group"], row["why"], row["records"]) for row in (ahead, lost)] == [
        ("ahead", "after_end", 5),
        ("lost", "before_start", 6),
    ]
    assert (ahead["broker"], ahead["committed_on"]) == ("/b2", "/b1")
    for row, live, rule, severity in (
        (ahead, False, "KX604", "warning"),
        (ahead, True, "KX604", "note"),
        (lost, False, "KX605", "note"),
    ):
        (found,) = findings_about(commit_of(row, live=live))
        assert (found.rule, found.severity, found.file) == (rule, severity, "/b2/t-0")
        assert found.found["offset"] == row["committed"]


@pytest.mark.spark
def test_the_replica_that_reaches_furthest_counts(spark: Any) -> None:
    old, new = (result(f"/b{n}/{TOPIC}-0", Contents(0, n, [at(offset)])) for n, offset in ((5, 1), (9, 15)))
    logs = [result("/b1/t-0", Contents(0, 12, [])), result("/b2/t-0", Contents(10, 20, []))]
    assert stranded(spark, old, new, *logs) == []
    (row,) = stranded(spark, old, *logs)
    assert row["log_start"] == 10


@pytest.mark.spark
def test_what_is_not_in_the_fleet_or_of_another_cluster_is_not_judged(spark: Any) -> None:
    commits = result(f"/b1/{TOPIC}-0", Contents(0, 9, [at(1)]), "one")
    assert stranded(spark, commits, result("/b1/t-0", Contents(None, None, []), "one")) == []
    assert stranded(spark, commits, result("/b1/t-0", Contents(10, 20, []), "other")) == []


@pytest.mark.spark
def test_a_scan_reports_them_and_keeps_them(tmp_path: Path) -> None:
    fleet(tmp_path / "data")
    first, again = (kidx_process("scan", tmp_path / "data", "--out", tmp_path / "out") for _ in range(2))
    for ran in (first, again):
        assert ran.status == 1 and b"KX604" in ran.out and b"KX605" in ran.out
        assert b"groups      lost has committed 4 in t-0, which begins at 10: 6 records were deleted unread" in ran.out
        assert b"ahead has committed 25 in t-0, which ends at 20, 5 records earlier" in ran.out
    kept = json.loads((tmp_path / "out/fleet.json").read_text())
    assert [row["group"] for row in kept["stranded_groups"]] == ["lost", "ahead"]
    assert kept["stranded_groups"][0]["schema"] == "kidx.fleet_stranded_group.v1"
    assert kept["scan"]["units_read"] == 0, "the second scan takes it from the manifest"
