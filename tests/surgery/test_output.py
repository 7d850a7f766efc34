"""Output goes where it was sent, and never through links, onto or into evidence."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from kidx.errors import CannotRead, KidxError, Refused, UsageError
from kidx.surgery.index_interval import Interval
from kidx.surgery.output import refuse_place, write_picture
from kidx.surgery.steps import rebuild_steps
from tests.support import KAFKA_SETS
from tests.surgery.support import INDEX, listing

SVG = '<svg xmlns="http://www.w3.org/2000/svg"/>'


def test_a_picture_is_written_and_written_again(tmp_path: Path) -> None:
    path = tmp_path / "a.svg"
    write_picture(str(path), SVG + "\n" * 100)
    write_picture(str(path), SVG)
    assert path.read_text() == SVG
    (tmp_path / "empty").touch()
    write_picture(str(tmp_path / "empty"), SVG)


@pytest.mark.parametrize("kind", ["link", "dangling link", "hard link", "fifo", "directory", "other file", "index"])
def test_nothing_else_is_written_over(tmp_path: Path, kind: str) -> None:
    (tmp_path / "precious").write_bytes(b"precious")
    place = tmp_path / "out"
    place.mkdir()
    path = place / (INDEX if kind == "index" else "a.svg")
    if kind == "link":
        path.symlink_to(tmp_path / "precious")
    elif kind == "dangling link":
        path.symlink_to(tmp_path / "nowhere")
    elif kind == "hard link":
        path.hardlink_to(tmp_path / "precious")
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "directory":
        path.mkdir()
    elif kind == "other file":
        path.write_bytes(b"precious")
    there = listing(tmp_path)
    with pytest.raises((UsageError, CannotRead)):
        write_picture(str(path), SVG)
    assert listing(tmp_path) == there


@pytest.mark.parametrize("name", [INDEX, "meta.properties", "00000000000000000007.log.deleted"])
def test_nothing_is_drawn_among_kafkas_files(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    (tmp_path / "link").symlink_to(tmp_path)
    for path in (tmp_path / "a.svg", tmp_path / "link" / "a.svg"):
        with pytest.raises(UsageError, match="Kafka's files are in that directory"):
            write_picture(str(path), SVG)
    assert sorted(os.listdir(tmp_path)) == sorted([name, "link"])


def test_an_empty_partition_of_a_log_dir_is_evidence(tmp_path: Path) -> None:
    (tmp_path / "meta.properties").touch()
    (tmp_path / "orders-0").mkdir()
    with pytest.raises(UsageError):
        write_picture(str(tmp_path / "orders-0" / "a.svg"), SVG)


def test_places_for_output(tmp_path: Path) -> None:
    source = tmp_path / "logs" / "plain-0"
    source.mkdir(parents=True)
    (source / INDEX).touch()
    (tmp_path / "link").symlink_to(source)
    refuse_place(str(tmp_path / "out" / "deep"), [str(source)])
    for place in (source, source.parent, tmp_path, source / "new", tmp_path / "link", tmp_path / "link" / "new"):
        with pytest.raises(Refused, match="is, contains or lies in"):
            refuse_place(str(place), [str(source)])
    shutil.copytree(source, tmp_path / "other-0")
    with pytest.raises(Refused, match="Kafka's files are there"):
        refuse_place(str(tmp_path / "other-0" / "out"), [str(source)])


def test_a_picture_of_two_names_is_not_written_over(tmp_path: Path) -> None:
    path = tmp_path / "a.svg"
    write_picture(str(path), SVG)
    (tmp_path / "b.svg").hardlink_to(path)
    with pytest.raises(UsageError, match="not a plain file of one name"):
        write_picture(str(path), SVG + "\n")
    assert path.read_text() == SVG


def test_the_working_directory_may_hold_evidence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_picture("a.svg", SVG)
    (tmp_path / INDEX).touch()
    with pytest.raises(UsageError, match="Kafka's files are in that directory"):
        write_picture("b.svg", SVG)


def test_no_descriptor_stays_open(tmp_path: Path) -> None:
    def descriptors() -> int:
        return len(os.listdir("/proc/self/fd"))

    before = descriptors()
    write_picture(str(tmp_path / "a.svg"), SVG)
    assert descriptors() == before
    (tmp_path / "other").write_bytes(b"precious")
    with pytest.raises(UsageError):
        write_picture(str(tmp_path / "other"), SVG)
    assert descriptors() == before


@pytest.mark.parametrize("output", [".", "plain-0", "plain-0/new"])
def test_new_indexes_never_come_among_those_that_are_read(tmp_path: Path, output: str) -> None:
    shutil.copytree(KAFKA_SETS[0] / "clean/plain-0", tmp_path / "plain-0")
    there, failures = listing(tmp_path), []
    steps = rebuild_steps(
        [str(tmp_path / "plain-0")],
        str(tmp_path / output),
        failures.append,
        interval_of=lambda _: Interval(1024, "", False),
    )
    assert list(steps) == [] and listing(tmp_path) == there
    assert failures and all("it is, contains or lies in what is read" in str(failure) for failure in failures)


def test_partitions_of_one_name_do_not_share_an_output_directory(tmp_path: Path) -> None:
    failures: list[KidxError] = []
    for place in "ab":
        shutil.copytree(KAFKA_SETS[0] / "clean/empty-0", tmp_path / place / "empty-0")
    paths = [str(tmp_path / place / "empty-0") for place in "ab"]
    steps = rebuild_steps(
        paths, str(tmp_path / "new"), failures.append, interval_of=lambda _: Interval(1024, "", False)
    )
    assert {os.path.dirname(step.change.path) for step in steps} == {str(tmp_path / "new" / "empty-0")}
    (failure,) = failures
    assert str(failure).startswith(f"{paths[1]}: {paths[0]} has the same name below")
