"""Batches of a log: place, expected and found of each finding, and healthy batches that look like it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kidx.checks.engine import log_range
from kidx.findings import ERROR, NOTE, WARNING
from kidx.formats.batches import Batch
from tests import damage
from tests.building import batch, record
from tests.checks.conftest import check, placed
from tests.checks.test_log_damage import batches
from tests.checks.test_windows import OneByOne

Copy = Callable[[str], Path]
NAME = f"{0:020d}"
Verb = Callable[[Path, Batch], object]
Place = tuple[object, ...]


def sealed(**fields: int) -> Verb:
    """A verb that sets fields of a batch's header and gives it the CRC that it has then."""

    def verb(log: Path, victim: Batch) -> object:
        damage.set_header(log, victim.position, **fields)
        return damage.fix_crc(log, victim.position)

    return verb


def of(code: str, at: Batch, expected: object = None, found: object = None) -> Place:
    return code, None, at.position, at.next_position, expected, found


def hole(code: str, at: int, expected: object, found: object) -> Place:
    """A finding at a batch's base offset field."""
    return code, None, at, at + 8, expected, found


def crc(log: Path, at: Batch) -> str:
    return f"{int.from_bytes(log.read_bytes()[at.position + 17 : at.position + 21], 'big'):08x} in the header"


CASES: dict[str, tuple[Verb, Callable[[Path, Batch, Batch, Batch], list[Place]]]] = {
    "a bit of a record": (
        lambda log, b: damage.flip_byte(log, b.next_position - 1, 1),
        lambda log, before, b, after: [of("KX301", b, None, crc(log, b))],
    ),
    "a bit of the CRC": (
        lambda log, b: damage.flip_byte(log, b.position + 20, 1),
        lambda log, before, b, after: [of("KX301", b, None, crc(log, b))],
    ),
    "base offset one less": (
        lambda log, b: damage.set_header(log, b.position, base_offset=b.base_offset - 1),
        lambda log, before, b, after: [
            of("KX305", b, b.base_offset, b.base_offset - 1),
            hole("KX306", after.position, after.base_offset - 1, after.base_offset),
        ],
    ),
    "base offset one more": (
        lambda log, b: damage.set_header(log, b.position, base_offset=b.base_offset + 1),
        lambda log, before, b, after: [
            hole("KX306", b.position, b.base_offset, b.base_offset + 1),
            of("KX305", after, after.base_offset + 1, after.base_offset),
        ],
    ),
    "last offset delta one less, and a record less": (
        lambda log, b: sealed(last_offset_delta=b.last_offset_delta - 1, record_count=b.record_count - 1)(log, b),
        lambda log, before, b, after: [hole("KX306", after.position, after.base_offset - 1, after.base_offset)],
    ),
    "count negative": (sealed(record_count=-1), lambda log, before, b, after: [of("KX307", b)]),
    "count one more than offsets": (
        lambda log, b: sealed(record_count=b.last_offset_delta + 2)(log, b),
        lambda log, before, b, after: [of("KX307", b)],
    ),
    "codec 5": (sealed(attributes=5), lambda log, before, b, after: [of("KX307", b)]),
    "transactional without a producer": (
        sealed(attributes=0x10, producer_id=-1),
        lambda log, before, b, after: [of("KX307", b)],
    ),
    "a leader epoch more": (
        lambda log, b: damage.set_header(log, b.position, leader_epoch=1),
        lambda log, before, b, after: [of("KX405", b, 0, 1), of("KX404", after, ">= 1", 0)],
    ),
}


@pytest.mark.parametrize(("verb", "wanted"), CASES.values(), ids=CASES)
def test_a_batch_that_no_broker_writes(
    copy: Copy, verb: Verb, wanted: Callable[[Path, Batch, Batch, Batch], list[Place]]
) -> None:
    log = copy("clean/plain-0") / f"{NAME}.log"
    every = batches(log)
    middle = len(every) // 2
    before, victim, after = every[middle - 1 : middle + 2]
    assert victim.record_count > 1
    verb(log, victim)
    found = [f for f in check(log.parent).findings if f.file == str(log)]
    places = sorted(wanted(log, before, victim, after), key=str)
    assert sorted(map(placed, found), key=str) == places
    assert all(f.severity == (WARNING if f.rule == "KX306" else ERROR) for f in found)


