"""Batches outside an open transaction: what stops a broker's recovery (asked of it in tests/interop)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

from kidx.checks.engine.discovery import findings_about
from kidx.checks.subjects.partitions import SegmentTransactions
from kidx.checks.subjects.producers import Ended, Written
from kidx.checks.subjects.transactions import TransactionEvent
from kidx.findings import ERROR, Finding, limited
from kidx.formats.batches import TRANSACTIONAL_BIT
from kidx.formats.control import COMMIT
from kidx.formats.producer_snapshot import parse_snapshot, snapshot_bytes
from tests import damage
from tests.checks.conftest import check, grave, rules
from tests.checks.test_log_damage import batches, header

Copy = Callable[[str], Path]


def outside(partition: Path) -> list[Finding]:
    return [f for f in check(partition).findings if f.rule == "KX409"]


def test_a_transactional_bit_makes_what_follows_stand_outside(copy: Copy) -> None:
    log = sorted(copy("clean/plain-0").glob("*.log"))[-1]
    batch = next(b for b in batches(log) if b.producer_id >= 0)
    header(attributes=batch.attributes | TRANSACTIONAL_BIT)(log, batch)
    one, *_ = outside(log.parent)
    assert one.severity == ERROR
    after = next(b for b in batches(log)[1:] if b.producer_id == batch.producer_id and b.position > batch.position)
    assert one.byte_start == after.position
    assert f"since offset {batch.base_offset}" in one.message
    header(attributes=after.attributes | TRANSACTIONAL_BIT)(log, after)
    one, *_ = outside(log.parent)
    assert one.byte_start is not None and one.byte_start > after.position


def test_a_snapshot_that_opens_a_transaction(copy: Copy) -> None:
    partition = copy("clean/plain-0")
    first, *_, last = sorted(partition.glob("*.log"))
    for file in partition.glob(f"{first.stem}.*"):
        file.unlink()
    snapshot = last.with_suffix(".snapshot")
    producers = [p._replace(current_txn_first_offset=3) for p in parse_snapshot(snapshot.read_bytes()).producers]
    snapshot.write_bytes(snapshot_bytes(producers))
    wrote = next(b for b in batches(last) if b.producer_id >= 0)
    assert [(f.file, f.byte_start) for f in outside(partition)] == [(str(last), wrote.position)]


def test_a_transaction_of_an_earlier_range() -> None:
    there = Written(7, 0, 5, 1, 300, 0, 2222)
    ranges = [SimpleNamespace(first={7: (there, None)}), SimpleNamespace(first={7: (there, Ended(290, 0, 0, None))})]
    began, ended = TransactionEvent(10, 7, 100, None, None), TransactionEvent(20, 7, 200, COMMIT, 0)
    itself = TransactionEvent(2222, 7, 300, None, None)
    for events, before, found in (
        ([began], {}, [100]),
        ([began, ended], {}, []),
        ([began, itself], {}, []),
        ([ended], {7: 50}, []),
        ([], {7: 50}, [50]),
        ([], {8: 50}, []),
    ):
        transactions = SegmentTransactions("x.log", None, [], [], ranges, events, before, False)  # type: ignore[arg-type]
        told = limited(findings_about(transactions))
        assert [int(f.message.rpartition(" ")[2]) for f in told] == found


def test_a_damaged_batch_proves_nothing(copy: Copy) -> None:
    log = sorted(copy("clean/plain-0").glob("*.log"))[-1]
    first, *others = batches(log)
    header(attributes=first.attributes | TRANSACTIONAL_BIT)(log, first)
    for batch in others:
        damage.flip_byte(log, batch.position + 17)
    assert rules(grave(check(log.parent))) == {"KX301"}


def test_inside_a_transaction_that_a_marker_ends(copy: Copy) -> None:
    log = sorted(copy("clean/txn-0").glob("*.log"))[0]
    opened = set()
    for batch in batches(log):
        if batch.transactional and not batch.control and batch.producer_id in opened:
            header(attributes=batch.attributes & ~TRANSACTIONAL_BIT)(log, batch)
            break
        (opened.discard if batch.control else opened.add)(batch.producer_id)
    (one,) = outside(log.parent)
    assert one.byte_start == batch.position
    assert [f.rule for f in check(log).findings if f.rule == "KX409"] == ["KX409"]  # asked for alone, too
