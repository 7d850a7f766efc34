"""Headers of entries: one shape for all versions, and what is no entry at all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kidx.formats.batches import BATCH_HEADER, HEADER_BYTES, Batch, fault_at, parse_batch, wrap_long
from kidx.formats.checksums import crc_holds
from tests.building import batch, message, record


def test_the_header_has_61_bytes_and_the_dtype_the_same() -> None:
    assert HEADER_BYTES == BATCH_HEADER.dtype.itemsize == 61
    assert BATCH_HEADER.field_span("crc") == (17, 21)
    assert BATCH_HEADER.field_span("record_count") == (57, 61)


def test_a_v2_header() -> None:
    entry = batch(
        [record(0), record(1)], base_offset=7, codec=4, attributes=0x18, producer=(9, 2, 2**31 - 1), leader_epoch=3
    )
    parsed = parse_batch(entry, 0, 1000)
    assert (parsed.position, parsed.size, parsed.next_position) == (1000, len(entry), 1000 + len(entry))
    assert (parsed.base_offset, parsed.last_offset, parsed.record_count, parsed.leader_epoch) == (7, 8, 2, 3)
    assert (parsed.codec_name, parsed.timestamp_type) == ("zstd", "LogAppendTime")
    assert parsed.transactional and not parsed.control and parsed.delete_horizon is None
    assert (parsed.base_sequence, parsed.last_sequence) == (2**31 - 1, 0)
    assert parsed.header_bytes() == entry[:61]
    assert crc_holds(parsed, entry)
    assert not crc_holds(parsed, entry[:-1] + b"!")


def test_a_delete_horizon_stands_in_the_base_timestamp() -> None:
    parsed = parse_batch(batch([record()], attributes=0x60, base_timestamp=123), 0, 0)
    assert parsed.control and parsed.delete_horizon == 123


@pytest.mark.parametrize(("magic", "timestamp", "kind"), ((0, -1, "NoTimestampType"), (1, 55, "LogAppendTime")))
def test_old_messages_take_the_same_shape(magic: int, timestamp: int, kind: str) -> None:
    entry = message(b"v", offset=4, magic=magic, attributes=8, timestamp=55)
    parsed = parse_batch(entry, 0, 0)
    assert (parsed.base_offset, parsed.last_offset, parsed.record_count) == (4, 4, 1)
    assert (parsed.max_timestamp, parsed.timestamp_type) == (timestamp, kind)
    assert (parsed.leader_epoch, parsed.producer_id, parsed.last_sequence) == (-1, -1, -1)
    assert not parsed.transactional and not parsed.control
    assert crc_holds(parsed, entry)
    assert parse_batch(message(b"v", magic=magic, attributes=1), 0, 0).record_count == -1


@given(st.integers(-(2**64), 2**64))
def test_sums_wrap_as_in_java(value: int) -> None:
    import numpy as np

    wrapped = np.array([value % 2**64], np.uint64).view(np.int64)[0]
    assert wrap_long(value) == wrapped


def test_what_is_no_entry() -> None:
    entry = batch([record()])
    size = len(entry)

    def fault(data: bytes, remaining: int | None = None) -> tuple[bool, int | None] | None:
        found = fault_at(data, 0, len(data) if remaining is None else remaining)
        return None if found is None else (found.torn, found.missing_bytes)

    def length(value: int, data: bytes = entry) -> bytes:
        return data[:8] + value.to_bytes(4, "big", signed=True) + data[12:]

    assert fault(entry) is None
    assert fault(entry, size + 100) is None
    assert fault(entry, size - 1) == (True, 1)
    assert fault(entry[:17]) == (True, size - 17)
    assert fault(entry[:12]) == (True, size - 12)
    assert fault(entry[:11]) == (True, None)
    assert fault(length(48)) == (False, None)
    assert fault(length(-1)) == (False, None)
    assert fault(length(13)[:12]) == (False, None)
    assert fault(entry[:16] + b"\3" + entry[17:]) == (False, None)
    assert fault(entry[:16] + b"\xff" + entry[17:]) == (False, None)
    assert fault(length(21, message(b"v"))) == (False, None)
    assert fault(length(13, message(b"v", magic=0))) == (False, None)


def test_every_field_is_in_the_tuple_in_the_header_s_order() -> None:
    assert Batch._fields == ("position", *(field.name for field in BATCH_HEADER.fields))
