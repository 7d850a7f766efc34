"""Log dirs and clusters: what is missing or foreign is found, what only looks so is not."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from kidx.checks.engine.options import Options
from kidx.checks.engine.result import CheckResult
from kidx.checks.engine.run import check_all
from kidx.checks.engine.targets import targets_of
from kidx.evidence import read_file
from kidx.evidence.file import cannot_read
from kidx.findings import ERROR, NOTE, WARNING
from tests.checks.conftest import NEWEST, check, grave
from tests.damage import shrink
from tests.support import OWN_FIXTURES, unpacked

TWO_DIRS = OWN_FIXTURES / "starts" / "two-dirs"
STRAY, GONE, COMING = (f"{'ab' * 16}-{state}" for state in ("stray", "delete", "future"))


def verify(path: Path, **options: object) -> CheckResult:
    return check_all(targets_of([str(path)]), Options(**options))  # type: ignore[arg-type]


def found_in(root: Path, **options: object) -> set[tuple[str, str, str]]:
    """Rule, severity and path below `root` of all findings but preallocation's."""
    found = verify(root, **options).findings
    return {(f.rule, f.severity, str(Path(f.file).relative_to(root))) for f in found if f.rule not in IRRELEVANT}


IRRELEVANT = ("KX110", "KX209", "KX311", "KX403")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return Path(shutil.copytree(NEWEST / "clean", tmp_path / "data"))


@pytest.fixture
def two(tmp_path: Path) -> Path:
    return Path(shutil.copytree(TWO_DIRS, tmp_path / "broker"))


def edit(path: Path, key: str, value: str | None) -> None:
    """Set a line of a properties file, or remove it."""
    rest = [line for line in path.read_text().splitlines() if not line.startswith(f"{key}=")]
    path.write_text("\n".join([*rest, *([] if value is None else [f"{key}={value}"])]) + "\n")


def remove(directory: Path, *suffixes: str) -> None:
    for file in directory.iterdir():
        if file.suffix in suffixes:
            file.unlink()


def stranger(directory: Path, copy: Path) -> None:
    """Copy a partition's directory, with another topic's id."""
    shutil.copytree(directory, copy)
    (copy / "partition.metadata").write_text("version: 0\ntopic_id: LLFwgXryRf2v4oqp9-d2MA\n")


