"""Segments and partitions, found by names alone: nothing is opened until its content is asked for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kidx.errors import CannotRead
from kidx.logdir.tree import Listing, Partition, expand, holds_evidence, partitions_below, walk_tree
from tests.support import FIXTURES

UUIDS = ("AbCdEfGhIjKlMnOpQrSt-_", "BbCdEfGhIjKlMnOpQrSt-_")

COUNT_OPENS = """
import sys
opened = []
sys.addaudithook(lambda event, args: event == "open" and opened.append(str(args[0])))
from kidx.logdir.tree import Partition
partition = Partition(sys.argv[1])
segments, active = partition.segments, partition.active_segment
files = sum(len(s.files) for s in segments)
sizes = sum(f.size() for s in segments[:100] for f in s.files.values())
before = [p for p in opened if p.startswith(sys.argv[1])]
with active.file("offset_index").open() as evidence:
    evidence.read_all()
after = {p for p in opened if p.startswith(sys.argv[1])}
print(len(segments), files, active.base_offset, sizes, len(before), len(after))
"""


def test_listing_ten_thousand_segments_opens_no_file(tmp_path: Path) -> None:
    directory = tmp_path / "orders-0"
    directory.mkdir()
    for n in range(10_000):
        for suffix in ("log", "index", "timeindex"):
            (directory / f"{n * 1000:020d}.{suffix}").touch()
    done = subprocess.run(
        [sys.executable, "-c", COUNT_OPENS, str(directory)], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["10000", "30000", "9999000", "0", "0", "1"]


def touch(directory: Path, *names: str) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    for name in names:
        (directory / name).touch()
    return directory


def test_files_of_one_base_offset_and_state_are_a_segment(tmp_path: Path) -> None:
    plain = "00000000000000000000"
    later = "00000000000000000100"
    directory = touch(
        tmp_path / "big.name-7",
        f"{plain}.log", f"{plain}.index", f"{plain}.timeindex", f"{later}.log.deleted", f"{later}.index.deleted",
        f"{later}.log", f"{later}.snapshot", f"{plain}.index.swap", "leader-epoch-checkpoint", "notes.txt",
    )  # fmt: skip
    partition = Partition(str(directory))
    assert partition.name == ("big.name", 7, "")
    assert [(s.base_offset, s.state, sorted(s.files)) for s in partition.all_segments] == [
        (0, "", ["log", "offset_index", "time_index"]),
        (0, ".swap", ["offset_index"]),
        (100, "", ["log", "producer_snapshot"]),
        (100, ".deleted", ["log", "offset_index"]),
    ]
    assert [s.base_offset for s in partition.segments] == [0, 100]
    assert partition.active_segment is partition.segments[-1]
    assert partition.segments[0].file("transaction_index") is None
    assert len(partition.files) == 9


def test_tiered_files_of_one_base_offset_do_not_hide_each_other(tmp_path: Path) -> None:
    names = [f"0_{uuid}.{suffix}" for uuid in UUIDS for suffix in ("index", "timeindex")]
    partition = Partition(str(touch(tmp_path / "remote-log-index-cache", *names)))
    assert partition.name is None
    assert [(s.tag, len(s.files)) for s in partition.all_segments] == [(uuid, 2) for uuid in UUIDS]
    assert partition.segments == []
    assert partition.active_segment is None


def test_a_partition_knows_whether_its_broker_stopped_cleanly(tmp_path: Path) -> None:
    partition = Partition(str(touch(tmp_path / "orders-0")))
    assert partition.stopped_cleanly() is None
    touch(tmp_path, "meta.properties")
    assert partition.stopped_cleanly() is False
    touch(tmp_path, ".kafka_cleanshutdown")
    assert partition.stopped_cleanly() is True


def test_a_relative_directory_has_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(touch(tmp_path / "orders-5", "00000000000000000000.log"))
    for given, path in ((".", "./00000000000000000000.log"), ("", "00000000000000000000.log")):
        partition = Partition(given)
        assert partition.name == ("orders", 5, "")
        assert [f.path for f in partition.files] == [path]
        assert partition.log_dir == str(tmp_path)


def test_a_tree_is_walked_parents_first_by_name_without_following_links(tmp_path: Path) -> None:
    touch(tmp_path / "b-1" / "deep", "00000000000000000000.log")
    touch(tmp_path / "a-0", "00000000000000000000.index")
    touch(tmp_path / "c", "notes.txt")
    (tmp_path / "circle").symlink_to(tmp_path)
    walked = [found.directory for found in walk_tree(str(tmp_path)) if isinstance(found, Listing)]
    below = [str(Path(path).relative_to(tmp_path)) for path in walked]
    assert below == [".", "a-0", "b-1", "b-1/deep", "c"]
    partitions = [str(Path(p.directory).relative_to(tmp_path)) for p in partitions_below(str(tmp_path))]
    assert partitions == ["a-0", "b-1/deep"]


def test_what_cannot_be_listed_is_said_and_the_rest_goes_on(tmp_path: Path) -> None:
    missing = list(walk_tree(str(tmp_path / "missing")))
    assert [type(found) for found in missing] == [CannotRead]


def test_patterns_are_expanded_once_and_a_pattern_without_match_stays(tmp_path: Path) -> None:
    touch(tmp_path / "a-0", "00000000000000000000.index", "00000000000000000000.log")
    touch(tmp_path / "a-1", "00000000000000000000.index")
    first, second = (str(tmp_path / f"a-{n}" / "00000000000000000000.index") for n in (0, 1))
    pattern, none = str(tmp_path / "a-*" / "*.index"), str(tmp_path / "z-*")
    assert list(expand([second, pattern, none, second])) == [second, first, none]
    assert list(expand([str(tmp_path / "**" / "*.index")])) == [first, second]
    assert list(expand(["-", "-"])) == ["-"]


def test_a_file_whose_name_is_a_pattern_is_that_file(tmp_path: Path) -> None:
    odd = touch(tmp_path, "[a]*.index") / "[a]*.index"
    assert list(expand([str(odd)])) == [str(odd)]


def test_a_real_log_dir(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FIXTURES / "kafka-4.3.1")
    walked = [found.directory for found in walk_tree("clean") if isinstance(found, Listing)]
    assert walked == ["clean", *sorted(walked[1:])]
    partitions = [Partition(directory) for directory in walked[1:]]
    assert all(p.name and p.segments and p.stopped_cleanly() for p in partitions)
    assert all(s.file("log") for p in partitions for s in p.segments)


def test_a_log_of_another_program_is_no_evidence(tmp_path: Path) -> None:
    (tmp_path / "app.log").touch()
    assert not holds_evidence(str(tmp_path))
    (tmp_path / f"{0:020}.log").touch()
    assert holds_evidence(str(tmp_path))
