"""A journal that came with the evidence reaches nothing but the index files of its own directory."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest

from kidx.errors import CannotRead, KidxError, Refused
from kidx.surgery.journal import new_run
from kidx.surgery.replace import carry_out
from kidx.surgery.undo import plan_undo
from tests.surgery.support import INDEX, a_change, listing

PAYLOAD = b"owned\n"


@pytest.fixture
def partition(tmp_path: Path) -> Path:
    """A partition in which kidx changed one index, and a file next to it that it must not touch."""
    directory = tmp_path / "logs" / "plain-0"
    directory.mkdir(parents=True)
    (tmp_path / "victim").write_bytes(b"precious\n")
    (directory / INDEX).write_bytes(b"one")
    carry_out(a_change(directory / INDEX, b"one", b"two"), new_run())
    return directory


def journal_of(partition: Path) -> Path:
    return partition / ".kidx" / "journal.jsonl"


def forge(partition: Path, **fields: Any) -> None:
    """Add a line to the journal: the last one with other fields."""
    book = journal_of(partition)
    line = json.loads(book.read_text().splitlines()[-1]) | {"id": "x", "time": "9999", "run": "9999"} | fields
    with book.open("a") as f:
        f.write(json.dumps(line) + "\n")


def undo(path: Path) -> None:
    for step in plan_undo(str(path)):
        step.carry_out(new_run())


NAMES = (
    "../../victim",
    "/tmp/kidx-victim.index",
    "00000000000000000000.log",
    "../plain-0/" + INDEX,
    "meta.properties",
    ".kidx/journal.jsonl",
    "journal.jsonl",
    "..",
    "",
    "a\0.index",
    "partition.metadata",
)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("act", ["write", "remove"])
def test_names_that_kidx_never_writes(partition: Path, name: str, act: str) -> None:
    target = partition / name if "\0" not in name else partition / INDEX
    now = target.read_bytes() if target.is_file() else b""
    before = json.loads(journal_of(partition).read_text())["before"]
    digest = hashlib.sha256(PAYLOAD).hexdigest()
    (partition / ".kidx" / f"{os.path.basename(name)}~{digest[:16]}".replace("\0", "")).write_bytes(PAYLOAD)
    forge(
        partition,
        file=name,
        before={**before, "size": len(PAYLOAD), "sha256": digest} if act == "write" else None,
        backup=f"{name}~{digest[:16]}" if act == "write" else None,
        after_sha256=hashlib.sha256(now).hexdigest(),
        after_size=len(now),
    )
    there = listing(partition.parents[1])
    for asked in (partition, partition / INDEX):
        with pytest.raises(KidxError):
            undo(asked)
        assert listing(partition.parents[1]) == there


@pytest.mark.parametrize(
    "fields",
    [
        {"backup": "../../../victim"},
        {"backup": None},
        {"undoes": 7},
        {"after_size": "3"},
        {"after_size": -3},
        {"after_sha256": "two"},
        {"after_sha256": None},
        {"time": None},
        {"id": [1]},
        {"kidx": {}},
        {"command": 5},
        {"file": 5},
        {"schema": "kidx.journal.v9"},
        {"more": 1},
        {"before": []},
        {"before": {"mode": 0o644}},
    ],
    ids=str,
)
def test_fields_that_kidx_never_writes(partition: Path, fields: dict[str, Any]) -> None:
    forge(partition, **fields)
    there = listing(partition)
    with pytest.raises(CannotRead, match="not of kidx's journal"):
        undo(partition)
    assert listing(partition) == there


@pytest.mark.parametrize(
    "state",
    [
        {"mode": 0o4755},
        {"mode": 0o2755},
        {"mode": 0o1755},
        {"mode": "0644"},
        {"mode": True},
        {"uid": -2},
        {"mtime_ns": float("nan")},
        {"mtime_ns": 2**63},
        {"size": 1.5},
        {"sha256": "../" * 22},
        {"sha256": None},
    ],
    ids=str,
)
def test_states_that_kidx_never_writes(partition: Path, state: dict[str, Any]) -> None:
    before = json.loads(journal_of(partition).read_text())["before"]
    forge(partition, before=before | state)
    there = listing(partition)
    with pytest.raises(CannotRead, match="not of kidx's journal"):
        undo(partition)
    assert listing(partition) == there


@pytest.mark.parametrize("text", ["[" * 100_000, '{"file":5}', "[1]", "7", "null", '"' + "x" * 100_000 + '"', "NaN"])
def test_lines_that_are_no_entry(partition: Path, text: str) -> None:
    with journal_of(partition).open("a") as f:
        f.write(text + "\n")
    with pytest.raises(CannotRead, match="not of kidx's journal"):
        undo(partition)


def test_zeros_after_a_crash_are_passed_over(partition: Path) -> None:
    with journal_of(partition).open("ab") as f:
        f.write(bytes(100))
    undo(partition)
    assert (partition / INDEX).read_bytes() == b"one"


def test_the_owner_stays_what_it_is(partition: Path) -> None:
    before = json.loads(journal_of(partition).read_text())["before"]
    line = json.loads(journal_of(partition).read_text())
    journal_of(partition).write_text(json.dumps(line | {"before": before | {"uid": 4321, "gid": 4321}}) + "\n")
    undo(partition)
    assert (partition / INDEX).stat().st_uid == os.getuid()


def test_a_setuid_bit_is_never_given(partition: Path) -> None:
    os.chmod(partition / INDEX, 0o6755)
    carry_out(a_change(partition / INDEX, b"two", b"three"), new_run())
    assert stat.S_IMODE((partition / INDEX).stat().st_mode) == 0o755
    undo(partition)
    assert stat.S_IMODE((partition / INDEX).stat().st_mode) == 0o755


@pytest.mark.parametrize("what", ["workplace", "journal", "backup"])
@pytest.mark.parametrize("how", ["link", "hard link", "directory", "owner"])
def test_a_workplace_that_kidx_did_not_make(partition: Path, what: str, how: str) -> None:
    workplace = partition / ".kidx"
    path = {"workplace": workplace, "journal": journal_of(partition), "backup": next(workplace.glob("*~*"))}[what]
    elsewhere = partition.parents[1] / "elsewhere"
    if how == "owner":
        if os.getuid():
            pytest.skip("only root may give files away")
        os.chown(path, 4321, 4321)
        os.chown(partition, 1234, 1234)
    elif how == "hard link":
        if path.is_dir():
            pytest.skip("directories have no hard links")
        elsewhere.hardlink_to(path)
    elif how == "link":
        path.rename(elsewhere)
        path.symlink_to(elsewhere)
    else:
        path.rename(elsewhere)
        path.mkdir()
        if what == "workplace":
            pytest.skip("a workplace is a directory")
    there = (partition / INDEX).read_bytes()
    with pytest.raises((Refused, CannotRead)):
        undo(partition)
    assert (partition / INDEX).read_bytes() == there


def test_a_link_to_a_directory_below_is_not_followed(partition: Path) -> None:
    other = partition.parents[1] / "other"
    partition.rename(other)
    partition.symlink_to(other)
    with pytest.raises(Refused, match="no journal in or below it"):
        undo(partition.parent)
    assert (other / INDEX).read_bytes() == b"two"


def test_a_directory_that_becomes_a_link_meanwhile(partition: Path) -> None:
    (step,) = plan_undo(str(partition.parent))
    other = partition.parents[1] / "other"
    partition.rename(other)
    partition.symlink_to(other)
    with pytest.raises(Refused):
        step.carry_out(new_run())
    assert (other / INDEX).read_bytes() == b"two"


def test_a_full_journal_is_refused(partition: Path) -> None:
    os.truncate(journal_of(partition), 4 << 20)
    with pytest.raises(Refused, match=r"journal\.jsonl is full"):
        carry_out(a_change(partition / INDEX, b"two", b"three"), new_run())
    with pytest.raises(Refused, match=r"journal\.jsonl is full"):
        undo(partition)
    os.truncate(journal_of(partition), (4 << 20) + 1)
    with pytest.raises(CannotRead, match="at most"):
        undo(partition)
    assert (partition / INDEX).read_bytes() == b"two"


def test_directories_of_any_depth(partition: Path) -> None:
    deep = partition.parent
    for _ in range(1200):
        deep = deep / "d"
    subprocess.run(["mkdir", "-p", deep], check=True)
    try:
        undo(partition.parent)
    finally:
        subprocess.run(["rm", "-rf", partition.parent / "d"], check=True)  # pytest's own removal recurses
    assert (partition / INDEX).read_bytes() == b"one"
