"""kidx diff: healthy replicas differ only as they may, and what may not be is found."""

from __future__ import annotations

import shutil
from itertools import combinations
from pathlib import Path

import pytest

from kidx.checks.replicas.compare import compare
from kidx.checks.replicas.comparison import Difference
from kidx.errors import CannotRead, UsageError
from tests import damage
from tests.checks.conftest import NEWEST
from tests.support import KAFKA_SETS, kidx_here, unpacked

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


def brokers() -> tuple[Path, Path]:
    """Two brokers' log dirs of 2.5.1; broker 2 was a follower, and caught up after broker 1 had cleaned."""
    one, two = sorted((unpacked("fleet-2.5.1") / "fleet").iterdir())
    return one, two


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


def test_a_follower_has_entries_of_its_own_for_later_batches() -> None:
    one, two = brokers()
    found = [d for d in compare(str(one), str(two)).differences if d.what == "index_entry"]
    assert {(d.where.split()[0], d.allowed) for d in found} == {("comp-0", True), ("orders-1", True)}


def test_a_follower_that_caught_up_after_a_cleaning_has_a_later_epoch_start() -> None:
    one, two = brokers()
    found = [d for d in compare(str(one), str(two)).differences if d.where == "comp-1 leader-epoch-checkpoint epoch 1"]
    assert [(d.left, d.right, d.allowed) for d in found] == [(99, 103, True)]


def test_an_epoch_that_starts_elsewhere_though_the_log_has_batches_there(tmp_path: Path) -> None:
    one, _ = brokers()
    copy = Path(shutil.copytree(one / "orders-0", tmp_path / "orders-0"))
    (copy / "leader-epoch-checkpoint").write_text("0\n2\n0 0\n1 130\n")
    assert [(d.what, d.left, d.right) for d in wrong(one / "orders-0", copy)] == [("epoch_start", 122, 130)]


def test_partitions_of_one_side_count_only_where_the_same_are_wanted() -> None:
    one, two = brokers()
    comparison = compare(str(one), str(two))
    assert not comparison.differ
    lone = {d.partition: d.left for d in comparison.differences if d.what == "partition"}
    assert lone == {"__transaction_state-0": True, "__transaction_state-1": False}
    assert compare(str(one), str(two), same_partitions=True).differ


def test_partitions_are_paired_across_disks(tmp_path: Path) -> None:
    one, two = brokers()
    for disk, name in (("d1", "orders-0"), ("d2", "orders-1")):
        shutil.copytree(one / name, tmp_path / disk / name)
    comparison = compare(str(tmp_path), str(two))
    assert [name for _, _, name in comparison.partitions] == ["orders-0", "orders-1"]


def test_the_first_line_says_where_they_diverge(replica: Path) -> None:
    log = replica / f"{NAME}.log"
    data = log.read_bytes()
    at = int.from_bytes(data[8:12], "big") + 12
    damage.set_header(log, at, leader_epoch=9)
    offset = int.from_bytes(data[at : at + 8], "big")
    ran = kidx_here("diff", NEWEST / "clean" / "plain-0", replica)
    first, second, *_ = ran.out.decode().splitlines()
    assert ran.status == 1
    assert first == f"diverges at offset {offset}: leader epoch 0 here, 9 there"
    assert second == f"    DIFFERS  leader_epoch: offset {offset}"


def test_three_replicas_and_the_one_that_stands_alone(tmp_path: Path) -> None:
    sides = [Path(shutil.copytree(NEWEST / "clean" / "plain-0", tmp_path / n / "plain-0")).parent for n in "abc"]
    damage.set_header(sides[1] / "plain-0" / f"{NAME}.log", 0, leader_epoch=9)
    ran = kidx_here("diff", *sides)
    lines = ran.out.decode().splitlines()
    a, b, c = sides
    assert ran.status == 1
    assert lines[0] == f"plain-0: {a} and {b} diverge at offset 0: leader epoch 0 in {a}, 9 in {b}"
    assert f"{b} stands alone: the other 2 agree" in lines
    rows = kidx_here("diff", *sides, "--format", "jsonl").rows[:-1]
    assert {(r["left_path"], r["right_path"]) for r in rows if not r["allowed"]} == {(str(a), str(b)), (str(b), str(c))}


def test_a_replica_without_the_first_batch_started_later(replica: Path) -> None:
    log = replica / f"{NAME}.log"
    size = int.from_bytes(log.read_bytes()[8:12], "big") + 12
    log.write_bytes(log.read_bytes()[size:])
    (found,) = compare(str(NEWEST / "clean" / "plain-0"), str(replica)).differences[:1]
    assert (found.what, found.allowed, found.offset) == ("log_start", True, 0)
