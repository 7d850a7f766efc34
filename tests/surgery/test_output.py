"""Output goes where it was sent, and never through links, onto or into evidence."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from kidx.errors import CannotRead, Refused, UsageError
from kidx.surgery.output import refuse_place, write_picture
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
