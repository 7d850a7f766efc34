"""The three index formats: one declaration each, and entries, zero tail and torn end told apart in any bytes."""

from __future__ import annotations

import struct

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kidx.evidence import Evidence, from_bytes
from kidx.formats.batches import BATCH_HEADER, MESSAGE_V0, MESSAGE_V1
from kidx.formats.fields import RecordFormat
from kidx.formats.indexes import (
    INDEX_FORMATS,
    OFFSET_INDEX,
    TIME_INDEX,
    TRANSACTION_INDEX,
    Extent,
    IndexFormat,
    decode,
    extent_of,
)
from tests.support import FIXTURES

formats = st.sampled_from(INDEX_FORMATS)
record_formats = pytest.mark.parametrize(
    "record", [*INDEX_FORMATS, BATCH_HEADER, MESSAGE_V0, MESSAGE_V1], ids=lambda record: record.name
)


def test_entry_sizes_and_warm_sections_are_kafkas() -> None:
    assert [(f.kind, f.size, f.warm_entries) for f in INDEX_FORMATS] == [
        ("offset_index", 8, 1024),
        ("time_index", 12, 682),
        ("transaction_index", 34, 240),
    ]
    assert [f.relative for f in INDEX_FORMATS] == [True, True, False]


def test_traits_say_what_kafkas_classes_do() -> None:
    traits = [(f.searched, f.preallocated, f.reserved_slots, f.first_may_be_zero) for f in INDEX_FORMATS]
    assert traits == [(True, True, 0, False), (True, True, 1, True), (False, False, 0, False)]
    assert [f.keyed_by_time for f in INDEX_FORMATS] == [False, True, False]
    assert [f.fallback(10) for f in INDEX_FORMATS] == [(10, 0), (-1, 10), None]
    for index in INDEX_FORMATS:
        columns = {*index.columns}
        assert {index.key, index.value, *index.strictly_rising, *index.never_falling, *index.offset_range} <= columns
        assert index.is_strict(index.key)


def test_an_entry_is_read_by_its_columns_with_the_offset_made_absolute() -> None:
    assert (OFFSET_INDEX.columns, OFFSET_INDEX.absolute((5, 900), 100)) == (("offset", "position"), (105, 900))
    assert OFFSET_INDEX.key_and_value((5, 900), 100) == (105, 900)
    assert TIME_INDEX.key_and_value((1_700, 5), 100) == (1_700, 105)
    assert TIME_INDEX.key_and_value((1_700, 5), 2**63 - 2) == (1_700, 3 - 2**63)  # as Java's sum wraps
    assert TRANSACTION_INDEX.key_and_value((0, 7, 100, 120, 121), 50) == (120, 100)


@record_formats
def test_struct_dtype_and_spans_come_from_one_table(record: RecordFormat) -> None:
    assert record.dtype.itemsize == record.size == record.struct.size
    assert record.dtype.names == tuple(f.name for f in record.fields)
    at = 0
    for field in record.fields:
        start, end = record.field_span(field.name)
        assert (start, record.dtype.fields[field.name][1]) == (at, at)
        assert (end - start) * 8 == int(field.type_name.lstrip("uint"))
        at = end
    assert at == record.size
    with pytest.raises(KeyError):
        record.field_span("no such field")


def slow_extent(index: IndexFormat, data: bytes) -> Extent:
    """The definition, entry by entry: whole slots, less the zero ones at the end."""
    slots = [data[i : i + index.size] for i in range(0, len(data) - index.size + 1, index.size)]
    entries = len(slots)
    while entries and not any(slots[entries - 1]):
        entries -= 1
    return Extent(entries, (len(slots) - entries) * index.size, len(data) - len(slots) * index.size)


@given(
    formats,
    st.lists(st.sampled_from([b"\0", b"\1", b"\0" * 11, b"\xff" * 9, b"\0" * 40]), max_size=60).map(b"".join),
)
@example(OFFSET_INDEX, b"")
@example(OFFSET_INDEX, b"\0" * 7)
@example(TIME_INDEX, b"\0" * 12 + b"\1")
@example(TRANSACTION_INDEX, b"\1" + b"\0" * 100)
def test_the_extent_is_that_of_the_definition(index: IndexFormat, data: bytes) -> None:
    assert extent_of(index, from_bytes(data)) == slow_extent(index, data)


class Watched(Evidence):
    """Bytes that note which of them are read."""

    __slots__ = ("read_from",)

    def __init__(self, data: bytes) -> None:
        super().__init__("(bytes)", -1, len(data), 0, data)
        self.read_from: list[int] = []

    def read(self, position: int, length: int) -> bytes:
        self.read_from.append(position)
        return super().read(position, length)


def test_only_the_zero_tail_is_read() -> None:
    file = Watched(b"\1" * 80_000 + b"\0" * 8_000)
    assert extent_of(OFFSET_INDEX, file) == (10_000, 8_000, 0)
    assert min(file.read_from) >= 80_000 - (16 << 10)


@given(formats, st.integers(0, 30_000), st.integers(0, 200_000))
@example(OFFSET_INDEX, 1, 10 << 20)
@example(TIME_INDEX, 0, 10 << 20)
def test_a_long_zero_tail_is_searched_where_asked(index: IndexFormat, entries: int, zeros: int) -> None:
    file = Watched(b"\1" * (entries * index.size) + bytes(zeros))
    assert extent_of(index, file, search=True) == extent_of(index, from_bytes(file.read(0, file.size)))
    assert len(file.read_from) < 40


@given(formats, st.binary(max_size=200), st.integers(0, 2**63 - 1 - 2**31))
def test_decoding_takes_anything_and_leaves_a_torn_entry_out(index: IndexFormat, data: bytes, base: int) -> None:
    arrays = decode(index, data, base)
    rows = [index.struct.unpack_from(data, i) for i in range(0, len(data) - index.size + 1, index.size)]
    for i, field in enumerate(index.fields):
        assert arrays[field.name].tolist() == [row[i] for row in rows]
        assert arrays[field.name].dtype == "int64"
    if index.relative:
        assert arrays["offset"].tolist() == [base + r for r in arrays["relative_offset"].tolist()]
        assert next(iter(arrays)) == "offset"


@pytest.mark.parametrize("buffer", [bytearray, memoryview, bytes])
def test_decoding_takes_any_buffer(buffer: type) -> None:
    data = struct.pack(">ii", 3, 77)
    assert decode(OFFSET_INDEX, buffer(data), 100)["offset"].tolist() == [103]


def test_an_index_that_a_broker_wrote() -> None:
    path = FIXTURES / "kafka-4.3.1/clean/pages14-0/00000000000000000000.index"
    data = path.read_bytes()
    assert extent_of(OFFSET_INDEX, from_bytes(data)) == (14 * 512, 0, 0)
    arrays = decode(OFFSET_INDEX, data)
    assert arrays["offset"][-1] == 14 * 512
    assert (arrays["position"][1:] > arrays["position"][:-1]).all()
