"""A log dir as a whole: what lies in it, whose it is; files that are damaged become problems, never exceptions."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kidx.errors import CannotRead
from kidx.logdir import LogDir
from kidx.logdir.log_dir import (
    CLEANED_TO,
    DELETED,
    FUTURE,
    HIGH_WATERMARKS,
    INDEX_CACHE,
    LOG_STARTS,
    LOST_FOUND,
    OTHER_DIRECTORY,
    OTHER_FILE,
    PARTITION,
    RECOVERY_POINTS,
    STRAY,
    partition_identity,
    sibling_log_dirs,
)
from kidx.logdir.tree import Partition
from tests.support import OWN_FIXTURES as FIXTURES

CLEAN = FIXTURES / "kafka-4.3.1" / "clean"
TWO_DIRS = FIXTURES / "starts" / "two-dirs"
UUID = "0123456789abcdef0123456789abcdef"


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """The small files of a real log dir, with one of its partitions."""
    root = tmp_path / "log-dir"
    root.mkdir()
    for file in CLEAN.iterdir():
        if file.is_file():
            shutil.copy(file, root)
    shutil.copytree(CLEAN / "plain-0", root / "plain-0")
    return root


def identity_problems(root: Path, old: str, new: str) -> list[str]:
    file = root / "meta.properties"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    return [problem.why for problem in LogDir(str(root)).identity.problems]


def test_identity_is_what_meta_properties_says() -> None:
    identity = LogDir(str(CLEAN)).identity
    assert identity == ("a2lkeC1maXh0dXJlcy0wMQ", 1, "Ta8brZxIdl0ibt8Ugdww-w", 1, ())
    with_zookeeper = LogDir(str(FIXTURES / "kafka-2.8.2" / "clean")).identity
    assert with_zookeeper == ("0lY1yJrfTvue4VH6K7rnfg", 1, None, 0, ())
    assert LogDir(str(FIXTURES / "versions" / "0.9.0.1")).identity == (None, 1, None, 0, ())


def test_a_clean_stop_leaves_a_mark_with_the_brokers_epoch(copied: Path) -> None:
    assert LogDir(str(CLEAN)).clean_shutdown == (11, ())
    assert LogDir(str(FIXTURES / "versions" / "1.1.1")).clean_shutdown == (None, ())  # the mark is empty
    (copied / ".kafka_cleanshutdown").write_text("\0garbage")
    mark = LogDir(str(copied)).clean_shutdown
    assert mark is not None and mark.broker_epoch is None and len(mark.problems) == 1
    (copied / ".kafka_cleanshutdown").unlink()
    assert LogDir(str(copied)).clean_shutdown is None


def test_entries_are_told_apart_as_a_broker_does(copied: Path) -> None:
    kinds = {
        "lost+found": LOST_FOUND,
        "remote-log-index-cache": INDEX_CACHE,
        f"plain-1.{UUID}-delete": DELETED,
        f"plain-2.{UUID}-future": FUTURE,
        f"plain-3.{UUID}-stray": STRAY,
        "plain-1-delete": OTHER_DIRECTORY,
        "plain-x": OTHER_DIRECTORY,
        "-0": OTHER_DIRECTORY,
        "plain-99999999999": OTHER_DIRECTORY,
        ".snapshot": OTHER_DIRECTORY,
    }
    for name in kinds:
        (copied / name).mkdir()
    (copied / "notes.txt").touch()
    (copied / "plain-7").touch()  # a file with a partition's name
    log_dir = LogDir(str(copied))
    found = {entry.name: entry.kind for entry in log_dir.entries}
    assert {name: found[name] for name in kinds} == kinds
    assert (found["notes.txt"], found["plain-7"], found["plain-0"]) == (OTHER_FILE, OTHER_FILE, PARTITION)
    assert [p.name for p in log_dir.partitions] == [("plain", 0, "")]
    assert log_dir.of_kind(STRAY)[0].partition == ("plain", 3, "stray")
    assert log_dir.looks_like_one and not LogDir(str(copied / "plain-0")).looks_like_one


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("cluster.id=", "cluster.id=Some(", "Some("),
        ("node.id=1\n", "", "it has no node.id"),
        ("node.id=1", "node.id=one", "node.id=one is no number"),
        ("version=1", "version=" + "9" * 5000, "is no number"),
        ("version=1", "version=0", "it has no broker.id"),
        ("directory.id=Ta8brZxIdl0ibt8Ugdww-w", "directory.id=" + "A" * 22, "an id that Kafka reserves"),
        ("directory.id=Ta8brZxIdl0ibt8Ugdww-w", "directory.id=short", "not an id"),
    ],
)
def test_damage_to_meta_properties_is_a_problem(copied: Path, old: str, new: str, why: str) -> None:
    found = identity_problems(copied, old, new)
    assert len(found) == 1 and why in found[0] and len(found[0]) < 300


def test_any_text_may_be_a_clusters_id(copied: Path) -> None:
    assert identity_problems(copied, "cluster.id=a2lkeC1maXh0dXJlcy0wMQ", "cluster.id=production west") == []


def test_a_file_too_large_or_unreadable_is_a_problem(copied: Path) -> None:
    with (copied / "meta.properties").open("wb") as file:
        file.truncate(1 << 40)
    (copied / "recovery-point-offset-checkpoint").unlink()
    (copied / "recovery-point-offset-checkpoint").mkdir()
    log_dir = LogDir(str(copied))
    assert "at most" in log_dir.identity.problems[0].why
    assert "directory" in log_dir.checkpoint(RECOVERY_POINTS).problems[0].why


def test_checkpoints_are_offsets_by_partition_and_problems_by_line(copied: Path) -> None:
    log_dir = LogDir(str(copied))
    assert log_dir.checkpoint(HIGH_WATERMARKS).offsets["plain", 0] > 0
    assert [log_dir.checkpoint(name).problems for name in (RECOVERY_POINTS, LOG_STARTS, CLEANED_TO)] == [(), (), ()]
    assert log_dir.checkpoint("no-such-checkpoint") == ({}, ())
    (copied / LOG_STARTS).write_text("0\n2\nplain 0 5\nplain zero 6\n")
    checkpoint = LogDir(str(copied)).checkpoint(LOG_STARTS)
    assert checkpoint.offsets == {("plain", 0): 5}
    assert [problem.why for problem in checkpoint.problems] == [
        "line 4: 'plain zero 6' is not 'topic partition offset'"
    ]


def test_a_partitions_topic_id_is_read_and_judged(copied: Path) -> None:
    file = copied / "plain-0" / "partition.metadata"
    assert partition_identity(Partition(str(copied / "plain-0"))) == ("AJGhui0DQtGpe4TTfaxBaQ", 0, ())
    for text, why in (
        ("version: 0\ntopic_id", "no line of a partition.metadata"),
        ("", "it has no"),
        ("version: 0\ntopic_id: " + "A" * 22, "an id that Kafka reserves"),
        ("version: 0\ntopic_id: " + "?" * 5000, "not an id"),
    ):
        file.write_text(text)
        problems = partition_identity(Partition(str(copied / "plain-0"))).problems
        assert problems and why in problems[0].why and len(problems[0].why) < 300
    file.unlink()
    assert partition_identity(Partition(str(copied / "plain-0"))) == (None, None, ())
    metadata = LogDir(str(CLEAN)).metadata_partition
    assert metadata is not None and partition_identity(metadata).problems == ()  # its id is a constant of Kafka's


def test_siblings_share_the_clusters_id(tmp_path: Path) -> None:
    shutil.copytree(TWO_DIRS, tmp_path / "broker")
    here = LogDir(str(tmp_path / "broker" / "d1"))
    assert [other.directory for other in sibling_log_dirs(here)] == [str(tmp_path / "broker" / "d2")]
    other = tmp_path / "broker" / "d2" / "meta.properties"
    other.write_text(other.read_text().replace("cluster.id=", "cluster.id=X"))
    assert sibling_log_dirs(here) == []


def test_a_directory_that_is_not_there_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(CannotRead):
        _ = LogDir(str(tmp_path / "nothing")).entries


COUNT_OPENS = """
import sys
opened = []
sys.addaudithook(lambda event, args: event == "open" and str(args[0]).startswith(sys.argv[1]) and opened.append(1))
from kidx.logdir import LogDir
log_dir = LogDir(sys.argv[1])
names = len(log_dir.partitions), len(log_dir.entries)
before = len(opened)
log_dir.identity, log_dir.identity
print(*names, before, len(opened))
"""


def test_nothing_is_opened_until_it_is_asked_for() -> None:
    done = subprocess.run([sys.executable, "-c", COUNT_OPENS, CLEAN], capture_output=True, text=True, check=True)
    partitions, entries, before, after = map(int, done.stdout.split())
    assert (partitions, before, after) == (21, 0, 1) and entries > partitions
