"""Which record of a producer a broker remembers: after a marker that raises its epoch (KIP-890), no data any more."""

from __future__ import annotations

from pathlib import Path

from kidx.cleaner.producers import LastRecord, active_producers
from kidx.logdir.tree import Partition
from tests.building import batch, record

TRANSACTIONAL, CONTROL = 0x10, 0x20


def data(offset: int, epoch: int, sequence: int) -> bytes:
    return batch([record()], base_offset=offset, attributes=TRANSACTIONAL, producer=(7, epoch, sequence))


def marker(offset: int, epoch: int) -> bytes:
    commit = record(key=b"\0\0\0\1", value=b"\0\0\0\0\0\0")
    return batch([commit], base_offset=offset, attributes=TRANSACTIONAL | CONTROL, producer=(7, epoch, -1))


def known(directory: Path, *batches: bytes) -> dict[int, LastRecord]:
    (directory / "00000000000000000000.log").write_bytes(b"".join(batches))
    return active_producers(Partition(str(directory)), len(batches))


def test_data_stays_while_the_epoch_does(tmp_path: Path) -> None:
    assert known(tmp_path, data(0, 0, 0), data(1, 0, 1)) == {7: LastRecord(1, 0)}
    assert known(tmp_path, data(0, 0, 0), marker(1, 0)) == {7: LastRecord(0, 0)}
    assert known(tmp_path, data(0, 0, 0), marker(1, 1)) == {7: LastRecord(-1, 1)}
    assert known(tmp_path, data(0, 0, 0), marker(1, 1), data(2, 1, 0)) == {7: LastRecord(2, 1)}


def test_an_empty_marker_is_passed_over(tmp_path: Path) -> None:
    empty = batch(base_offset=1, last_offset_delta=0, attributes=TRANSACTIONAL | CONTROL, producer=(7, 1, -1))
    assert known(tmp_path, data(0, 0, 0), empty) == {7: LastRecord(0, 0)}
