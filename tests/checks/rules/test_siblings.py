"""Files that a segment has and should not, or should have: in a directory at rest and in one that a broker writes."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from kidx.checks.engine.discovery import findings_about
from kidx.checks.subjects.partitions import Listing
from kidx.findings import limited
from kidx.logdir.tree import Partition
from tests.building import batch, record
from tests.checks.conftest import check

INDEXES = (".index", ".timeindex")


def listed(place: Path, names: list[str], *, live: bool) -> list[tuple[str, str, object]]:
    """Rule, file and expected of what is found in a listing of these names."""
    partition = Partition(str(place), [SimpleNamespace(name=name) for name in names])
    return [(f.rule, Path(f.file).name, f.expected) for f in limited(findings_about(Listing(partition, live)))]


def names_of(base: int, *suffixes: str) -> list[str]:
    return [f"{base:020d}{suffix}" for suffix in suffixes]


FIRST, SECOND = (f"{base:020d}" for base in (100, 200))


@pytest.mark.parametrize("live", [False, True])
def test_a_missing_file_is_found_in_a_live_directory_too(tmp_path: Path, live: bool) -> None:
    names = [*names_of(100, *INDEXES), *names_of(200, ".log", ".index"), *names_of(300, ".log", *INDEXES)]
    for name in names:
        (tmp_path / name).write_bytes(b"x")
    assert listed(tmp_path, names, live=live) == [
        ("KX501", f"{FIRST}.index", ".log"),
        ("KX501", f"{FIRST}.timeindex", ".log"),
        ("KX502", f"{SECOND}.log", ".timeindex"),
    ]


def test_indexes_of_a_segment_that_is_being_deleted_are_none_of_a_living_one(tmp_path: Path) -> None:
    names = [*names_of(100, ".log.deleted", ".index.deleted"), *names_of(200, ".log")]
    assert listed(tmp_path, names, live=False) == []
    assert listed(tmp_path, names_of(100, ".index.deleted") + names_of(200, ".log"), live=False) == []
    assert listed(tmp_path, names_of(100, *INDEXES), live=False) == []


def test_an_empty_active_segment_gets_its_indexes_later(tmp_path: Path) -> None:
    for base, made in ((100, batch([record(0)], base_offset=100)), (200, b"")):
        (tmp_path / f"{base:020d}.log").write_bytes(made)
        if base == 100:
            for suffix in INDEXES:
                (tmp_path / f"{base:020d}{suffix}").touch()
    assert [f.rule for f in check(tmp_path).findings if f.rule == "KX502"] == []
    (tmp_path / f"{SECOND}.log").write_bytes(batch([record(0)], base_offset=200))
    missing = [(f.rule, Path(f.file).name, f.expected) for f in check(tmp_path).findings if f.rule == "KX502"]
    assert missing == [("KX502", f"{SECOND}.log", suffix) for suffix in INDEXES]
    for suffix in INDEXES:
        (tmp_path / f"{SECOND}{suffix}").touch()
        (tmp_path / f"{FIRST}{suffix}").unlink()
    (tmp_path / f"{FIRST}.log").write_bytes(b"")  # empty, but no active one
    assert [Path(f.file).name for f in check(tmp_path).findings if f.rule == "KX502"] == [f"{FIRST}.log"] * 2


def test_an_active_log_that_is_gone_is_not_known_to_be_empty(tmp_path: Path) -> None:
    names = [*names_of(100, ".log", *INDEXES), *names_of(200, ".log")]
    assert listed(tmp_path, names, live=False) == [("KX502", f"{SECOND}.log", suffix) for suffix in INDEXES]
    assert listed(tmp_path, names, live=True) == []