def partition_of(place: Path, *made: bytes, base: int = 0) -> Path:
    """A log alone."""
    log = place / f"{base:020d}.log"
    log.write_bytes(b"".join(made))
    return log


def two(**second: int) -> tuple[bytes, bytes]:
    fields = {"base_offset": 2} | second
    records = [record(0), record(1)]
    return batch(records), batch(records, **fields)  # type: ignore[arg-type]


SIDE_BY_SIDE: dict[str, tuple[tuple[bytes, ...], list[tuple[str, str]]]] = {
    "one after the other": (two(), []),
    "an offset missing": (two(base_offset=3), [("KX306", WARNING)]),
    "the same offset again": (two(base_offset=1), [("KX305", ERROR)]),
    "the same epoch": (two(leader_epoch=0), []),
    "a later epoch": (two(leader_epoch=1), []),
    "an offset that fits an index": (
        (two()[0], batch([record(0)], base_offset=2, last_offset_delta=2**31 - 3)),
        [],
    ),
    "an offset too far for an index": (
        (two()[0], batch([record(0)], base_offset=2, last_offset_delta=2**31 - 2)),
        [("KX309", ERROR)],
    ),
    "a batch that lost all records to compaction": ((two()[0], batch([], base_offset=2, last_offset_delta=4)), []),
    "fewer records than offsets": ((two()[0], batch([record(0)], base_offset=2, last_offset_delta=4)), []),
    "more records than offsets": (
        (two()[0], batch([record(0), record(0)], base_offset=2, last_offset_delta=0)),
        [("KX307", ERROR)],
    ),
    "a last offset before the base": (
        (two()[0], batch([record(0)], base_offset=2, last_offset_delta=-1)),
        [("KX307", ERROR)],
    ),
    "a timestamp of the year 2100": (two(base_timestamp=4_102_444_800_000), [("KX311", NOTE)]),
    "no epoch": (two(leader_epoch=-1), []),
    "no timestamp": (two(base_timestamp=-1), []),
}


@pytest.mark.parametrize(("made", "wanted"), SIDE_BY_SIDE.values(), ids=SIDE_BY_SIDE)
def test_two_batches(tmp_path: Path, made: tuple[bytes, ...], wanted: list[tuple[str, str]]) -> None:
    log = partition_of(tmp_path, *made)
    assert [(f.rule, f.severity) for f in check(log).findings] == wanted


@pytest.mark.parametrize(("delta", "wanted"), [(9, []), (10, ["KX310"])])
def test_the_next_segment_bounds_this_one(tmp_path: Path, delta: int, wanted: list[str]) -> None:
    partition_of(tmp_path, batch([record(0)], base_offset=10), base=10)
    log = partition_of(tmp_path, batch([record(0)], last_offset_delta=delta))
    found = [f for f in check(tmp_path).findings if f.file == str(log)]
    assert [f.rule for f in found] == wanted
    if wanted:
        assert placed(found[0]) == ("KX310", None, 0, log.stat().st_size, None, [0, 10])


def test_a_batch_before_its_segment(tmp_path: Path) -> None:
    log = partition_of(tmp_path, batch([record(0), record(1)], base_offset=9), base=10)
    (found,) = check(log).findings
    assert (found.rule, found.byte_start, found.found) == ("KX310", 0, [9, 10])


@pytest.mark.parametrize("cut", [1, 20, 61])
def test_a_log_that_ends_inside_its_last_batch(copy: Copy, cut: int) -> None:
    log = copy("clean/mixed-0") / f"{NAME}.log"
    last = batches(log)[-1]
    damage.shrink(log, cut)
    end = log.stat().st_size
    (found,) = check(log).findings
    assert placed(found) == ("KX302", None, last.position, end, None, end - last.position)


@pytest.mark.parametrize("length", [1, 10, 16])
def test_a_header_that_has_only_begun(copy: Copy, length: int) -> None:
    log = copy("clean/mixed-0") / f"{NAME}.log"
    size = log.stat().st_size
    damage.append_garbage(log, bytes([0] * 7 + [1] * 10)[:length])
    (found,) = [f for f in check(log).findings if f.rule != "KX312"]
    assert placed(found) == ("KX302", None, size, size + length, None, length)


