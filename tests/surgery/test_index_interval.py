"""A partition's index.interval.bytes: the topic's configuration, else the spacing of its entries, else the default."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kidx.exit_status import UNREADABLE
from kidx.logdir.tree import Partition
from kidx.state.metadata import cluster_of
from kidx.surgery.index_interval import Interval, IntervalFinder, _roundest, interval_of
from tests.damage import set_entry
from tests.support import KAFKA_SETS, kidx_here, unpacked

CLEAN = KAFKA_SETS[0] / "clean"
FIRST, SECOND = "00000000000000000000", "00000000000000000190"


def found(directory: Path) -> Interval:
    partition = Partition(str(directory))
    return interval_of(partition, cluster_of([partition.log_dir]))


@pytest.fixture
def alone(tmp_path: Path) -> Path:
    """A partition without its log dir, so nothing but its entries shows the interval (1024)."""
    return Path(shutil.copytree(CLEAN / "plain-0", tmp_path / "plain-0"))


def test_the_topics_configuration_says_it() -> None:
    assert found(CLEAN / "plain-0") == Interval(1024, "the topic's configuration in __cluster_metadata", False)


def test_the_spacing_of_entries_shows_it(alone: Path) -> None:
    assert found(alone) == Interval(1024, "the spacing of the intact entries", True)


def test_one_wrong_entry_does_not_change_it(alone: Path) -> None:
    set_entry(alone / f"{FIRST}.index", 3, 54, 4300)
    assert found(alone).bytes == 1024


@pytest.mark.parametrize("name", ["plain-0", "txn-0"])
def test_the_spacing_of_other_versions_entries(name: str) -> None:
    for version in ("0.11.0.3", "1.1.1", "2.4.1"):
        (directory,) = (unpacked(f"kafka-{version}") / "clean").glob(f"*/{name}")
        assert found(directory).bytes == 512, version  # made with 512


def test_without_an_entry_it_is_kafkas_default(tmp_path: Path) -> None:
    (tmp_path / "plain-0").mkdir()
    shutil.copy(CLEAN / "plain-0" / f"{FIRST}.log", tmp_path / "plain-0")
    interval = found(tmp_path / "plain-0")
    assert (interval.bytes, interval.guessed) == (4096, True)


def test_in_place_replaces_the_wrong_and_the_missing_only(alone: Path) -> None:
    before = {f.name: f.read_bytes() for f in alone.iterdir()}
    set_entry(alone / f"{FIRST}.index", 3, 54, 4300)
    (alone / f"{SECOND}.timeindex").unlink()
    ran = kidx_here("rebuild", "--in-place", alone)
    lines = {Path(line.split(": ")[0]).name: line for line in ran.out.decode().splitlines()}
    assert ran.status == 0
    assert {name for name, line in lines.items() if ": written: " in line} == {f"{FIRST}.index", f"{SECOND}.timeindex"}
    assert all("sound, so left as it is" in line for line in lines.values() if "written" not in line)
    assert {f.name: f.read_bytes() for f in alone.iterdir() if f.is_file()} == before
    assert b"index.interval.bytes 1024, guessed from the spacing" in ran.err


def test_all_replaces_the_sound_ones_too(alone: Path) -> None:
    ran = kidx_here("rebuild", "--in-place", "--all", "--index-interval-bytes", 4096, alone)
    assert ran.out.count(b": written: ") == 4
    assert kidx_here("rebuild", "--all", "--output", alone / "x", alone).status == 2


def test_an_index_that_lost_all_its_entries_is_replaced(alone: Path) -> None:
    (alone / f"{FIRST}.index").write_bytes(b"")
    assert f"{FIRST}.index: written".encode() in kidx_here("rebuild", "--in-place", alone).out
    assert (alone / f"{FIRST}.index").read_bytes() == (CLEAN / "plain-0" / f"{FIRST}.index").read_bytes()


def test_a_broker_since_2_0_rebuilds_the_same_bytes(tmp_path: Path) -> None:
    """Indexes that brokers of these versions rebuilt themselves, all deleted before."""
    compared = 0
    for version in ("2.3.1", "2.4.1"):
        for partition in sorted((unpacked(f"kafka-{version}") / "reindexed").glob("*/txn*-*")):
            interval = 512 if partition.name == "txn-0" else 4096
            kidx_here("rebuild", partition, "--output", tmp_path / version, "--index-interval-bytes", interval)
            for file in (tmp_path / version / partition.name).iterdir():
                assert file.read_bytes() == (partition / file.name).read_bytes(), file
                compared += 1
    assert compared >= 16


def test_nothing_is_guessed_without_an_index_that_cannot_be_read(alone: Path) -> None:
    (alone / f"{SECOND}.index").unlink()
    (alone / f"{SECOND}.index").mkdir()
    before = sorted(alone.rglob("*"))
    ran = kidx_here("rebuild", "--in-place", "--all", alone)
    assert ran.status == UNREADABLE
    assert b"to rebuild without it, give --index-interval-bytes" in ran.err
    assert sorted(alone.rglob("*")) == before


def test_in_place_replaces_an_index_that_was_cut_between_entries(alone: Path) -> None:
    index = alone / f"{FIRST}.index"
    whole = index.read_bytes()
    index.write_bytes(whole[:-8])  # one entry less: brokers that got several batches at once leave such an index
    kidx_here("rebuild", "--in-place", alone, "--index-interval-bytes", 1024)
    assert index.read_bytes() == whole[:-8]
    index.write_bytes(whole[:8])
    ran = kidx_here("rebuild", "--in-place", alone, "--index-interval-bytes", 1024)
    assert f"{FIRST}.index: written".encode() in ran.out and index.read_bytes() == whole


def test_in_place_leaves_an_index_that_cannot_be_read(alone: Path) -> None:
    index = alone / f"{FIRST}.index"
    index.unlink()
    index.mkdir()
    ran = kidx_here("rebuild", "--in-place", alone, "--index-interval-bytes", 1024)
    assert ran.status == 3 and index.is_dir() and b"not a regular file" in ran.err


@pytest.mark.parametrize(
    ("least", "most", "likely"),
    [
        (4000, 5000, 4096),
        (900, 1900, 1024),
        (29_000, 31_000, 30_000),
        (900_000, 1_100_000, 1 << 20),
        (7, 7, 7),
        (-9, -1, 0),
    ]
    + [(d * 10**n - 1, d * 10**n + 1, d * 10**n) for n in (3, 6) for d in (3, 5)],
)
def test_the_likeliest_of_many_is_kafkas_default_or_the_largest_round_one(least: int, most: int, likely: int) -> None:
    assert _roundest(least, most) == likely


def test_the_source_of_an_interval_is_reported_once_for_each_directory(alone: Path) -> None:
    said: list[str] = []
    finder = IntervalFinder(cluster_of, report=said.append)
    for directory in (alone, CLEAN / "plain-0", alone):
        assert finder(str(directory)).bytes == 1024
    assert said == [
        "plain-0: index.interval.bytes 1024, guessed from the spacing of the intact entries; "
        "give --index-interval-bytes if you know better",
        "plain-0: index.interval.bytes 1024, from the topic's configuration in __cluster_metadata",
    ]
    asked = IntervalFinder(cluster_of, 77, said.append)
    assert asked(str(alone)) == Interval(77, "--index-interval-bytes", False) and len(said) == 2


def test_segments_that_are_no_log_or_cannot_be_read_leave_the_others_to_show_it(alone: Path) -> None:
    (alone / f"{SECOND}.index").unlink()
    (alone / f"{SECOND}.index").mkdir()
    interval = found(alone)
    assert interval.bytes == 1024 and len(interval.unread) == 1
