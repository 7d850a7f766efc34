"""Where kidx reads no batch and DumpLogSegments goes on: its text there, as asked of the tool (tests/interop)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.building import batch, message, record, varint
from tests.damage import fix_crc, overwrite, set_header
from tests.support import Ran, kidx_here

NAME = "00000000000000000000"


def dump(*words: object) -> Ran:
    return kidx_here("dump", "--format", "kafka", *words)


def log_of(tmp_path: Path, *batches: bytes) -> Path:
    log = tmp_path / f"{NAME}.log"
    log.write_bytes(b"".join(batches))
    return log


@pytest.mark.parametrize("options", [["--deep-iteration"], []], ids=["one by one", "by windows"])
def test_a_magic_above_2_is_taken_for_2(options: list[str], tmp_path: Path) -> None:
    batches = [batch([record()], base_offset=offset) for offset in range(4)]
    log = log_of(tmp_path, *batches)
    whole = dump(*options, log).out
    at = sum(map(len, batches[:2]))
    overwrite(log, at + 16, b"\x7f")  # no CRC covers the magic
    ran = dump(*options, log)
    parts = whole.split(b"magic: 2")
    assert ran.out == b"magic: 2".join(parts[:3]) + b"magic: 127" + b"magic: 2".join(parts[3:])
    assert ran.status == 0


def test_a_negative_magic_ends_it(tmp_path: Path) -> None:
    first = batch([record()])
    log = overwrite(log_of(tmp_path, first, first), len(first) + 16, b"\xff")
    ran = dump(log)
    assert ran.out.count(b"baseOffset") == 1 and b"Found %d invalid bytes at the end" % len(first) in ran.out
    assert ran.status == 3 and b"its magic byte is -1" in ran.err


def test_records_have_no_sequence_where_the_batch_has_a_negative_one(tmp_path: Path) -> None:
    log = fix_crc(set_header(log_of(tmp_path, batch([record()])), 0, base_sequence=-5), 0)
    out = dump("--deep-iteration", log).out
    assert b"baseSequence: -5 lastSequence: -5 " in out and b" sequence: -1 headerKeys" in out


def test_records_out_of_order_and_past_the_last_offset_are_printed(tmp_path: Path) -> None:
    records = [record(delta) for delta in (3, 1, 9)]
    ran = dump("--deep-iteration", log_of(tmp_path, batch(records, last_offset_delta=2)))
    assert [line.split()[2] for line in ran.out.splitlines() if line.startswith(b"| offset")] == [b"3", b"1", b"9"]
    assert ran.status == 1 and b"3 is followed by 1\n" in ran.err


def test_records_before_the_first_that_cannot_be_read_are_printed(tmp_path: Path) -> None:
    payload = record(0) + record(1) + varint(1000)
    ran = dump("--deep-iteration", log_of(tmp_path, batch(payload=payload, count=2**30, last_offset_delta=5)))
    assert ran.out.count(b"| offset: ") == 2
    assert ran.status == 3 and b"record 2: " in ran.err


def test_an_index_entry_is_held_against_whatever_stands_there(tmp_path: Path) -> None:
    inner = batch([record()], base_offset=77)
    log = log_of(tmp_path, batch([record(value=inner)]))
    index = log.with_suffix(".index")
    index.write_bytes((1).to_bytes(4, "big") + log.read_bytes().index(inner).to_bytes(4, "big"))
    ran = dump(index)
    assert ran.status == 1 and b"Mismatches in :%b\n  Index offset: 1, log offset: 77\n" % bytes(index) in ran.err


def test_zeros_behind_an_old_message_s_length_are_an_empty_message(tmp_path: Path) -> None:
    log = log_of(tmp_path, message(b"value" * 20, magic=0), bytes(3))
    overwrite(log, 16, bytes(110))
    ran = dump("--deep-iteration", log)
    assert b"| offset: 0 NoTimestampType: -1 keySize: 0 valueSize: 0 isValid: false crc: " in ran.out


def test_an_old_message_s_sizes_are_printed_whatever_they_are(tmp_path: Path) -> None:
    log = log_of(tmp_path, message(b"value" * 20, magic=1), message(b"next", offset=1))
    overwrite(log, 30, (10**9).to_bytes(4, "big"))
    ran = dump("--deep-iteration", log)
    assert b"| offset: 0 CreateTime: 1700000000000 keySize: -1 valueSize: 1000000000 isValid: false crc: " in ran.out
    assert ran.status == 3 and b"its value claims 1000000000 bytes" in ran.err and b"| offset: 1 " in ran.out
    overwrite(log, 26, (-7).to_bytes(4, "big", signed=True))
    overwrite(log, 30, (100).to_bytes(4, "big"))
    assert b" keySize: -7 valueSize: 100 isValid: false crc: " in dump("--deep-iteration", log).out
