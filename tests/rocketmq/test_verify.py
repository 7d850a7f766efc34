"""verify: stores as they were written are clean, and each kind of damage is found by the rule meant for it."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from kidx.rocketmq.catalogue import RULES
from kidx.rocketmq.engine.store import Checked, check_store
from kidx.rocketmq.formats import (
    BATCH_UNIT,
    CHECKPOINT,
    EXT_HEAD,
    INDEX_ENTRY,
    INDEX_HEADER,
    MAGIC_BLANK,
    MESSAGE_HEAD,
    UNIT,
)
from kidx.rocketmq.open import layout_and_config
from tests.damage import append_garbage, flip_byte, overwrite, set_header, shrink
from tests.rocketmq.cases import CASES, SETS, lay_out, name_of

# What is wrong with the cases that are not in order; all others give notes at most.
KNOWN = {
    "unclean": {"KXR401"},
    "unclean_cq_behind": {"KXR401", "KXR207"},
    "unclean_torn": {"KXR401", "KXR202", "KXR120"},
    "wrong_length": {"KXR101"},
    "zero_length_last": {"KXR101"},
    "zero_tail_file": {"KXR110"},
}


def check(store: Path, configured: bool = True) -> Checked:
    config = str(store.parent / "store.properties") if configured else None
    return check_store(*layout_and_config(str(store), config, ()))


def rules_of(checked: Checked) -> set[str]:
    return {f.rule for f in checked.findings if f.severity != "note"}


@pytest.mark.parametrize("case", CASES, ids=name_of)
@pytest.mark.parametrize("configured", [True, False], ids=["config", "inferred"])
def test_as_written(case: Path, configured: bool, tmp_path: Path) -> None:
    checked = check(lay_out(case, tmp_path), configured)
    assert rules_of(checked) == KNOWN.get(case.name, set())
    assert not checked.unread
    assert (checked.coverage.bytes_skipped == 0) == (case.name != "rocksdb")
    recorded = case / "messages.jsonl"
    if recorded.exists() and case.name != "unclean_torn":
        messages = [line for line in recorded.read_text().splitlines() if '"blank"' not in line]
        assert checked.coverage.batches == len(messages)


class Damage(NamedTuple):
    """One thing done to a store, and the rule that has to find it."""

    rule: str
    case: str
    do: Callable[[Path], object]


def first(store: Path, under: str) -> Path:
    return min(p for p in (store / under).rglob("*") if p.is_file())


def last(store: Path, under: str) -> Path:
    return max(p for p in (store / under).rglob("*") if p.is_file())


def queue(store: Path) -> Path:
    return first(store, "consumequeue/Orders/0")


def log(store: Path) -> Path:
    return first(store, "commitlog")


def unit(store: Path, slot: int, **fields: int) -> None:
    set_header(queue(store), slot * UNIT.size, UNIT, **fields)


def unit_of(store: Path, slot: int) -> tuple[int, int, int]:
    at, size, tag = UNIT.struct.unpack_from(queue(store).read_bytes(), slot * UNIT.size)
    return at, size, tag


def swap_units(store: Path) -> None:
    one, two = unit_of(store, 1), unit_of(store, 2)
    overwrite(queue(store), UNIT.size, UNIT.struct.pack(*two) + UNIT.struct.pack(*one))


def shift_units(store: Path) -> None:
    data = queue(store).read_bytes()
    queue(store).write_bytes(data[:40] + data[60:] + bytes(20))


def point_at_other_queue(store: Path) -> None:
    overwrite(queue(store), 3 * 20, first(store, "consumequeue/Payments/0").read_bytes()[60:80])


def entry_at(store: Path, slots: int, number: int) -> int:
    return INDEX_HEADER.size + 4 * slots + INDEX_ENTRY.size * number


MATRIX = (
    Damage("KXR101", "plain", lambda s: shrink(queue(s), 20)),
    Damage("KXR101", "plain", lambda s: append_garbage(last(s, "commitlog"))),
    Damage("KXR102", "duplicates", lambda s: sorted((s / "consumequeue/Dup/0").iterdir())[1].unlink()),
    Damage("KXR102", "plain", lambda s: sorted((s / "commitlog").iterdir())[1].unlink()),
    Damage("KXR103", "plain", lambda s: (s / "commitlog" / "notes.txt").write_text("x")),
    Damage("KXR111", "plain", lambda s: overwrite(queue(s), 40, bytes(20))),
    Damage("KXR111", "plain", lambda s: unit(s, 2, commit_log_offset=-5)),
    Damage("KXR113", "plain", lambda s: unit(s, 3, commit_log_offset=0, size=0x7FFFFFFF, tag_code=0)),
    Damage("KXR114", "plain", swap_units),
    Damage("KXR120", "plain", lambda s: unit(s, 5, commit_log_offset=1 << 40)),
    Damage("KXR122", "plain", lambda s: unit(s, 3, commit_log_offset=unit_of(s, 3)[0] + 3)),
    Damage("KXR123", "plain", lambda s: unit(s, 3, size=unit_of(s, 3)[1] + 1)),
    Damage("KXR124", "plain", lambda s: unit(s, 3, tag_code=12345)),
    Damage("KXR124", "delayed", lambda s: flip_byte(first(s, "consumequeue/SCHEDULE_TOPIC_XXXX"), 19, 1)),
    Damage("KXR125", "plain", shift_units),
    Damage("KXR126", "plain", point_at_other_queue),
    Damage("KXR130", "cq_ext", lambda s: set_header(first(s, "consumequeue_ext"), 0, EXT_HEAD, tag_code=7)),
    Damage("KXR130", "cq_ext", lambda s: set_header(first(s, "consumequeue_ext"), 0, EXT_HEAD, size=3)),
    Damage("KXR201", "plain", lambda s: overwrite(log(s), unit_of(s, 1)[0] + 4, b"\0\0\0\0")),
    Damage("KXR203", "plain", lambda s: flip_byte(log(s), unit_of(s, 1)[0] + 95, 1)),
    Damage("KXR204", "prop_crc", lambda s: flip_byte(log(s), 16, 1)),
    Damage("KXR205", "plain", lambda s: set_header(log(s), unit_of(s, 1)[0], MESSAGE_HEAD, physical_offset=9)),
    Damage("KXR206", "plain", lambda s: _unclose(log(s))),
    Damage("KXR207", "plain", lambda s: overwrite(queue(s), 20 * (_used(queue(s)) - 1), bytes(20))),
    Damage("KXR208", "plain", lambda s: overwrite(last(s, "commitlog"), last(s, "commitlog").stat().st_size - 9, b"x")),
    Damage("KXR301", "plain", lambda s: set_header(first(s, "index"), 0, INDEX_HEADER, index_count=9999)),
    Damage("KXR302", "plain", lambda s: overwrite(first(s, "index"), 40, struct.pack(">i", 299))),
    Damage("KXR302", "plain", lambda s: set_header(first(s, "index"), entry_at(s, 50, 9), INDEX_ENTRY, previous=9)),
    Damage("KXR303", "plain", lambda s: set_header(first(s, "index"), entry_at(s, 50, 9), INDEX_ENTRY, seconds=99999)),
    Damage(
        "KXR303", "plain", lambda s: set_header(first(s, "index"), entry_at(s, 50, 9), INDEX_ENTRY, commit_log_offset=1)
    ),
    Damage("KXR304", "plain", lambda s: set_header(first(s, "index"), 0, INDEX_HEADER, end_offset=5)),
    Damage("KXR401", "plain", lambda s: (s / "abort").write_text("4711")),
    Damage("KXR402", "plain", lambda s: set_header(s / "checkpoint", 0, CHECKPOINT, logics_timestamp=2**62)),
    Damage("KXR402", "plain", lambda s: shrink(s / "checkpoint", 1)),
    Damage("KXR140", "batch_cq", lambda s: _batch(s, 2, base_offset=999)),
    Damage("KXR140", "batch_cq", lambda s: _batch(s, 2, store_timestamp=5)),
    Damage("KXR123", "batch_cq", lambda s: _batch(s, 2, size=50)),
    Damage("KXR122", "batch_cq", lambda s: _batch(s, 2, commit_log_offset=1)),
)


def _batch(store: Path, slot: int, **fields: int) -> None:
    set_header(first(store, "batchconsumequeue"), slot * BATCH_UNIT.size, BATCH_UNIT, **fields)


def _used(path: Path) -> int:
    return -(-len(path.read_bytes().rstrip(b"\0")) // UNIT.size)


def _unclose(path: Path) -> None:
    """Zero the blank record that closes a commit-log file, and all after it."""
    data = path.read_bytes()
    start = data.rindex(MAGIC_BLANK.to_bytes(4)) - 4
    overwrite(path, start, bytes(len(data) - start))


@pytest.mark.parametrize("fixtures", SETS, ids=lambda p: p.name)
@pytest.mark.parametrize("damage", MATRIX, ids=lambda d: f"{d.rule}-{d.case}")
def test_damage_is_found(fixtures: Path, damage: Damage, tmp_path: Path) -> None:
    case = fixtures / damage.case
    if not case.is_dir():
        pytest.skip(f"{fixtures.name} has no {damage.case}")
    store = lay_out(case, tmp_path)
    damage.do(store)
    checked = check(store)
    assert damage.rule in {f.rule for f in checked.findings}, checked.findings
    for found in checked.findings:
        assert found.severity == RULES[found.rule].severity or (store / "abort").exists()
        assert found.byte_start is None or (found.byte_end or 0) > found.byte_start


def test_every_rule_is_found_by_some_test() -> None:
    tested = {d.rule for d in MATRIX} | {rule for rules in KNOWN.values() for rule in rules}
    notes = {rule.code for rule in RULES.values() if rule.severity == "note"}
    assert RULES.keys() - tested - notes == {"KXR210", "KXR306"}  # test_versions.py, test_index_of_no_shape


def test_index_of_no_shape(tmp_path: Path) -> None:
    store = lay_out(SETS[0] / "plain", tmp_path)
    overwrite(first(store, "index"), 40, bytes(range(256)) * 4)
    assert "KXR306" in rules_of(check(store, configured=False))


def test_quick_leaves_crcs_out(tmp_path: Path) -> None:
    store = lay_out(SETS[0] / "plain", tmp_path)
    flip_byte(log(store), unit_of(store, 1)[0] + 95, 1)
    checked = check_store(*layout_and_config(str(store), None, ()), crcs=False)
    assert not rules_of(checked)
    assert checked.coverage.skipped


def test_entries_left_out_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = next(c for c in CASES if c.name not in KNOWN and any((c / "store" / "index").glob("*")))
    store = lay_out(case, tmp_path)
    assert not check(store).coverage.skipped
    monkeypatch.setattr("kidx.rocketmq.subjects.index_entries.KEYS_CHECKED", 2)
    skipped = check(store).coverage.skipped
    assert skipped and all("not compared with their messages' keys" in one.why for one in skipped)