def test_bytes_after_the_last_batch(copy: Copy) -> None:
    log = copy("clean/mixed-0") / f"{NAME}.log"
    size = log.stat().st_size
    damage.append_garbage(log, b"\xff" * 80)
    assert [placed(f) for f in check(log).findings] == [("KX304", None, size, size + 80, None, 80)]


def test_zeros_after_the_last_batch_are_a_note(copy: Copy) -> None:
    log = copy("clean/mixed-0") / f"{NAME}.log"
    size = log.stat().st_size
    damage.zero_tail(log, size + 4096)
    (found,) = check(log).findings
    assert (placed(found), found.severity) == (("KX312", None, size, size + 4096, None, 4096), NOTE)


def test_bytes_of_no_batch_between_batches(copy: Copy) -> None:
    log = copy("clean/plain-0") / f"{NAME}.log"
    victim = batches(log)[7]
    for length in (b"\x7f\xff\xff\xff", b"\0\0\0\x30", b"\xff\xff\xff\xff"):
        damage.overwrite(log, victim.position + 8, length)
        (found,) = check(log).findings
        assert placed(found) == of("KX303", victim, None, victim.size)


def test_a_timestamp_more_than_a_day_from_now(tmp_path: Path) -> None:
    first, second = two(base_timestamp=4_102_444_800_000)
    third = batch([record(0)], base_offset=4, base_timestamp=4_202_444_800_000)
    log = partition_of(tmp_path, first, second, third)
    (found,) = check(log).findings
    header = len(first), len(first) + 43  # up to its largest timestamp
    assert placed(found) == (
        "KX311",
        None,
        *header,
        None,
        {"timestamp": 4_102_444_800_000, "held_bytes": log.stat().st_size},
    )
    assert found.file == str(log)


HEADERS: dict[str, tuple[dict[str, object], str | None]] = {
    "a transaction": ({"attributes": 0x10, "producer": (0, 0, 0)}, None),
    "a transaction without a producer": (
        {"attributes": 0x10}, "2 records, codec 0, transactional of producer -1, which cannot be"
    ),
    "a marker of two records": (
        {"attributes": 0x30, "producer": (7, 0, -1)},
        "2 records, codec 0, transactional and control of producer 7, which cannot be",
    ),
    "a marker of one offset": ({"attributes": 0x30, "producer": (7, 0, -1), "records": 1}, None),
    "a marker of two offsets": (
        {"attributes": 0x30, "producer": (7, 0, -1), "records": 1, "last_offset_delta": 1},
        "1 records, codec 0, transactional and control of producer 7, which cannot be",
    ),
    "a marker outside a transaction": (
        {"attributes": 0x20, "producer": (0, 0, -1), "records": 1},
        "1 records, codec 0, control of producer 0, which cannot be",
    ),
    "KRaft's own control records": ({"attributes": 0x20}, None),
    "a count of 1 and no offsets": (
        {"last_offset_delta": -1, "records": 1}, "last offset delta -1, 1 records, codec 0, which cannot be"
    ),
    "codec 4": ({"attributes": 4}, None),
    "codec 5": ({"attributes": 5}, "2 records, codec 5, which cannot be"),
}  # fmt: skip


@pytest.mark.parametrize(("fields", "said"), HEADERS.values(), ids=HEADERS)
def test_a_header_that_contradicts_itself(tmp_path: Path, fields: dict[str, object], said: str | None) -> None:
    fields = dict(fields)
    records = [record(n) for n in range(int(fields.pop("records", 2)))]  # type: ignore[call-overload]
    log = partition_of(tmp_path, batch(records, **fields))  # type: ignore[arg-type]
    found = [f for f in check(log).findings if f.rule == "KX307"]
    assert [placed(f) for f in found] == ([("KX307", None, 0, log.stat().st_size, None, None)] if said else [])
    assert said is None or found[0].message.endswith(said)


def test_a_base_offset_below_0(tmp_path: Path) -> None:
    """It is outside the CRC."""
    log = partition_of(tmp_path, batch([record(0)], base_offset=-1))
    assert [f.rule for f in check(log).findings] == ["KX307"]


