"""Transactions of a partition: what is open at its end, which snapshot says so, and what its indexes call aborted."""

from __future__ import annotations

from pathlib import Path
from struct import pack

import pytest

from kidx.formats.control import ABORT
from kidx.formats.indexes import TRANSACTION_INDEX
from kidx.formats.producer_snapshot import ProducerState, snapshot_bytes
from kidx.logdir.tree import Partition
from kidx.lookup.aborted import AbortedTransaction, collect_aborted
from kidx.lookup.transactions import batches_since, is_aborted, newest_snapshot, open_transactions
from tests import damage
from tests.building import batch, record

LIST = [AbortedTransaction(0, 7, 10, 20, 15), AbortedTransaction(0, 8, 15, 30, 31), AbortedTransaction(0, 9, 5, 40, 41)]


@pytest.mark.parametrize(
    ("begin", "end", "producers", "complete"),
    [
        (0, 5, [], True),
        (0, 10, [], True),
        (0, 11, [7], True),
        (0, 15, [7], True),
        (0, 16, [7, 8], True),
        (20, 31, [7, 8], True),
        (21, 31, [8], True),
        (21, 32, [8, 9], True),
        (31, 41, [9], True),
        (40, 42, [9], False),
        (41, 42, [], False),
    ],
)
def test_aborted_transactions_of_a_fetch(begin: int, end: int, producers: list[int], complete: bool) -> None:
    """The search ends with the first entry whose last stable offset the fetch does not pass."""
    found = collect_aborted(LIST, begin, end)
    assert ([a.producer_id for a in found.aborted], found.complete) == (producers, complete)


def partition_of(place: Path, made: dict[int, list[bytes]]) -> Partition:
    for base, batches in made.items():
        (place / f"{base:020d}.log").write_bytes(b"".join(batches))
    return Partition(str(place))


def data(offset: int, producer: int = 7) -> bytes:
    return batch([record(0)], base_offset=offset, attributes=0x10, producer=(producer, 0, 0))


def marker(offset: int, producer: int = 7, *, emptied: bool = False) -> bytes:
    records = [] if emptied else [record(0, key=pack(">hh", 0, ABORT), value=pack(">hi", 0, 1))]
    return batch(records, base_offset=offset, attributes=0x30, producer=(producer, 0, -1), last_offset_delta=0)


def state(producer: int, first: int) -> ProducerState:
    return ProducerState(producer, 0, 1, 2, 0, 1000, -1, first)


def test_open_transactions_follow_from_the_batches(tmp_path: Path) -> None:
    partition = partition_of(tmp_path, {
        0: [data(0), data(1), data(2, 8), marker(3), data(4, 9)],
        5: [marker(5, 8, emptied=True), marker(6, 9), data(7), batch([record(0)], base_offset=8, producer=(1, 0, 0))],
    })  # fmt: skip
    assert open_transactions(partition, 9) == {8: 2, 7: 7}  # a marker whose record is gone is passed over


def test_open_transactions_follow_from_the_newest_sound_snapshot(tmp_path: Path) -> None:
    partition_of(tmp_path, {0: [data(0)], 1: [data(1, 9)], 2: [data(2, 8)]})
    old, new, later = (tmp_path / f"{base:020d}.snapshot" for base in (1, 2, 9))
    old.write_bytes(snapshot_bytes([state(7, 0), state(6, -1)]))
    assert open_transactions(Partition(str(tmp_path)), 3) == {7: 0, 9: 1, 8: 2}
    new.write_bytes(snapshot_bytes([state(5, 1)]))
    assert newest_snapshot(Partition(str(tmp_path)), 2) == (2, [state(5, 1)])
    assert newest_snapshot(Partition(str(tmp_path)), 1)[0] == 1
    assert open_transactions(Partition(str(tmp_path)), 3) == {5: 1, 8: 2}
    later.write_bytes(snapshot_bytes([]))
    assert open_transactions(Partition(str(tmp_path)), 8) == {5: 1, 8: 2}
    new.rename(f"{new}.deleted")
    assert newest_snapshot(Partition(str(tmp_path)), 3)[0] == 1
    damage.flip_byte(old, -1)
    assert newest_snapshot(Partition(str(tmp_path)), 3) == (0, [])
    old.write_bytes(b"short")
    assert newest_snapshot(Partition(str(tmp_path)), 3) == (0, [])


def test_batches_that_end_at_an_offset_or_after_it(tmp_path: Path) -> None:
    two = [record(0), record(1)]
    partition = partition_of(tmp_path, {
        0: [batch(two), batch(two, base_offset=2)], 4: [batch(two, base_offset=4), batch(two, base_offset=6)], 8: [],
    })  # fmt: skip
    for since in range(10):
        assert [b.base_offset for b in batches_since(partition, since)] == [b for b in (0, 2, 4, 6) if b + 1 >= since]


def test_whether_a_record_was_aborted_is_in_the_indexes_from_its_segment_on(tmp_path: Path) -> None:
    partition_of(tmp_path, {0: [], 10: [], 20: [], 30: []})
    for base, entries in ((0, [(0, 7, 1, 5, 6)]), (20, [(0, 8, 2, 25, 12)]), (30, [(0, 9, 3, 35, 36)])):
        index = tmp_path / f"{base:020d}.txnindex"
        index.write_bytes(b"".join(TRANSACTION_INDEX.struct.pack(*e) for e in entries))
    segments = Partition(str(tmp_path)).segments
    assert is_aborted(segments, 7, 5) and is_aborted(segments, 7, 1)
    assert not is_aborted(segments, 7, 0) and not is_aborted(segments, 7, 6)
    assert is_aborted(segments, 8, 12)  # the first index ends before it
    assert not is_aborted(segments, 8, 5)  # the first index says that it is complete up to there
    assert is_aborted(segments[1:], 8, 5)
    assert not is_aborted(segments[1:], 9, 5) and is_aborted(segments[3:], 9, 5)
    assert not is_aborted(segments[1:], 9, 11) and is_aborted(segments[1:], 9, 12)
    assert not is_aborted(segments[1:2], 9, 12)
