"""kidx trace --resident, --observe and --simulate, as a user runs them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from xml.etree import ElementTree

import pytest

from kidx.evidence import open_evidence
from kidx.pages.observation import CannotObserve, original
from tests.support import FIXTURES, kidx

CLEAN = FIXTURES / "kafka-4.3.1/clean"
INDEX = CLEAN / "pages14-0/00000000000000000000.index"
TIMES = CLEAN / "pages14-0/00000000000000000000.timeindex"
SMALL = """
partitions 2
start 3000
seconds 200
reader follower rate 20
reader batch-job rate 5 lag 2500 read-pages 16
"""


@pytest.fixture
def on_disk(tmp_path: Path) -> Path:
    """A directory whose files' pages can be evicted; skips where there is none."""
    for source in (INDEX, TIMES):
        (tmp_path / source.name).write_bytes(source.read_bytes())
        with (tmp_path / source.name).open("rb") as f:
            os.fsync(f.fileno())
    try:
        with open_evidence(str(tmp_path / INDEX.name)) as evidence, original(evidence):
            pass
    except CannotObserve as e:
        pytest.skip(f"no eviction here: {e}")
    return tmp_path


@pytest.mark.parametrize("source", [INDEX, TIMES])
def test_observed_pages_are_the_predicted(on_disk: Path, source: Path) -> None:
    copy = on_disk / source.name
    data = source.read_bytes()
    times = source is TIMES
    targets = [
        int.from_bytes(data[at : at + 8], "big") if times else int.from_bytes(data[at : at + 4], "big")
        for at in range(0, len(data), len(data) // 20 // 24 * 24)
    ]
    ran = kidx("trace", copy, *targets, "--observe", "--format", "jsonl", TMPDIR=str(on_disk.parent))
    assert ran.status == 0
    assert len(ran.rows) == 2 * len(targets)
    for row in ran.rows:
        assert row["schema"] == "kidx.observation.v1"
        assert row["observed"] == sorted(row["predicted"])
        assert row["faults"] == len(row["predicted"])
        assert row["why"] is None
    assert sorted(p.name for p in on_disk.iterdir()) == sorted([INDEX.name, TIMES.name])


def test_evicting_the_original_is_said_loudly_and_seen_in_its_residency(on_disk: Path) -> None:
    copy = on_disk / INDEX.name
    ran = kidx("trace", copy, 7168, "--observe", "--evict-original", "--search", "warm")
    assert b"its own pages were evicted" in ran.err
    assert b"1 of 1 observed as predicted" in ran.out
    (row,) = kidx("trace", copy, "--resident", "--format", "jsonl").rows
    assert (row["pages"], row["resident"]) == (14, [11, 12, 13])
    rows = kidx("trace", copy, 7168, "--resident", "--format", "jsonl").rows
    assert [(r["search"], r["would_fault"]) for r in rows] == [("standard", [0, 7, 10]), ("warm", [])]


def test_what_cannot_be_observed_says_why() -> None:
    shm = Path("/dev/shm")
    if not os.access(shm, os.W_OK):
        pytest.skip("no writable /dev/shm here")
    ran = kidx("trace", INDEX, 7168, "--observe", "--format", "jsonl", TMPDIR=str(shm))
    assert [(r["observed"], r["predicted"]) for r in ran.rows] == [(None, [0, 7, 10, 12, 13]), (None, [11, 12, 13])]
    assert "tmpfs" in ran.rows[0]["why"]


def test_a_simulation_and_its_pictures(tmp_path: Path) -> None:
    svg, html = tmp_path / "f.svg", tmp_path / "f.html"
    ran = kidx("trace", "--simulate", "--workload-file", "-", "--cache", "3200k", "--policy", "lru", "--format", "json",
               "--svg", svg, "--html", html, stdin=SMALL)  # fmt: skip
    assert ran.status == 0
    answer = json.loads(ran.out)
    assert answer["schema"] == "kidx.simulation.v1"
    by = {(row["search"], row["reader"]): row for row in answer["rows"]}
    assert by["standard", "follower"]["lookups"] == by["warm", "follower"]["lookups"] == 2 * 200 * 20
    assert by["standard", "follower"]["index_faults"] > 0 == by["warm", "follower"]["index_faults"]
    for row in answer["rows"]:
        assert sum(row["faults_by_page_fill"]) == row["index_faults"]
        assert sum(count for _, count in row["faults_by_index_page"]) == row["index_faults"]
        assert row["bytes_read"] == 4096 * (row["index_faults"] + row["log_faults"])
    ElementTree.parse(svg)
    assert "http" not in html.read_text().replace("http://www.w3.org/2000/svg", "")
    away = kidx("trace", "--simulate", "--workload-file", "-", "--away", "batch-job", "--format", "jsonl", stdin=SMALL)
    assert {row["reader"] for row in away.rows} == {"follower"}


def test_the_growing_index_drawn(tmp_path: Path) -> None:
    assert kidx("trace", "--grow", "--svg", tmp_path / "g.svg", "--html", tmp_path / "g.html").status == 0
    words = "".join(ElementTree.parse(tmp_path / "g.svg").getroot().itertext())
    assert "standard search: pages needed only since the index grew: 7, 10, 13" in words
    assert "warm search: pages needed only since the index grew: 13" in words


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--simulate", "--cache", "12 bananas"], "not a number of bytes"),
        (["--simulate", "--cache", "0"], "at least one"),
        (["--simulate", "--warm-bytes", "4"], "holds no entry"),
        (["--simulate", "--away", "nobody"], "no such reader"),
        (["--simulate", INDEX], "takes no file"),
        (["--simulate", "--grow"], "--grow and --simulate cannot be combined"),
        (["--observe"], "no file given"),
        ([INDEX, "--observe"], "name targets"),
        ([INDEX, "5", "--evict-original"], "goes with --observe"),
        ([INDEX, "5", "--warm-bytes", "4096"], "go with --simulate"),
        ([INDEX, "--resident", "--svg", "x.svg"], "use --html"),
        ([INDEX, "5", "--svg", "00000000000000000000.index"], "one of Kafka's own files"),
    ],
)
def test_refusals(args: list[object], said: str, tmp_path: Path) -> None:
    ran = kidx("trace", *args, cwd=tmp_path)
    assert ran.status == 2
    assert said in ran.err.decode()
    assert ran.err.count(b"\n") <= 4
    assert not list(tmp_path.iterdir())


def test_a_workload_with_an_error_names_the_line() -> None:
    ran = kidx("trace", "--simulate", "--workload-file", "-", stdin="partitions 2\nreader x rate 0\n")
    assert (ran.status, b"-, line 2: rate 0 is out of range" in ran.err) == (2, True)


@pytest.mark.parametrize(
    ("args", "schema"),
    [
        (["--simulate", "--workload-file", "-"], "kidx.simulation.v1"),
        ([INDEX, "5", "--resident"], "kidx.residency.v1"),
        ([INDEX, "5", "--observe"], "kidx.observation.v1"),
    ],
)
def test_rows_are_as_documented(args: list[object], schema: str) -> None:
    page = (Path(__file__).parents[2] / "docs/page-laboratory.md").read_text(encoding="utf-8")
    section = page.partition(f"### {schema}\n")[2].partition("\n### ")[0]
    documented = [
        name.strip("` ")
        for line in section.splitlines()
        if line.startswith("| `")
        for name in line.split("|")[1].split(",")
    ]
    row = kidx("trace", *args, "--format", "jsonl", stdin=SMALL).rows[0]
    assert list(row) == ["schema", *documented]
