"""Records by lanes: the same records and the same damage as decoding them one by one."""

from __future__ import annotations

import random
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kidx.evidence import from_bytes
from kidx.formats.records import COUNT, LIMIT, OFFSETS, PAYLOAD, RECORD, TIMESTAMPS
from kidx.segments import array_reader as block
from kidx.segments import record_blocks, record_starts
from kidx.segments.record_blocks import RecordDecoder
from kidx.segments.scan import scan
from tests.building import batch, compress, message, record, varint, wrapper
from tests.segments.model import mutate, records_by_lanes, records_one_by_one
from tests.segments.test_scan import LOGS, positions_of


@pytest.fixture(params=(1, 2))
def small_buffers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything in small pieces: many windows, joint buffers that overflow and grow, few records at once."""
    monkeypatch.setattr(record_starts, "_FEW_LANES", 2 * request.param)
    monkeypatch.setattr(record_starts, "_HOPS_A_TURN", 8)
    monkeypatch.setattr(record_starts, "_LONGEST_RUN", 5)
    monkeypatch.setattr(block, "_WINDOW_BYTES", 9_000 * request.param)
    monkeypatch.setattr(record_blocks, "_MOST_RECORDS", 30 * request.param)
    monkeypatch.setattr(record_blocks, "_JOINT_BYTES", 700 * request.param)
    monkeypatch.setattr(record_blocks, "_SLICE_RECORDS", 7)


def test_every_record_of_every_log() -> None:
    for log in LOGS:
        evidence = from_bytes(log.read_bytes())
        found = records_by_lanes(evidence, positions_of(log))
        assert all(isinstance(records, list) for records in found.values()), log
        assert found == records_one_by_one(evidence), log


@pytest.mark.usefixtures("small_buffers")
@pytest.mark.parametrize("seed", range(4))
def test_damaged_logs(seed: int) -> None:
    chance = random.Random(seed)
    for log in chance.sample(LOGS, min(60, len(LOGS))):
        evidence = from_bytes(mutate(log.read_bytes(), chance))
        assert records_by_lanes(evidence, positions_of(log)) == records_one_by_one(evidence)


BYTES = st.binary(max_size=200) | st.integers(0, 20_000).map(bytes)
RECORDS = st.lists(
    st.tuples(
        st.integers(-(2**40), 2**62),
        st.none() | BYTES,
        st.none() | BYTES,
        st.lists(st.tuples(st.binary(max_size=300), st.none() | BYTES), max_size=3),
    ),
    max_size=30,
)


@given(st.lists(st.tuples(RECORDS, st.integers(0, 4), st.integers(0, 2**50)), min_size=1, max_size=40))
def test_what_was_written_comes_back(batches: list[Any]) -> None:
    data, wanted = b"", []
    for records, codec, base in batches:
        rows = [record(n, ts, key, value, headers) for n, (ts, key, value, headers) in enumerate(records)]
        top = max((ts for ts, *_ in records), default=0)
        data += batch(rows, base_offset=base, codec=codec, base_timestamp=1000, max_timestamp=1000 + top)
        wanted.append(
            [(base + n, 1000 + ts, len(h), len(rows[n]), k, v) for n, (ts, k, v, h) in enumerate(records)],
        )
    assert list(records_by_lanes(from_bytes(data)).values()) == wanted


@given(st.lists(st.tuples(st.integers(0, 4), st.binary(max_size=60), st.integers(-3, 40)), min_size=1, max_size=60))
def test_any_bytes_as_records(batches: list[tuple[int, bytes, int]]) -> None:
    entries = (batch(payload=compress(codec, junk), codec=codec, count=n) for codec, junk, n in batches)
    evidence = from_bytes(b"".join(entries))
    assert records_by_lanes(evidence) == records_one_by_one(evidence)


RECORD_OK = record(0, 0)
DAMAGED = {
    "cut payload": (batch(payload=compress(1, RECORD_OK)[:-9], codec=1, count=1), PAYLOAD),
    "no payload": (batch(payload=b"", codec=4, count=1), COUNT),
    "unknown codec": (batch([RECORD_OK], attributes=6), PAYLOAD),
    "count too high": (batch([RECORD_OK], count=2, last_offset_delta=1), COUNT),
    "count far too high": (batch([RECORD_OK], count=2**31 - 1), COUNT),
    "count too low": (batch([RECORD_OK, record(1)], count=1), COUNT),
    "count negative": (batch([RECORD_OK], count=-1), COUNT),
    "record too long": (batch(payload=varint(50) + RECORD_OK[1:], count=1, last_offset_delta=0), RECORD),
    "record too short": (batch(payload=varint(9) + RECORD_OK[1:], count=1, last_offset_delta=0), RECORD),
    "record negative": (batch(payload=varint(-2) + RECORD_OK[1:], count=1, last_offset_delta=0), RECORD),
    "key too long": (batch(payload=bytes([20, 0, 0, 0, 120]) + bytes(6), count=1, last_offset_delta=0), RECORD),
    "header without name": (batch(payload=bytes([16, 0, 0, 0, 1, 1, 2, 1, 1]), count=1, last_offset_delta=0), RECORD),
    "endless number": (batch(payload=bytes([24, 0]) + b"\xff" * 11, count=1, last_offset_delta=0), RECORD),
    "offsets fall": (batch([record(1), record(0)]), OFFSETS),
    "offset twice": (batch([record(0), record(0)]), OFFSETS),
    "offset negative": (batch([record(-1), record(0)]), OFFSETS),
    "offset past the last": (batch([record(0), record(2)]), OFFSETS),
    "timestamp above the maximum": (batch([record(0, 5)]), TIMESTAMPS),
    "timestamp below the maximum": (batch([record(0, -5)]), TIMESTAMPS),
    "message cut": (message(b"x" * 30)[:8] + (30).to_bytes(4, "big") + message(b"x" * 30)[12:42], RECORD),
    "nothing inside": (wrapper([], codec=1, offset=3), COUNT),
    "wrapper's offset": (wrapper([message(b"a", offset=3, magic=0)], codec=1, offset=4, magic=0), OFFSETS),
    "wrong magic inside": (wrapper([message(b"a", magic=0)], codec=1, offset=0), RECORD),
    "wrong CRC inside": (wrapper([message(b"a", offset=0)[:-1] + b"b"], codec=1, offset=0), RECORD),
}


@pytest.mark.parametrize("name", DAMAGED)
@pytest.mark.parametrize("neighbours", (0, 50))
def test_damage_is_named_and_stays_in_its_batch(name: str, neighbours: int) -> None:
    damaged, kind = DAMAGED[name]
    sound = batch([record(n, key=b"k") for n in range(5)])
    evidence = from_bytes(sound * neighbours + damaged + sound * neighbours)
    found = records_by_lanes(evidence)
    assert found == records_one_by_one(evidence)
    assert found.pop(len(sound) * neighbours).kind == kind
    assert all(len(records) == 5 for records in found.values())


def test_healthy_though_unusual() -> None:
    many_headers = record(0, headers=[(b"h", None)] * 500)
    numbers = b"\x80\x80\x80\x80\x80\x00"  # a zero in more bytes than it takes
    stretched = bytes([32, 0]) + numbers + bytes([0, 1, 2]) + b"v" + bytes([0]) + b""
    logs = {
        "empty": batch(last_offset_delta=5, count=0),
        "headers": batch([many_headers]) * 30,
        "gaps": batch([record(0), record(7), record(9)], last_offset_delta=20),
        "appended": batch([record(0, 5), record(1, -7)], attributes=8, max_timestamp=99),
        "delete horizon": batch([record(0, 50)], attributes=0x40, max_timestamp=1_700_000_000_050),
        "raw snappy": batch(payload=compress(2, record())[20:], codec=2, count=1, last_offset_delta=0),
        "wrapping timestamps": batch([record(0, 2**63 - 1)], base_timestamp=2, max_timestamp=-(2**63) + 1),
        "long numbers": batch(payload=bytes([len(stretched[1:]) * 2]) + stretched[1:], count=1, last_offset_delta=0),
    }
    for name, log in logs.items():
        found = records_by_lanes(from_bytes(log))
        assert found == records_one_by_one(from_bytes(log)), name
        assert all(isinstance(records, list) for records in found.values()), (name, found)


@pytest.mark.parametrize("codec", (1, 2, 3, 4))
def test_bombs_are_bounded(codec: int) -> None:
    bomb = batch(payload=compress(codec, bytes(9_000_000)), codec=codec, count=1, last_offset_delta=0)
    log = from_bytes(batch([record()], codec=codec) * 30 + bomb)
    tracemalloc.start()
    decoder = RecordDecoder(log, limit_bytes=1 << 20)
    damage = [d for w in scan(log, hold=True) for b in decoder.blocks(w) for _, d in b.damage]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [(d.kind, d.limit) for d in damage] == [(LIMIT, True)]
    assert str(1 << 20) in damage[0].why
    assert peak < 40 << 20


def test_many_small_records_take_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_blocks, "_MOST_RECORDS", 2_000)
    monkeypatch.setattr(record_blocks, "_SLICE_RECORDS", 1_000)
    monkeypatch.setattr(record_blocks, "_JOINT_BYTES", 100_000)
    monkeypatch.setattr(block, "_WINDOW_BYTES", 500_000)
    count = 20_000
    log = from_bytes(batch(payload=compress(4, _rising(count)), codec=4, count=count, last_offset_delta=count - 1))
    tracemalloc.start()
    blocks = [len(b) for w in scan(log, hold=True) for b in RecordDecoder(log).blocks(w) if not b.damage]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert sum(blocks) == count
    assert peak < 4 << 20  # all of them as objects take 10 MiB


def _rising(count: int) -> bytes:
    return b"".join(record(n, value=b"") for n in range(count))
