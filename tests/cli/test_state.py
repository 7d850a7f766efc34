"""kidx state as a command: formats, moments, differences, refusals."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import pytest

from tests.state.building import TIME, Log, commit, metadata
from tests.support import FIXTURES, kidx, kidx_here

OWN = sorted(p for p in FIXTURES.glob("kafka-*/*/__*-[0-9]*") if p.is_dir())


@pytest.fixture
def offsets(tmp_path: Path) -> Path:
    """Commits, an aborted and a committed one among them, and a tombstone, a second apart."""
    directory = tmp_path / "__consumer_offsets-0"
    log = Log(directory).add(commit("g", "t", 0, 5), commit("g", "t", 10, 6), commit("g", "t", 9, 1))
    log.in_transaction(7, commit("g", "t", 0, 50)).marker(7, committed=False)
    log.in_transaction(7, commit("g", "t", 10, 60)).marker(7, committed=True)
    log.add(commit("g", "t", 9, None))
    return directory


def test_the_screen(offsets: Path) -> None:
    ran = kidx_here("state", offsets)
    assert ran.out.decode() == (
        f"{offsets}: 2 facts from 6 records\n\n"
        "committed_offset: 2\n"
        "  group  topic  partition  offset  leaderEpoch  commitTimestamp  at offset        at time\n"
        "  g      t              0       5           -1                0          0  1700000000000\n"
        "  g      t             10      60           -1                0          5  1700000005000\n"
    )
    assert (ran.status, ran.err) == (0, b"")


def test_every_format(offsets: Path) -> None:
    rows = kidx_here("state", offsets, "--format", "jsonl").rows
    assert rows[0] == {
        "schema": "kidx.state.v1",
        "kind": "committed_offset",
        "key": {"group": "g", "topic": "t", "partition": 0},
        "value": {"offset": 5, "leaderEpoch": -1, "metadata": "", "commitTimestamp": 0},
        "offset": 0,
        "timestamp": TIME,
        "directory": str(offsets),
        "log_start_offset": None,
        "log_end_offset": None,
        "lag": None,
        "out_of_range": None,
    }
    whole = json.loads(kidx_here("state", offsets, "--format", "json").out)
    assert whole["rows"] == rows
    assert whole["summary"] == {
        "partition": str(offsets),
        "partitions": [str(offsets)],
        "records": 6,
        "facts": 2,
        "problems": [],
    }
    table = list(csv.DictReader(kidx_here("state", offsets, "--format", "csv").out.decode().splitlines()))
    assert [json.loads(row["value"])["offset"] for row in table] == [5, 60]
    assert b"committed_offset" in kidx("state", offsets, "--format", "table").out
    assert "timestamp_iso" in kidx_here("state", offsets, "--format", "jsonl", "--iso").rows[0]
    assert b"2023-11-14T22:13:20.000Z" in kidx_here("state", offsets, "--iso").out


@pytest.mark.parametrize(
    ("moment", "wanted"),
    [
        ("0", []),
        ("3", [(0, 5), (9, 1), (10, 6)]),
        ("offset:6", [(0, 5), (9, 1), (10, 6)]),
        ("7", [(0, 5), (9, 1), (10, 60)]),
        ("2023-11-14T22:13:20Z", [(0, 5)]),
        (f"time:{TIME + 6000}", [(0, 5), (9, 1), (10, 60)]),
    ],
)
def test_moments(offsets: Path, moment: str, wanted: list[tuple[int, int]]) -> None:
    rows = kidx_here("state", offsets, "--at", moment, "--format", "jsonl").rows
    assert [(row["key"]["partition"], row["value"]["offset"]) for row in rows] == wanted


def test_what_changed_between_two_moments(offsets: Path) -> None:
    rows = kidx_here("state", offsets, "--diff", "2", "2030-01-01", "--format", "jsonl").rows
    assert [(row["change"], row["key"]["partition"], row["offset"]) for row in rows] == [("changed", 10, 5)]
    rows = kidx_here("state", offsets, "--diff", "3", "8", "--format", "jsonl").rows
    assert [(row["change"], row["key"]["partition"], row["offset"]) for row in rows] == [
        ("removed", 9, 7),
        ("changed", 10, 5),
    ]
    assert rows[0]["before"]["offset"] == 1 and rows[0]["after"] is None
    text = kidx_here("state", offsets, "--diff", "0", "1").out.decode()
    assert "1 difference from 1 record" in text
    assert "  g t-0 added at offset 0: offset 5, leaderEpoch -1" in text
    text = kidx_here("state", offsets, "--diff", "3", "8", "--iso").out.decode()
    assert "  g t-9 removed at offset 7 (2023-11-14T22:13:27.000Z)\n" in text
    assert "  g t-10 changed at offset 5 (2023-11-14T22:13:25.000Z): offset 6 → 60\n" in text


def test_a_lost_leader_in_words_and_what_is_no_difference(tmp_path: Path) -> None:
    directory, topic = tmp_path / "__cluster_metadata-0", bytes(range(16))
    features = [{"name": name, "minSupportedVersion": 1, "maxSupportedVersion": 2} for name in ("a", "b")]
    log = Log(directory).add(
        metadata("Topic", name="orders", topicId=topic),
        metadata("Partition", topicId=topic, partitionId=3, leader=1, isr=[1, 2], replicas=[1, 2]),
        metadata("RegisterBroker", brokerId=1, features=features),
    )
    log.add(metadata("RegisterBroker", brokerId=1, features=features[::-1]))
    log.add(metadata("PartitionChange", topicId=topic, partitionId=3, leader=-1, isr=[2, 1]))
    log.add(metadata("RemoveTopic", topicId=topic))
    rows = kidx_here("state", directory, "--diff", "3", "5", "--format", "jsonl").rows
    assert [(row["kind"], row["offset"]) for row in rows] == [("partition", 4)]
    text = kidx_here("state", directory, "--diff", "3", "5").out.decode()
    assert "  orders-3 changed at offset 4:" in text and "leader 1 → none" in text
    rows = kidx_here("state", directory, "--diff", "5", "6", "--format", "jsonl").rows
    assert [(row["kind"], row["change"], row["offset"]) for row in rows] == [
        ("partition", "removed", 5),
        ("topic", "removed", 5),
    ]


def test_kinds(tmp_path: Path) -> None:
    directory = tmp_path / "__cluster_metadata-0"
    Log(directory).add(
        metadata("Topic", name="t", topicId=bytes(16)), metadata("FeatureLevel", name="f", featureLevel=2)
    )
    rows = kidx_here("state", directory, "--kind", "topic", "--format", "jsonl").rows
    assert [row["kind"] for row in rows] == ["topic"]
    refused = kidx_here("state", directory, "--kind", "committed_offset")
    assert refused.status == 2 and b"no such kind in this topic; choose acl, broker" in refused.err


def test_questions_that_are_refused(offsets: Path, tmp_path: Path) -> None:
    def refusal(*args: object) -> tuple[int, bytes]:
        ran = kidx_here("state", *args)
        assert ran.out == b""
        return ran.status, ran.err

    status, said = refusal(offsets, "--at", "1", "--diff", "1", "2")
    assert status == 2 and b"cannot be combined with --at" in said
    status, said = refusal(offsets, "--at", "1700000000000")
    assert status == 2 and b"offset:1700000000000 or time:1700000000000" in said
    status, said = refusal(offsets, "--at", "Tuesday")
    assert status == 2 and b"Tuesday" in said
    status, said = refusal(offsets.rename(tmp_path / "orders-0"))
    assert status == 2 and b"name the topic with --decoder" in said
    status, said = refusal(tmp_path / "none-0", "--decoder", "offsets")
    assert status == 3 and b"none-0" in said
    assert kidx_here("state", tmp_path / "orders-0", "--decoder", "offsets").status == 0


def test_what_could_not_be_read_is_said(offsets: Path) -> None:
    log = offsets / f"{0:020}.log"
    log.write_bytes(log.read_bytes()[:-5])
    ran = kidx_here("state", offsets, "--format", "jsonl")
    assert ran.status == 3 and b"break off" in ran.err
    assert len(ran.rows) == 3, "all that could be read"


@pytest.mark.parametrize("directory", OWN, ids=lambda p: "/".join(p.relative_to(FIXTURES).parts))
def test_real_topics_add_up(directory: Path, tmp_path: Path) -> None:
    alone = shutil.copytree(directory, tmp_path / directory.name)
    ran = kidx_here("state", alone, "--format", "jsonl")
    assert (ran.status, ran.err) == (0, b"")
    assert ran.rows or "share" in directory.name
    at_start = kidx_here("state", alone, "--diff", "0", "9000000000", "--format", "jsonl")
    if not list(alone.glob("*.checkpoint")):
        assert {row["change"] for row in at_start.rows} <= {"added"}
        assert len(at_start.rows) == len(ran.rows)
