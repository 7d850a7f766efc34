"""Groups whose committed offset is no more, or not yet, in the log: bounds and commits, put together over a fleet."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kidx.checks.engine.result import CheckResult
from kidx.logdir.tree import Partition
from kidx.pipeline.consumer_groups import Commit, Contents, contents_of, stranded_groups
from kidx.pipeline.inventory import Place
from kidx.pipeline.results import contents_in, to_batch, to_row
from tests.state.building import TIME, Log, commit
from tests.support import kidx

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


def test_a_directorys_contents_survive_arrow(tmp_path: Path) -> None:
    told = contents_of(Partition(str(fleet(tmp_path) / f"{TOPIC}-0")))
    (row,) = to_batch([to_row("k", "m", CheckResult(), contents=told)]).to_pylist()
    assert contents_in(row) == told


def place(broker: str, topic: str) -> Place:
    return Place(broker, topic, 0)


def test_who_lost_their_place() -> None:
    commits = Contents(
        0, 9, [Commit("lost", "t", 0, 4, TIME), Commit("ahead", "t", 0, 25, TIME), Commit("in", "t", 0, 20, 1)]
    )
    rows = stranded_groups([(place("/b1", TOPIC), commits), (place("/b2", "t"), Contents(10, 20, []))])
    assert [(row["group"], row["why"], row["records"]) for row in rows] == [
        ("ahead", "after_end", 5),
        ("lost", "before_start", 6),
    ]
    assert (rows[0]["broker"], rows[0]["committed_on"]) == ("/b2", "/b1")


def test_the_replica_that_reaches_furthest_counts() -> None:
    old = Contents(0, 5, [Commit("g", "t", 0, 1, TIME)])
    new = Contents(0, 9, [Commit("g", "t", 0, 15, TIME)])
    logs = [(place("/b1", "t"), Contents(0, 12, [])), (place("/b2", "t"), Contents(10, 20, []))]
    assert stranded_groups([(place("/b1", TOPIC), old), (place("/b2", TOPIC), new), *logs]) == []
    (row,) = stranded_groups([(place("/b1", TOPIC), old), *logs])
    assert row["log_start"] == 10


def test_what_is_not_in_the_fleet_is_not_judged() -> None:
    commits = Contents(0, 9, [Commit("g", "t", 0, 1, TIME)])
    assert stranded_groups([(place("/b1", TOPIC), commits), (place("/b1", "t"), Contents(None, None, []))]) == []
    assert stranded_groups([(Place("/b1", None, None), commits)]) == []


@pytest.mark.spark
def test_a_scan_reports_them_and_keeps_them(tmp_path: Path) -> None:
    fleet(tmp_path / "data")
    first, again = (kidx("scan", tmp_path / "data", "--out", tmp_path / "out") for _ in range(2))
    for ran in (first, again):
        assert b"groups      lost has committed 4 in t-0, which begins at 10: 6 records were deleted unread" in ran.out
        assert b"ahead has committed 25 in t-0, which ends at 20, 5 records earlier" in ran.out
    kept = json.loads((tmp_path / "out/fleet.json").read_text())
    assert [row["group"] for row in kept["stranded_groups"]] == ["ahead", "lost"]
    assert kept["stranded_groups"][0]["schema"] == "kidx.fleet_stranded_group.v1"
    assert kept["scan"]["units_read"] == 0, "the second scan takes it from the manifest"
