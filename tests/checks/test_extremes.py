"""Values at the ends of int64, as damage leaves them: a finding, never a failure."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

from kidx.findings import WARNING
from kidx.formats.checksums import crc32c
from kidx.formats.producer_snapshot import parse_snapshot, snapshot_bytes
from tests.building import batch, message, record, wrapper
from tests.checks.conftest import check, grave, rules
from tests.checks.test_log_damage import batches
from tests.damage import flip_byte, set_header

Copy = Callable[[str], Path]


def test_the_largest_offset_beside_a_damaged_batch(copy: Copy) -> None:
    log = sorted(copy("clean/plain-0").glob("*.log"))[-1]
    first, second, *_ = batches(log)
    flip_byte(log, first.position + 17)
    set_header(log, second.position, base_offset=2**63 - 1 - second.last_offset_delta)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert {"KX301", "KX305"} <= rules(grave(check(log)))


def test_inner_offsets_that_leave_int64(tmp_path: Path) -> None:
    log = tmp_path / f"{0:020d}.log"
    log.write_bytes(wrapper([message(b"a", offset=o) for o in (2**63 - 1, -5)], codec=1, offset=3))
    assert grave(check(log))


def test_a_marker_that_recovery_cannot_read(tmp_path: Path) -> None:
    log = tmp_path / f"{0:020d}.log"
    marker = record(key=b"\0\0\0\1", value=b"\0\0\0\0\0\0")
    log.write_bytes(batch(payload=marker[:-1], count=1, attributes=0x30, producer=(7, 0, -1), last_offset_delta=0))
    for level in ("default", "deep"):
        assert [f.rule for f in grave(check(log, level=level))] == ["KX308"], level
    log.write_bytes(batch([marker], attributes=0x30, producer=(7, 0, -1)))
    assert grave(check(log)) == []
    for value in (None, b"\0\0\0", b"\xff\0\0\0\0\0"):  # a version below 0 is refused, those above 0 are read
        log.write_bytes(batch([record(key=b"\0\0\0\1", value=value)], attributes=0x30, producer=(7, 0, -1)))
        (one,) = grave(check(log))
        assert one.rule == "KX308" and "its control record is COMMIT, and its value cannot be read" in one.message


def test_a_snapshot_s_transaction_from_after_it(copy: Copy) -> None:
    partition = copy("clean/plain-0")
    path = sorted(partition.glob("*.snapshot"))[-1]
    first, *others = parse_snapshot(path.read_bytes()).producers
    path.write_bytes(snapshot_bytes([first._replace(current_txn_first_offset=2**62), *others]))
    for file in partition.glob(f"{0:020d}.*"):
        file.unlink()  # what came before is not known then
    (one,) = grave(check(partition))
    assert one.rule == "KX407" and f"offset {2**62}, which the snapshot" in one.message


def test_bytes_behind_a_snapshot_under_its_crc_are_read_by_brokers_and_odd_all_the_same(copy: Copy) -> None:
    path = sorted(copy("clean/txn-0").glob("*.snapshot"))[-1]
    data = bytearray(path.read_bytes() + bytes(7))
    data[2:6] = crc32c(bytes(data[6:])).to_bytes(4, "big")
    path.write_bytes(data)
    (one,) = grave(check(path))
    assert (one.rule, one.severity, one.found) == ("KX406", WARNING, 7)
