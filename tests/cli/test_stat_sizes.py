"""kidx stat --by: the bytes of files add up to what du says, whatever they are grouped by."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from kidx.tables.sizes import GROUPS
from tests.cli.schemas import documented_fields
from tests.support import FIXTURES, kidx_here

LIVE = FIXTURES / "kafka-4.3.1" / "live"


def bytes_below(path: Path) -> int:
    return sum(f.lstat().st_size for f in path.rglob("*") if f.is_file() and not f.is_symlink())


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    """A broker's log dir with a directory of every state."""
    root = shutil.copytree(LIVE, tmp_path / "data")
    tag = "0123456789abcdef0123456789abcdef"
    for state in ("delete", "stray", "future"):
        shutil.copytree(root / "plain-0", root / f"plain-1.{tag}-{state}")
    return root


@pytest.mark.parametrize("by", GROUPS)
def test_rows_add_up(disk: Path, by: str) -> None:
    ran = kidx_here("stat", disk, "--by", by, "--format", "jsonl")
    assert (ran.status, ran.err) == (0, b"")
    rows = ran.rows
    assert ["schema", *documented_fields("trace", "kidx.size.v1")] == list(rows[0])
    assert sum(r["bytes"] for r in rows) == bytes_below(disk)
    assert all(r["bytes"] == r["log_bytes"] + r["index_bytes"] + r["other_bytes"] for r in rows)
    assert sum(r["segments"] for r in rows) == len([f for f in disk.rglob("*.log*") if f.name[:20].isdigit()])
    assert [r["bytes"] for r in rows] == sorted((r["bytes"] for r in rows), reverse=True)
    assert rows[-1]["running_share"] == pytest.approx(1)
    assert sum(r["disk_bytes"] for r in rows) == sum(f.lstat().st_blocks * 512 for f in disk.rglob("*") if f.is_file())


def test_what_a_row_is_about(disk: Path) -> None:
    def rows(by: str) -> list[dict[str, object]]:
        return kidx_here("stat", disk, "--by", by, "--format", "jsonl").rows

    assert {r["state"] for r in rows("state")} == {"live", "deleted", "delete", "stray", "future"}
    assert {(r["topic"], r["partition"], r["state"]) for r in rows("partition")} >= {
        ("plain", 0, "live"),
        ("plain", 1, "stray"),
        (None, None, None),
    }
    assert {r["broker"] for r in rows("broker")} == {1}
    deleted = [r for r in rows("segment") if r["state"] == "deleted"]
    assert [(r["topic"], r["segment"]) for r in deleted] == [("trimmed", 0)]
    screen = kidx_here("stat", disk, "--by", "partition").out.decode()
    assert "-stray (stray)" in screen and f"({bytes_below(disk):,})" in screen.splitlines()[-1]


def test_a_file_counts_once_and_links_are_not_followed(disk: Path) -> None:
    log = next((disk / "plain-0").glob("*.log"))
    os.link(log, disk / "plain-0" / "copy.log")
    (disk / "plain-0" / "elsewhere").symlink_to("/etc")
    (row,) = [
        r
        for r in kidx_here("stat", disk, disk / "plain-0", log, "--by", "partition", "--format", "jsonl").rows
        if r["directory"] == str(disk / "plain-0")
    ]
    assert row["bytes"] == bytes_below(disk / "plain-0") - log.stat().st_size


def test_refusals(disk: Path) -> None:
    ran = kidx_here("stat", disk, "--by", "topic", "--sort", "entries")
    assert ran.status == 2 and b"--by cannot be combined with --sort" in ran.err
    ran = kidx_here("stat", disk, "--by", "colour")
    assert ran.status == 2 and b"colour" in ran.err
    ran = kidx_here("stat", disk / "none", disk / "plain-0", "--by", "topic", "--format", "jsonl")
    assert ran.status == 3 and b"none: no such file or directory" in ran.err and len(ran.rows) == 1
