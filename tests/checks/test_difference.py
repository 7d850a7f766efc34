"""kidx diff: healthy replicas differ only as they may, and what may not be is found."""

from __future__ import annotations

import shutil
from itertools import combinations
from pathlib import Path

import pytest

from kidx.checks.compared import Difference
from kidx.checks.difference import compare
from kidx.errors import CannotRead, UsageError
from tests import damage
from tests.checks.conftest import NEWEST
from tests.support import KAFKA_SETS

FLEETS = [root / "fleet" for root in KAFKA_SETS if (root / "fleet").is_dir()]
NAME = f"{0:020d}"


def wrong(left: Path, right: Path) -> list[Difference]:
    """The differences that may not be."""
    compared = compare(str(left), str(right))
    assert compared.checked.unread == []
    return [d for d in compared.differences if not d.allowed]


@pytest.fixture
def replica(tmp_path: Path) -> Path:
    return Path(shutil.copytree(NEWEST / "clean" / "plain-0", tmp_path / "plain-0"))


@pytest.mark.parametrize("fleet", FLEETS, ids=lambda p: p.parent.name)
def test_healthy_replicas_differ_only_as_they_may(fleet: Path) -> None:
    for left, right in combinations(sorted(fleet.iterdir()), 2):
        assert wrong(left, right) == []


def test_a_partition_is_itself_and_a_cleaned_one_may_lack_records(replica: Path) -> None:
    assert compare(str(NEWEST / "clean" / "plain-0"), str(replica)).differences == []
    before, after = NEWEST / "compaction" / "before", NEWEST / "compaction" / "after"
    assert wrong(before, after) == []
    assert {d.what for d in compare(str(before), str(after)).differences} >= {"batches", "batch_records"}


def test_a_replica_that_is_behind_or_started_later_may(replica: Path) -> None:
    last = sorted(replica.glob("*.log"))[-1]
    for file in replica.glob(f"{last.stem}.*"):
        file.unlink()
    found = compare(str(NEWEST / "clean" / "plain-0"), str(replica)).differences
    assert {d.what for d in found} == {"segments", "log_end", "file"}
    assert all(d.allowed for d in found)


@pytest.mark.parametrize(
    ("what", "verb"),
    [
        ("batch", lambda log: damage.flip_byte(log, 200, 1)),
        ("leader_epoch", lambda log: damage.set_header(log, 0, leader_epoch=9)),
    ],
)
def test_other_content_is_found(replica: Path, what: str, verb: object) -> None:
    verb(replica / f"{NAME}.log")  # type: ignore[operator]
    found = wrong(NEWEST / "clean" / "plain-0", replica)
    assert {d.what for d in found} <= {what, "record"}
    assert found


def test_a_missing_batch_is_found_where_nothing_was_compacted(replica: Path) -> None:
    log = replica / f"{NAME}.log"
    data = log.read_bytes()
    first = int.from_bytes(data[8:12], "big") + 12
    second = first + int.from_bytes(data[first + 8 : first + 12], "big") + 12
    log.write_bytes(data[:first] + data[second:])
    assert [d.what for d in wrong(NEWEST / "clean" / "plain-0", replica)] == ["batches"]


def test_an_entry_of_one_side_alone_that_the_others_neighbours_contradict(replica: Path) -> None:
    index = replica / f"{NAME}.index"
    offset, position = damage.entry(index, 4)
    damage.set_entry(index, 4, 12, position)
    pristine = NEWEST / "clean" / "plain-0" / index.name
    assert [one.where for one in wrong(pristine, index)] == [f"{index.name} offset 12"]
    assert [one.where for one in wrong(index, pristine)] == [f"{index.name} offset 12"]
    assert offset != 12


def test_index_entries_that_contradict_each_other(replica: Path) -> None:
    index = replica / f"{NAME}.index"
    offset, position = damage.entry(index, 2)
    damage.set_entry(index, 2, offset, position + 1)
    (found,) = wrong(NEWEST / "clean" / "plain-0" / index.name, index)
    assert (found.what, found.left["position"], found.right["position"]) == ("index_entry", position, position + 1)


def test_text_files(replica: Path) -> None:
    (replica / "partition.metadata").write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA\n")
    assert [d.what for d in wrong(NEWEST / "clean" / "plain-0", replica)] == ["topic_id"]


def test_what_cannot_be_compared_is_refused(replica: Path) -> None:
    with pytest.raises(UsageError, match="a file and a directory"):
        compare(str(replica), str(replica / f"{NAME}.log"))
    with pytest.raises(UsageError, match="different kinds"):
        compare(str(replica / f"{NAME}.log"), str(replica / f"{NAME}.index"))
    with pytest.raises(CannotRead):
        compare(str(replica / "missing.index"), str(replica / f"{NAME}.index"))


@pytest.mark.parametrize(
    ("name", "left"),
    [("*.snapshot", 3), ("*.snapshot", -1), ("leader-epoch-checkpoint", 3), ("partition.metadata", 3)],
)
def test_a_damaged_small_file_is_no_difference_and_not_passed_over(replica: Path, name: str, left: int) -> None:
    file = sorted(replica.glob(name))[-1]
    file.write_bytes(file.read_bytes()[:left])
    compared = compare(str(NEWEST / "clean" / "plain-0"), str(replica))
    assert compared.differences == []
    assert len(compared.checked.unread) == 1 and compared.checked.unread[0].startswith(f"{file}: ")
    assert [(s.what, s.why) for s in compared.checked.coverage.skipped] == [(str(file), "it is damaged")]


def test_one_that_is_not_there(replica: Path) -> None:
    with pytest.raises(CannotRead, match="nowhere: no such file or directory"):
        compare(str(replica), str(replica / "nowhere"))