EPOCHS: dict[str, tuple[list[int], str, list[tuple[int, str, object, object]]]] = {
    "the same": ([3, 3, 3], "", []),
    "rising": ([3, 4, 4], "", []),
    "falling": ([3, 2, 2], "", [(1, "KX404", ">= 3", 2)]),
    "falling to 0": ([3, 0, 0], "", [(1, "KX404", ">= 3", 0)]),
    "falling after one that has none": ([3, -1, 2], "", [(2, "KX404", ">= 3", 2)]),
    "falling twice": ([3, 2, 1], "", [(1, "KX404", ">= 3", 2), (2, "KX404", ">= 2", 1)]),
    "as in the file": ([3, 3, 4], "3 0\n4 2\n", []),
    "one more than in the file": ([3, 3, 4], "3 0\n", [(2, "KX405", 3, 4)]),
    "one less than in the file": ([3, 3, 3], "3 0\n4 2\n", [(2, "KX405", 4, 3)]),
    "all other than in the file": ([3, 3, 3], "4 0\n", [(n, "KX405", 4, 3) for n in range(3)]),
    "before the file's first line": ([3, 3, 4], "4 2\n", []),
    "before the file's first line, and wrong after it": ([3, 3, 3], "4 2\n", [(2, "KX405", 4, 3)]),
    "begins an offset too late in the file": ([3, 4, 4], "3 0\n4 2\n", [(1, "KX405", 3, 4)]),
    "of the first of two lines": ([3, 3, 3], "3 0\n4 3\n", []),
    "epoch 0 against none": ([-1, -1, -1], "3 0\n", []),
}


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize(("epochs", "lines", "wanted"), EPOCHS.values(), ids=EPOCHS)
def test_leader_epochs(
    tmp_path: Path,
    epochs: list[int],
    lines: str,
    wanted: list[tuple[int, str, object, object]],
    apart: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In one window, and in a window a batch."""
    if apart:
        monkeypatch.setattr(log_range, "scan", OneByOne)
    made = [batch([record(0)], base_offset=n, leader_epoch=epoch) for n, epoch in enumerate(epochs)]
    log = partition_of(tmp_path, *made)
    if lines:
        (tmp_path / "leader-epoch-checkpoint").write_text(f"0\n{lines.count(chr(10))}\n{lines}")
    size = len(made[0])
    assert [placed(f) for f in check(tmp_path).findings if f.file == str(log)] == [
        (code, None, n * size, (n + 1) * size, expected, found) for n, code, expected, found in wanted
    ]


def test_an_epoch_that_a_leader_began_since_is_no_finding_of_a_live_directory(tmp_path: Path) -> None:
    partition_of(tmp_path, *(batch([record(0)], base_offset=n, leader_epoch=4 + n) for n in range(2)))
    lines = tmp_path / "leader-epoch-checkpoint"
    for text, live, wanted in (
        ("4 0\n", True, 0), ("4 0\n", False, 1), ("4 0\n6 1\n", True, 1), ("3 0\n5 1\n", True, 1), ("3 0\n", True, 0)
    ):  # fmt: skip
        lines.write_text(f"0\n{text.count(chr(10))}\n{text}")
        assert len([f for f in check(tmp_path, live=live).findings if f.rule == "KX405"]) == wanted, (text, live)


def test_a_batch_without_its_crc_has_no_epoch(tmp_path: Path) -> None:
    damaged = bytearray(batch([record(0)], base_offset=1, leader_epoch=9))
    damaged[-1] ^= 1
    first, last = (batch([record(0)], base_offset=n, leader_epoch=3) for n in (0, 2))
    log = partition_of(tmp_path, first, bytes(damaged), last)
    assert [f.rule for f in check(log).findings] == ["KX301"]


def test_a_batch_whose_offset_belongs_to_another_epoch_than_those_around_it(tmp_path: Path) -> None:
    made = [batch([record(0)], base_offset=n, leader_epoch=3) for n in (0, 50, 2)]
    log = partition_of(tmp_path, *made)
    (tmp_path / "leader-epoch-checkpoint").write_text("0\n2\n3 0\n4 40\n")
    size = len(made[0])
    assert [placed(f) for f in check(tmp_path).findings if f.file == str(log) and f.rule == "KX405"] == [
        ("KX405", None, size, 2 * size, 4, 3)
    ]
