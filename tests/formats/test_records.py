"""Records one by one: all that a record can hold. What damage is called: tests/segments/test_record_blocks.py."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kidx.formats.batches import parse_batch
from kidx.formats.messages import decode_message
from kidx.formats.records import LIMIT, Record, RecordReader, decode_batch
from tests.building import batch, message, record, wrapper


def read(entry: bytes, **limits: int) -> list[Record]:
    records, damage = decode_batch(parse_batch(entry, 0, 0), entry[61:], **limits)
    assert damage is None
    return records


def test_all_fields() -> None:
    entry = batch(
        [record(0, 0, b"k", None), record(2, -5, None, b"", [(b"name", b"x"), (b"", None)])],
        base_offset=10,
        last_offset_delta=3,
        base_timestamp=100,
        producer=(4, 1, 2**31 - 2),
    )
    first, second = read(entry)
    assert first[:6] == (10, 100, b"k", None, (), 2**31 - 2)
    assert second[:6] == (12, 95, None, b"", ((b"name", b"x"), (b"", None)), 0)
    assert 61 + first.size + second.size == len(entry)


def test_log_append_time_is_every_record_s() -> None:
    entry = batch([record(0, 1), record(1, 2)], attributes=8, max_timestamp=77)
    assert [r.timestamp for r in read(entry)] == [77, 77]


def test_records_before_the_damage_come() -> None:
    entry = batch([record(n) for n in range(5)])
    records, damage = decode_batch(parse_batch(entry, 0, 0), entry[61:-1] + b"\1")
    assert [r.offset for r in records] == [0, 1, 2, 3]
    assert damage is not None and damage.record == 4


def test_a_list_has_a_limit_and_a_reader_has_none() -> None:
    entry = batch([record(n) for n in range(100)])
    records, damage = decode_batch(parse_batch(entry, 0, 0), entry[61:], limit_records=99)
    assert records == [] and damage is not None and (damage.kind, damage.limit) == (LIMIT, True)
    assert len(list(RecordReader(parse_batch(entry, 0, 0), entry[61:]))) == 100


@given(st.integers(0, 2), st.integers(0, 2**40), st.lists(st.tuples(st.none() | st.binary(), st.none() | st.binary())))
def test_messages_alone_and_wrapped(codec: int, first: int, pairs: list[tuple[bytes | None, bytes | None]]) -> None:
    for magic in (0, 1):
        alone = [message(value, key=key, offset=first + n, magic=magic) for n, (key, value) in enumerate(pairs)]
        for n, (entry, pair) in enumerate(zip(alone, pairs, strict=True)):
            (found,), damage = decode_message(parse_batch(entry, 0, 0), entry)
            assert damage is None and found.crc_ok
            assert (found.offset, found.key, found.value) == (first + n, *pair)
        if not pairs or not codec:
            continue
        relative = [
            message(value, key=key, offset=n if magic else first + n, magic=magic)
            for n, (key, value) in enumerate(pairs)
        ]
        entry = wrapper(relative, codec=codec, offset=first + len(pairs) - 1, magic=magic)
        records, damage = decode_message(parse_batch(entry, 0, 0), entry)
        assert damage is None
        assert [(r.offset, r.key, r.value) for r in records] == [(first + n, *pair) for n, pair in enumerate(pairs)]


def test_a_wrapper_s_time_under_log_append_time() -> None:
    entry = wrapper([message(b"a", timestamp=5)], codec=1, offset=0, attributes=8)
    assert decode_message(parse_batch(entry, 0, 0), entry).records[0].timestamp == 1_700_000_000_000


def test_offsets_inside_a_wrapper_wrap_as_java_s_do() -> None:
    inner = [message(b"a", offset=offset) for offset in (2**63 - 1, 0)]
    entry = wrapper(inner, codec=1, offset=5)
    records = decode_message(parse_batch(entry, 0, 0), entry).records
    assert [r.offset for r in records] == [-(2**63) + 4, 5]


def test_a_lenient_reader_goes_on_as_kafka_s_does() -> None:
    entry = batch([record(4), record(1)], last_offset_delta=2, count=2**31 - 1)
    reader = RecordReader(parse_batch(entry, 0, 0), entry[61:], lenient=True)
    assert [r.offset for r in reader] == [4, 1]
    assert reader.damage is not None and reader.damage.record == 2
