"""Segments, their siblings, transaction indexes, snapshots, epochs and small files of a partition."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kidx.findings import ERROR, NOTE, WARNING, Finding
from kidx.formats.indexes import TRANSACTION_INDEX
from kidx.formats.producer_snapshot import parse_snapshot, snapshot_bytes
from tests import damage
from tests.checks.conftest import check, placed
from tests.checks.test_log_damage import batches

Copy = Callable[[str], Path]
NAME = f"{0:020d}"
WIDTH = 34


def other_than(checked_rule: str, findings: list[Finding]) -> list[Finding]:
    return [f for f in findings if f.rule != checked_rule]


@pytest.fixture
def txn(copy: Copy) -> Path:
    return copy("clean/txn-0")


def transaction(path: Path, slot: int) -> dict[str, int]:
    names = [f.name for f in TRANSACTION_INDEX.fields]
    return dict(zip(names, damage.entry(path, slot), strict=True))


def set_transaction(path: Path, slot: int, **fields: int) -> None:
    damage.set_entry(path, slot, *(transaction(path, slot) | fields).values())


Verb = Callable[[dict[str, int], dict[str, int]], dict[str, int]]  # the entry before, the entry, what changes
ALONE: dict[str, tuple[Verb, str, Callable[[dict[str, int], dict[str, int]], tuple[object, object]]]] = {
    "version 1": (lambda before, t: {"version": 1}, "KX115", lambda before, t: ("0", 1)),
    "version -1": (lambda before, t: {"version": -1}, "KX115", lambda before, t: ("0", -1)),
    "last offset as before": (
        lambda before, t: {"last_offset": before["last_offset"]},
        "KX116",
        lambda before, t: (f"> {before['last_offset']}", before["last_offset"]),
    ),
    "producer -1": (lambda before, t: {"producer_id": -1}, "KX117", lambda before, t: (">= 0", -1)),
    "first offset -1": (lambda before, t: {"first_offset": -1}, "KX117", lambda before, t: (">= 0", -1)),
    "begins after its marker": (
        lambda before, t: {"first_offset": t["last_offset"] + 1},
        "KX117",
        lambda before, t: (f"<= {t['last_offset']}", t["last_offset"] + 1),
    ),
    "stable past its marker": (
        lambda before, t: {"last_stable_offset": t["last_offset"] + 2},
        "KX117",
        lambda before, t: (f"<= {t['last_offset']} + 1", t["last_offset"] + 2),
    ),
    "stable offset falls": (
        lambda before, t: {"last_stable_offset": before["last_stable_offset"] - 1},
        "KX117",
        lambda before, t: (f">= {before['last_stable_offset']}", before["last_stable_offset"] - 1),
    ),
}


def alone(txn: Path) -> Path:
    for file in txn.iterdir():
        if file.name != f"{NAME}.txnindex":
            file.unlink()
    return txn / f"{NAME}.txnindex"


@pytest.mark.parametrize(("verb", "code", "said"), ALONE.values(), ids=ALONE)
def test_a_transaction_that_no_broker_lists(
    txn: Path, verb: Verb, code: str, said: Callable[[dict[str, int], dict[str, int]], tuple[object, object]]
) -> None:
    index, slot = alone(txn), 3
    before, there = transaction(index, slot - 1), transaction(index, slot)
    set_transaction(index, slot, **verb(before, there))
    (found,) = check(index).findings
    assert placed(found) == (code, slot, slot * WIDTH, (slot + 1) * WIDTH, *said(before, there))
    assert found.severity == ERROR


LOOK_ALIKE: dict[str, Verb] = {
    "last offset one more than before": lambda before, t: {
        "last_offset": before["last_offset"] + 1, "first_offset": 0, "last_stable_offset": before["last_stable_offset"]
    },
    "producer 0": lambda before, t: {"producer_id": 0},
    "first offset 0": lambda before, t: {"first_offset": 0},
    "begins with its marker, as 1.0 to 2.4 rebuild it": lambda before, t: {"first_offset": t["last_offset"]},
    "begins just before its marker": lambda before, t: {"first_offset": t["last_offset"] - 1},
    "stable offset as before": lambda before, t: {"last_stable_offset": before["last_stable_offset"]},
}  # fmt: skip


@pytest.mark.parametrize("verb", LOOK_ALIKE.values(), ids=LOOK_ALIKE)
def test_a_transaction_that_a_broker_may_list(txn: Path, verb: Verb) -> None:
    index, slot = alone(txn), 3
    before = index.read_bytes()
    set_transaction(index, slot, **verb(transaction(index, slot - 1), transaction(index, slot)))
    assert index.read_bytes() != before
    assert check(index).findings == []


def test_the_last_stable_offset_may_be_the_one_after_the_marker(txn: Path) -> None:
    index = alone(txn)
    last = index.stat().st_size // WIDTH - 1
    set_transaction(index, last, last_stable_offset=transaction(index, last)["last_offset"] + 1)
    assert check(index).findings == []


def test_a_torn_transaction_index(txn: Path) -> None:
    index = alone(txn)
    size = index.stat().st_size
    damage.append_garbage(index, b"\1")
    assert [placed(f) for f in check(index).findings] == [("KX101", size // WIDTH, size, size + 1, WIDTH, 1)]


def test_zeros_in_a_transaction_index_are_never_preallocation(txn: Path) -> None:
    index = alone(txn)
    size = index.stat().st_size
    damage.zero_tail(index, size + 2 * WIDTH)
    slot = size // WIDTH
    (found,) = check(index).findings
    assert placed(found) == ("KX102", slot, size, size + 2 * WIDTH, None, 2)
    assert found.message.endswith("2 entries of nothing but zeros; this index is never preallocated")


def test_an_empty_transaction_index_is_a_note(copy: Copy) -> None:
    empty = copy("clean/plain-0") / f"{NAME}.txnindex"
    empty.touch()
    (found,) = check(empty.parent).findings
    assert (placed(found), found.severity) == (("KX114", None, None, None, None, 0), NOTE)


def test_an_abort_that_the_index_does_not_list(txn: Path) -> None:
    index = txn / f"{NAME}.txnindex"
    lost = transaction(index, 1)
    damage.remove_entry(index, 1)
    (found,) = other_than("KX403", check(txn).findings)
    assert (found.rule, found.file, found.slot, found.found) == ("KX401", str(index), None, None)
    for name in ("producer_id", "first_offset", "last_offset", "last_stable_offset"):
        assert found.expected[name] == lost[name]


@pytest.mark.parametrize(
    ("field", "off"), [("producer_id", 1), ("first_offset", -1), ("first_offset", 1), ("last_stable_offset", -1)]
)
def test_a_listed_abort_that_is_not_the_logs(txn: Path, field: str, off: int) -> None:
    index, slot = txn / f"{NAME}.txnindex", 3
    there = transaction(index, slot)
    set_transaction(index, slot, **{field: there[field] + off})
    found = other_than("KX403", check(txn).findings)
    (wrong,) = [f for f in found if f.rule == "KX402"]
    assert placed(wrong)[1:4] == (slot, slot * WIDTH, (slot + 1) * WIDTH)
    assert wrong.found[field] == there[field] + off and wrong.expected[field] == there[field]
    assert [f.rule for f in found if f is not wrong] in ([], ["KX401"])


def test_an_open_transaction_is_a_note_that_names_its_producer(txn: Path) -> None:
    (found,) = check(txn).findings
    producers = parse_snapshot(max(txn.glob("*.snapshot")).read_bytes()).producers
    (producer,) = [p for p in producers if p.current_txn_first_offset >= 0]
    assert (found.rule, found.severity) == ("KX403", NOTE)
    first = {"producer_id": producer.producer_id, "first_offset": producer.current_txn_first_offset}
    assert found.found.items() >= {**first, "producer_epoch": producer.producer_epoch}.items()
    assert f"abort --topic txn --partition 0 --start-offset {first['first_offset']}" in found.message


def test_a_snapshot_that_its_crc_does_not_cover(txn: Path) -> None:
    snapshot = max(txn.glob("*.snapshot"))
    size = snapshot.stat().st_size
    damage.flip_byte(snapshot, -1)
    crc = f"{int.from_bytes(snapshot.read_bytes()[2:6], 'big'):08x}"
    (found,) = other_than("KX403", check(txn).findings)
    assert placed(found) == ("KX406", None, 2, size, None, crc)


def test_a_snapshot_too_short_for_its_header(txn: Path) -> None:
    snapshot = max(txn.glob("*.snapshot"))
    snapshot.write_bytes(snapshot.read_bytes()[:9])
    (found,) = other_than("KX403", check(txn).findings)
    assert placed(found) == ("KX406", None, 0, 9, None, 9)


@pytest.mark.parametrize(
    "fields",
    [{"last_sequence": 1}, {"last_offset": 1}, {"producer_epoch": 1}, {"current_txn_first_offset": 250}],
    ids=lambda fields: next(iter(fields)),
)
def test_a_snapshot_that_says_what_the_log_does_not(txn: Path, fields: dict[str, int]) -> None:
    path = max(txn.glob("*.snapshot"))
    producers = parse_snapshot(path.read_bytes()).producers
    wrong = producers[0]._replace(**{name: getattr(producers[0], name) + by for name, by in fields.items()})
    path.write_bytes(snapshot_bytes([wrong, *producers[1:]]))
    found = other_than("KX403", check(txn).findings)
    assert {f.rule for f in found} == {"KX407"} and all(f.file == str(path) for f in found)
    assert (found[0].slot, found[0].byte_start, found[0].found) == (0, 10, wrong._asdict())
    path.write_bytes(snapshot_bytes(producers))
    assert other_than("KX403", check(txn).findings) == []


def test_an_epoch_that_begins_at_another_offset(copy: Copy) -> None:
    partition = copy("clean/plain-0")
    first, second, *_ = batches(partition / f"{NAME}.log")
    epochs = partition / "leader-epoch-checkpoint"
    epochs.write_text(f"0\n2\n0 0\n1 {second.base_offset}\n")
    found = check(partition).findings
    assert {f.rule for f in found} == {"KX405"}
    assert placed(found[0]) == ("KX405", None, second.position, second.next_position, 1, 0)
    assert first.position not in {f.byte_start for f in found if f.file.endswith(f"{NAME}.log")}


@pytest.mark.parametrize(
    ("text", "line"),
    [("0\n2\n0 0\n", 2), ("1\n1\n0 0\n", 1), ("0\n1\n0 x\n", 3), ("0\nx\n", 2), ("0\n1\n0 0 0\n", 3)],
)
def test_an_epoch_file_that_cannot_be_read(copy: Copy, text: str, line: int) -> None:
    epochs = copy("clean/plain-0") / "leader-epoch-checkpoint"
    epochs.write_text(text)
    (found,) = check(epochs.parent).findings
    assert (found.rule, found.file, found.severity, found.found) == ("KX505", str(epochs), ERROR, line)


@pytest.mark.parametrize("kind", ["index", "timeindex"])
def test_an_index_without_its_log(copy: Copy, kind: str) -> None:
    partition = copy("clean/plain-0")
    for file in partition.glob(f"{NAME}.*"):
        if file.suffix != f".{kind}":
            file.unlink()
    (found,) = check(partition).findings
    assert (placed(found), found.severity) == (("KX501", None, None, None, ".log", None), WARNING)
    assert found.file == str(partition / f"{NAME}.{kind}")
    for file in partition.glob("*.log"):
        file.unlink()  # where no segment has a log, these are indexes that somebody collected
    assert {f.rule for f in check(partition).findings} <= {"KX118"}


@pytest.mark.parametrize("kind", ["index", "timeindex"])
def test_a_log_without_an_index(copy: Copy, kind: str) -> None:
    partition = copy("clean/plain-0")
    (partition / f"{NAME}.{kind}").unlink()
    (found,) = check(partition).findings
    assert (placed(found), found.severity) == (("KX502", None, None, None, f".{kind}", None), WARNING)
    assert found.file == str(partition / f"{NAME}.log")


def test_a_segment_that_is_missing(txn: Path) -> None:
    bases = sorted(int(p.stem) for p in txn.glob("*.log"))
    for file in txn.glob(f"{bases[1]:020d}.*"):
        file.unlink()
    (found,) = other_than("KX403", check(txn).findings)
    assert (placed(found), found.severity) == (("KX503", None, None, None, bases[1], bases[2]), WARNING)
    assert found.file == str(txn / f"{bases[2]:020d}.log")


def test_the_first_segments_may_be_gone(txn: Path) -> None:
    for file in [*txn.glob(f"{NAME}.*")]:
        file.unlink()
    assert other_than("KX403", check(txn).findings) == []


@pytest.mark.parametrize(("suffix", "state"), [(".log.cleaned", ".cleaned"), (".index.swap", ".swap")])
def test_files_of_an_unfinished_compaction_are_a_note(copy: Copy, suffix: str, state: str) -> None:
    left = copy("clean/plain-0") / f"{NAME}{suffix}"
    left.touch()
    (found,) = check(left.parent).findings
    assert (placed(found), found.severity, found.file) == (
        ("KX504", None, None, None, None, state), NOTE, str(left)
    )  # fmt: skip
    left.rename(left.with_name(f"{NAME}.log.deleted"))  # a deletion under way is nothing unfinished
    assert check(left.parent).findings == []
