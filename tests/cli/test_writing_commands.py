"""append, truncate, trim, resize, rebuild and undo as commands: what they print, write, and end with."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.damage import swap_entries
from tests.support import KAFKA_SETS, answer_files, kidx
from tests.surgery.support import INDEX, listing, running_broker

PLAIN = KAFKA_SETS[0] / "clean" / "plain-0"


@pytest.fixture
def partition(tmp_path: Path) -> Path:
    """A partition in a log dir, to be written to."""
    partition = tmp_path / "logs" / "plain-0"
    partition.mkdir(parents=True)
    for file in PLAIN.iterdir():
        shutil.copyfile(file, partition / file.name)
    return partition


def data_files(directory: Path) -> dict[str, bytes]:
    """The files but kidx's own."""
    return {name: data for name, data in listing(directory).items() if ".kidx" not in name}


def test_append_from_dump_and_back(partition: Path, tmp_path: Path) -> None:
    """What dump prints, append takes, as JSON lines and as CSV."""
    for name in (INDEX, "00000000000000000000.timeindex"):
        for form in ("jsonl", "csv"):
            copy = tmp_path / form / name
            copy.parent.mkdir(exist_ok=True)
            dumped = kidx("dump", "--format", form, partition / name)
            assert kidx("append", copy, "-", "--create", stdin=dumped.out).status == 0
            assert copy.read_bytes() == (partition / name).read_bytes()


def test_rows(partition: Path) -> None:
    ran = kidx("truncate", partition / INDEX, "--to", 50, "--format", "jsonl")
    (row,) = ran.rows
    assert ran.status == 0 and row["schema"] == "kidx.write.v1"
    assert (row["action"], row["written"], row["bytes_after"]) == ("truncate", True, (partition / INDEX).stat().st_size)
    assert Path(row["backup"]).read_bytes() == (PLAIN / INDEX).read_bytes()
    assert kidx("undo", partition / INDEX).status == 0
    assert data_files(partition) == listing(PLAIN)


COMMANDS = [
    ("append", INDEX, "900000:90000", "--max-index-size", "1000"),
    ("append", "00000000000000000000.txnindex", "7:1:5:6", "--create"),
    ("truncate", INDEX, "--to", "50"),
    ("resize", INDEX, "--max-index-size", "1000"),
    ("trim", "grown.index", "--base-offset", "0"),
    ("rebuild", INDEX, "--in-place", "--all", "--index-interval-bytes", "700"),
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: c[0] + " " + c[1][-9:])
def test_dry_run_undo_and_a_running_broker(partition: Path, command: tuple[str, ...]) -> None:
    (partition / "grown.index").write_bytes((PLAIN / INDEX).read_bytes() + bytes(80))
    before = listing(partition)
    shown = kidx(*command, "--dry-run", cwd=partition)
    assert shown.status == 0 and b"would be written" in shown.out
    assert listing(partition) == before
    assert kidx(*command, "--dry-run", "--format", "json", cwd=partition).status == 0
    with running_broker(partition.parent):
        refused = kidx(*command, cwd=partition)
    assert refused.status == 3 and b"a broker runs on this directory" in refused.err
    assert listing(partition) == before
    done = kidx(*command, cwd=partition)
    assert done.status == 0 and b": written: " in done.out, done
    assert data_files(partition) != before
    assert kidx("undo", ".", "--dry-run", cwd=partition).status == 0
    assert data_files(partition) != before
    assert kidx("undo", ".", cwd=partition).status == 0
    assert data_files(partition) == before


def test_rebuild_of_a_log_dir_apart(partition: Path, tmp_path: Path) -> None:
    before = listing(partition.parent)
    ran = kidx(
        "rebuild", partition.parent, "--output", tmp_path / "fixed", "--index-interval-bytes", 512, "--format", "jsonl"
    )
    assert ran.status == 0
    assert listing(partition.parent) == before
    below = "recovered/clean/512/"
    expected = {
        p.removeprefix(below): d for p, d in answer_files(KAFKA_SETS[0]).items() if p.startswith(f"{below}plain-0")
    }
    made = listing(tmp_path / "fixed")
    assert made == {path: data for path, data in expected.items() if "index" in path}
    assert sorted(row["file"] for row in ran.rows) == sorted(str(tmp_path / "fixed" / name) for name in made)


