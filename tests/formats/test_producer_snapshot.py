"""Producer snapshots: read and written as Kafka does; damage is told, not refused."""

from __future__ import annotations

import pytest

from kidx.errors import WrongFormat
from kidx.formats.producer_snapshot import ProducerState, parse_snapshot, snapshot_bytes
from tests.support import FIXTURES

SOME = [ProducerState(7, 1, 9, 100, 3, 1_700_000_000_000, 2, -1), ProducerState(8, 0, -1, -1, 0, 5, 0, 90)]


def test_the_fixtures_come_back_byte_for_byte() -> None:
    paths = list(FIXTURES.glob("kafka-*/*/**/*.snapshot"))
    assert paths
    for path in paths:
        data = path.read_bytes()
        snapshot = parse_snapshot(data)
        assert (snapshot.version, snapshot.crc_ok, snapshot.extra_bytes) == (1, True, 0)
        assert snapshot_bytes(snapshot.producers) == data


def test_damage_is_told() -> None:
    data = snapshot_bytes(SOME)
    assert parse_snapshot(data).producers == SOME
    assert not parse_snapshot(data[:-1] + b"!").crc_ok
    torn = parse_snapshot(data[:-1])
    assert (torn.entry_count, len(torn.producers), torn.extra_bytes, torn.crc_ok) == (2, 1, 45, False)
    more = parse_snapshot(data + b"xx")
    assert (len(more.producers), more.extra_bytes, more.crc_ok) == (2, 2, False)
    negative = parse_snapshot(data[:6] + b"\xff" * 4 + data[10:])
    assert (negative.entry_count, negative.producers) == (-1, [])


def test_too_short_for_one() -> None:
    with pytest.raises(WrongFormat, match="9 bytes"):
        parse_snapshot(bytes(9))