Act = Callable[[Path], object]
ACTS: dict[str, tuple[Act, set[tuple[str, str, str]]]] = {
    "nothing": (lambda d: None, set()),
    "lost+found": (lambda d: (d / "lost+found").mkdir(), {("KX520", ERROR, "lost+found")}),
    "a directory that is no partition": (lambda d: (d / "backup").mkdir(), {("KX520", ERROR, "backup")}),
    "a deleted one without its id": (lambda d: (d / "t-1-delete").mkdir(), {("KX520", ERROR, "t-1-delete")}),
    "the cache of tiered storage": (lambda d: (d / "remote-log-index-cache").mkdir(), set()),
    "another file": (lambda d: (d / "notes.txt").touch(), set()),
    "no logs": (lambda d: remove(d / "plain-0", ".log"), {("KX506", ERROR, "plain-0")}),
    "an emptied partition": (
        lambda d: [f.unlink() for f in (d / "plain-0").iterdir()], {("KX506", ERROR, "plain-0")}
    ),
    "no partition.metadata": (
        lambda d: (d / "plain-0/partition.metadata").unlink(), {("KX507", ERROR, "plain-0")}
    ),
    "another topic's id": (
        lambda d: shutil.copy(d / "txn-0/partition.metadata", d / "plain-0"),
        {("KX521", ERROR, "plain-0/partition.metadata")},
    ),
    "the zero id": (
        lambda d: (d / "plain-0/partition.metadata").write_text(f"version: 0\ntopic_id: {'A' * 22}\n"),
        {("KX505", ERROR, "plain-0/partition.metadata")},
    ),
    "Some()": (
        lambda d: edit(d / "meta.properties", "cluster.id", "Some(abc)"), {("KX527", WARNING, "meta.properties")}
    ),
    "another node": (lambda d: edit(d / "meta.properties", "node.id", "7"), {("KX523", ERROR, "meta.properties")}),
    "no meta.properties": (lambda d: (d / "meta.properties").unlink(), {("KX528", WARNING, "meta.properties")}),
    "no node": (lambda d: edit(d / "meta.properties", "node.id", None), {("KX528", ERROR, "meta.properties")}),
    "version 9": (lambda d: edit(d / "meta.properties", "version", "9"), {("KX528", ERROR, "meta.properties")}),
    "version 0": (lambda d: edit(d / "meta.properties", "version", "0"), {("KX528", ERROR, "meta.properties")}),
    "a reserved directory id": (
        lambda d: edit(d / "meta.properties", "directory.id", "A" * 21 + "Q"), {("KX528", ERROR, "meta.properties")}
    ),
    "an unknown topic": (lambda d: stranger(d / "empty-0", d / "other-0"), {("KX525", WARNING, "other-0")}),
    "a known id under another name": (
        lambda d: shutil.copytree(d / "empty-0", d / "other-0"), {("KX521", ERROR, "other-0/partition.metadata")}
    ),
    "a partition too many": (
        lambda d: shutil.copytree(d / "empty-0", d / "empty-9"), {("KX525", WARNING, "empty-9")}
    ),
    "a name with a zero too many": (
        lambda d: shutil.copytree(d / "empty-0", d / "empty-00"), {("KX525", WARNING, "empty-00")}
    ),
    "a partition missing": (lambda d: shutil.rmtree(d / "plain-0"), {("KX526", WARNING, ".")}),
    "a deleted partition": (
        lambda d: shutil.copytree(d / "empty-0", d / f"gone-0.{GONE}"), {("KX531", NOTE, f"gone-0.{GONE}")}
    ),
    "a stray partition": (
        lambda d: shutil.copytree(d / "empty-0", d / f"gone-0.{STRAY}"), {("KX533", NOTE, f"gone-0.{STRAY}")}
    ),
    "a future replica": (
        lambda d: (d / "plain-0").rename(d / f"plain-0.{COMING}"), {("KX532", NOTE, f"plain-0.{COMING}")}
    ),
    "a future replica and its partition": (
        lambda d: shutil.copytree(d / "empty-0", d / f"empty-0.{COMING}"), {("KX530", ERROR, f"empty-0.{COMING}")}
    ),
    "a log start past the end": (
        lambda d: (d / "log-start-offset-checkpoint").write_text("0\n1\nplain 0 99999999\n"),
        {("KX534", ERROR, "log-start-offset-checkpoint")},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("act", "expected"), ACTS.values(), ids=ACTS)
def test_one_act_on_a_healthy_log_dir(root: Path, act: Act, expected: set[tuple[str, str, str]]) -> None:
    act(root)
    assert found_in(root) == expected
    for partition in root.glob("plain-0"):  # what is about the log dir is not said of each partition
        rules = {f.rule for f in check(partition).findings}
        assert rules <= {"KX110", "KX505", "KX506", "KX507", "KX534"}


def test_indexes_missing_altogether(root: Path) -> None:
    remove(root / "plain-0", ".index", ".timeindex")
    found = verify(root).findings
    assert {(f.rule, f.expected) for f in grave(verify(root))} == {("KX502", ".index"), ("KX502", ".timeindex")}
    assert all("plain-0" in f.file for f in found if f.rule == "KX502")
    assert grave(check(root / "plain-0")) != []  # its log dir is the witness
    alone = Path(shutil.copytree(root / "plain-0", root.parent / "plain-0"))
    assert grave(check(alone)) == []  # nobody knows whether indexes were left out on purpose


def test_a_first_segment_that_the_log_start_needs(root: Path) -> None:
    lines = (root / "log-start-offset-checkpoint").read_text().splitlines()[2:]
    (root / "log-start-offset-checkpoint").write_text("\n".join(["0", f"{len(lines) + 1}", *lines, "plain 0 1"]) + "\n")
    assert found_in(root) == set()
    first = min((root / "plain-0").glob("*.log"))
    for file in (root / "plain-0").glob(f"{first.stem}.*"):
        file.unlink()
    assert {rule for rule, _, _ in found_in(root)} == {"KX503"}


@pytest.mark.parametrize("name", ["11.log", "segment.log"])
def test_a_segment_with_another_name(root: Path, name: str) -> None:
    log = max((root / "plain-0").glob("*.log"))
    log.rename(log.with_name(name))
    assert ("KX508", ERROR, f"plain-0/{name}") in found_in(root)


def test_a_log_that_lost_its_end_behind_a_clean_stop(root: Path) -> None:
    """The broker believes the last index entry: the log's end falls to the segment's base."""
    log = max((root / "plain-0").glob("*.log"))
    position = int.from_bytes(log.with_suffix(".index").read_bytes()[-4:])
    shrink(log, log.stat().st_size - position)
    (found,) = [f for f in verify(root).findings if f.rule == "KX313"]
    assert (found.file, found.severity, found.found) == (str(log), ERROR, int(log.stem))
    assert found.expected > found.found
    (root / ".kafka_cleanshutdown").unlink()  # then it recovers the segment
    assert "KX313" not in {f.rule for f in verify(root).findings}


def test_zeros_at_the_end_of_a_log_behind_a_clean_stop(root: Path) -> None:
    log = max((root / "plain-0").glob("*.log"))
    with log.open("ab") as file:
        file.write(bytes(4096))
    assert found_in(root) == {("KX314", ERROR, f"plain-0/{log.name}")}
    (root / ".kafka_cleanshutdown").unlink()
    assert {(rule, severity) for rule, severity, _ in found_in(root)} == {("KX312", NOTE)}


def test_two_disks_of_a_broker_are_healthy(two: Path) -> None:
    assert {(rule, severity) for rule, severity, _ in found_in(two) if severity != NOTE} == set()
    shutil.move(two / "d1/orders-0", two / "d2/orders-0")  # by hand: the broker serves it from there
    assert {rule for rule, severity, _ in found_in(two) if severity != NOTE} == set()


TWO_ACTS: dict[str, tuple[Act, set[tuple[str, str, str]]]] = {
    "two clusters": (
        lambda d: edit(d / "d2/meta.properties", "cluster.id", "B" * 22),
        {("KX522", ERROR, "d1/meta.properties"), ("KX522", ERROR, "d2/meta.properties")},
    ),
    "one partition on both": (
        lambda d: shutil.copytree(d / "d1/orders-0", d / "d2/orders-0"),
        {("KX529", ERROR, "d1/orders-0"), ("KX529", ERROR, "d2/orders-0")},
    ),
    "no meta.properties": (
        lambda d: (d / "d2/meta.properties").unlink(), {("KX528", WARNING, "d2/meta.properties")}
    ),
    "lost+found on the other": (lambda d: (d / "d2/lost+found").mkdir(), {("KX520", ERROR, "d2/lost+found")}),
}  # fmt: skip


@pytest.mark.parametrize(("act", "expected"), TWO_ACTS.values(), ids=TWO_ACTS)
def test_one_act_on_two_disks(two: Path, act: Act, expected: set[tuple[str, str, str]]) -> None:
    act(two)
    assert {one for one in found_in(two) if one[1] != NOTE} == expected


def test_one_directory_id_on_two_disks(two: Path) -> None:
    lines = (two / "d1/meta.properties").read_text().splitlines()
    (directory_id,) = [line.split("=", 1)[1] for line in lines if line.startswith("directory.id")]
    edit(two / "d2/meta.properties", "directory.id", directory_id)
    wanted = {("KX524", ERROR, "d1/meta.properties"), ("KX524", ERROR, "d2/meta.properties")}
    assert wanted <= found_in(two)


def test_stages_and_fleets_and_strangers_side_by_side_are_healthy() -> None:
    for together in (NEWEST, unpacked("fleet-2.5.1"), unpacked("kafka-2.4.1")):
        assert [f for f in grave(verify(together, level="quick")) if f.rule >= "KX520"] == []


@pytest.mark.parametrize("name", ["meta.properties", "log-start-offset-checkpoint"])
@pytest.mark.parametrize("error", [errno.EIO, errno.ESTALE, errno.ENOMEM])
def test_a_file_that_the_system_does_not_give_is_reported_and_no_finding(
    root: Path, name: str, error: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It fails when the log dir is judged, after its files have been checked."""
    path = str(root / name)
    for directory in root.iterdir():
        if directory.is_dir() and directory.name != "plain-0":
            shutil.rmtree(directory)

    def read(path_: str, *limit: int) -> bytes:
        if path_ == path:
            raise cannot_read(path_, OSError(error, os.strerror(error)))
        return read_file(path_, *limit)

    usual = verify(root, jobs=1)
    monkeypatch.setattr("kidx.logdir.log_dir.read_file", read)
    done = verify(root, jobs=1)
    assert done.findings == usual.findings
    assert [sentence for sentence in done.unread if sentence.startswith(path)] and not usual.unread