def test_rebuild_while_a_broker_runs_goes_elsewhere_only(partition: Path, tmp_path: Path) -> None:
    with running_broker(partition.parent):
        assert kidx("rebuild", partition, "--output", tmp_path / "fixed").status == 0
        refused = kidx("rebuild", partition, "--output", partition.parent / "fixed")
    assert refused.status == 3 and b"a broker runs" in refused.err
    assert not (partition.parent / "fixed").exists()


def test_rebuild_goes_on_after_a_file_it_may_not_replace(partition: Path) -> None:
    index = partition / INDEX
    index.unlink()
    index.symlink_to(PLAIN / INDEX)
    ran = kidx("rebuild", partition, "--in-place", "--all", "--index-interval-bytes", 700)
    assert ran.status == 3 and b"a symbolic link" in ran.err
    assert b"00000000000000000190.index: written" in ran.out
    assert index.is_symlink()


def test_rebuild_says_where_a_log_breaks_off(partition: Path) -> None:
    log = partition / "00000000000000000000.log"
    log.write_bytes(log.read_bytes()[:-3])
    before = log.read_bytes()
    ran = kidx("rebuild", log, "--in-place")
    assert ran.status == 0 and b"breaks off at byte" in ran.out
    assert log.read_bytes() == before


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("rebuild", "."), "--output DIR, or --in-place"),
        (("rebuild", ".", "--output", "o", "--in-place"), "--output DIR, or --in-place"),
        (("append", INDEX, "1:1", "--create"), "the file exists"),
        (("append", INDEX, "x"), "OFFSET:POSITION is wanted"),
        (("append", INDEX, "-"), "no entries"),
        (("append", "x.log", "1:1"), "not an index by its name"),
        (("truncate", "x.index", "--to", "1"), "no base offset"),
        (("resize", "00000000000000000000.txnindex", "--max-index-size", "1"), "no such file"),
    ],
)
def test_requests_that_make_no_sense(partition: Path, command: tuple[str, ...], words: str) -> None:
    (partition / "x.index").touch()
    before = listing(partition)
    ran = kidx(*command, cwd=partition, stdin="")
    assert ran.status in (2, 3) and words.encode() in ran.err and b"Traceback" not in ran.err
    assert listing(partition) == before


def test_numbers_below_zero_are_no_options(tmp_path: Path) -> None:
    index = tmp_path / "00000000000000000000.timeindex"
    assert kidx("append", index, "-1:0", "5:3", "--create").status == 0
    assert index.read_bytes() == (5).to_bytes(8, "big") + (3).to_bytes(4, "big")
    assert kidx("append", index, "--nonsense").status == 2


def test_a_torn_file_is_trimmed_only_when_told(partition: Path) -> None:
    index = partition / INDEX
    index.write_bytes(index.read_bytes()[:-3])
    assert b"--torn" in kidx("trim", index).err
    assert kidx("trim", index, "--torn").status == 0
    assert index.read_bytes() == (PLAIN / INDEX).read_bytes()[: index.stat().st_size]


def test_rows_are_as_documented(partition: Path) -> None:
    """docs/surgery.md has every field of every schema."""
    text = (Path(__file__).resolve().parents[2] / "docs" / "surgery.md").read_text()
    index = partition / INDEX
    swap_entries(partition / "00000000000000000190.index", 0, 1)
    rows = kidx("verify", partition, "--suggest", "--format", "jsonl").rows
    rows += kidx("truncate", index, "--to", 50, "--dry-run", "--format", "jsonl").rows
    rows += kidx("truncate", index, "--to", 50, "--format", "jsonl").rows
    rows += [json.loads(line) for line in (partition / ".kidx" / "journal.jsonl").read_text().splitlines()]
    found = {row.pop("schema"): list(row) for row in rows}
    for schema in ("kidx.write.v1", "kidx.entry_change.v1", "kidx.suggestion.v1", "kidx.journal.v1"):
        section = text.split(f"## {schema}\n")[1].split("\n## ")[0]
        assert sorted(found[schema]) == sorted(re.findall(r"^\| `(\w+)` \|", section, re.M)), schema


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_a_write_that_cannot_be_announced_is_said_on_stderr(partition: Path) -> None:
    index = next(iter(sorted(partition.glob("*.index"))))
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "kidx", "truncate", "--to", "50", index],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == 3
    assert b": written; backup" in done.stderr and b"no space left" in done.stderr
