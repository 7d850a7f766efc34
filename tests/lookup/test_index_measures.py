"""What an index measures, against all of its entries; and what an index reader says of an index's ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from kidx.errors import WrongFormat
from kidx.evidence import Evidence, from_bytes
from kidx.formats.indexes import OFFSET_INDEX, TIME_INDEX, TRANSACTION_INDEX, decode
from kidx.logdir.names import base_offset_of, index_format_of
from kidx.lookup.index import IndexReader
from kidx.lookup.index_measures import Measures, measure
from tests.damage import append_garbage
from tests.support import KAFKA_SETS

NEWEST = KAFKA_SETS[0]
INDEXES = sorted(p for stage in ("clean", "live") for p in (NEWEST / stage).glob("*-0/*index"))
NUMBERS = {
    OFFSET_INDEX.name: {"offset": ("offset", "offset"), "position": ("position", "position")},
    TIME_INDEX.name: {"offset": ("offset", "offset"), "timestamp": ("timestamp", "timestamp")},
    TRANSACTION_INDEX.name: {"offset": ("first_offset", "last_offset")},
}


def measured(path: Path) -> Measures:
    return measure(from_bytes(path.read_bytes(), str(path)), index_format_of(str(path)), base_offset_of(str(path)))


@pytest.mark.parametrize("path", INDEXES, ids=lambda p: "/".join(p.parts[-3:]))
def test_as_all_entries_say(path: Path) -> None:
    kind, found = index_format_of(str(path)), measured(path)
    columns = decode(kind, path.read_bytes()[: found.entries * kind.size], base_offset_of(str(path)))
    size, entries = path.stat().st_size, found.entries
    assert (found.kind, found.base_offset, found.size_bytes) == (kind.kind, int(path.stem), size)
    assert (found.capacity, found.slack) == (size // kind.size, size // kind.size - entries)
    assert (path.read_bytes().rstrip(b"\0") == b"") == (entries == 0)
    assert found.zero_tail_bytes == size - entries * kind.size and found.torn_bytes == 0
    for what in ("offset", "position", "timestamp"):
        ends = getattr(found, f"first_{what}"), getattr(found, f"last_{what}")
        first, last = NUMBERS[kind.name].get(what, (None, None))
        if entries and first:
            assert ends == (columns[first][0], columns[last][-1])
        else:
            assert ends == (None, None)
    assert found.pages == -(-entries * kind.size // 4096) and found.entries_a_page == 4096 / kind.size
    if entries > 1:
        assert found.offsets_an_entry == (found.last_offset - found.first_offset) / (entries - 1)
        if kind is OFFSET_INDEX:
            assert found.log_bytes_an_entry == (found.last_position - found.first_position) / (entries - 1)
    else:
        assert (found.offsets_an_entry, found.log_bytes_an_entry) == (None, None)


def test_the_warm_section_of_an_index_of_14_pages() -> None:
    offsets, times = (measured(NEWEST / f"clean/pages14-0/{0:020}.{kind}") for kind in ("index", "timeindex"))
    assert (offsets.entries, offsets.warm_from_slot, offsets.warm_from_page) == (7168, 6143, 11)
    assert (times.entries, times.warm_from_slot) == (times.capacity, times.entries - 1 - 682)
    assert times.warm_from_page == times.warm_from_slot * 12 // 4096


def test_a_transaction_index_has_no_warm_section_and_no_search() -> None:
    path = NEWEST / f"clean/txn-0/{0:020}.txnindex"
    found = measured(path)
    assert found.entries and (found.warm_from_slot, found.warm_from_page) == (None, None)
    with pytest.raises(WrongFormat, match=r"0\.txnindex: .* no search"):
        IndexReader(from_bytes(path.read_bytes(), str(path)), TRANSACTION_INDEX, 0).bounds(5)


def test_a_torn_entry_is_none(tmp_path: Path) -> None:
    path = tmp_path / f"{0:020}.index"
    path.write_bytes((NEWEST / f"clean/plain-0/{0:020}.index").read_bytes())
    whole = measured(path)
    append_garbage(path, b"\0\0\1")
    torn = measured(path)
    assert (torn.entries, torn.torn_bytes, torn.capacity) == (whole.entries, 3, whole.capacity)
    assert torn.last_offset == whole.last_offset


@pytest.mark.parametrize("stage", ["clean", "live"])
@pytest.mark.parametrize("kind", ["index", "timeindex"])
def test_entries_held_in_memory_are_those_in_the_file(stage: str, kind: str) -> None:
    path = max((NEWEST / stage / "plain-0").glob(f"*.{kind}"))
    alone, held = (
        IndexReader(from_bytes(path.read_bytes(), str(path)), index_format_of(str(path)), int(path.stem)) for _ in "ab"
    )
    held.hold()
    entries = [alone.entry(slot) for slot in range(alone.entries)]
    assert entries and [held.entry(slot) for slot in range(held.entries)] == entries
    assert held.column().tolist() == [key for key, _ in entries]
    assert len(held.to_numpy()) == len(entries) and held.to_numpy().tolist() == alone.to_numpy().tolist()
    assert held.to_numpy()[held.index_format.key].tolist() == [key for key, _ in entries]
    assert alone.column("value").tolist() == [value for _, value in entries]
    assert alone.answer(-1, "value", "upper") is None and alone.answer(-1, "key", "upper") is None


def test_the_entry_past_a_fetch() -> None:
    path = NEWEST / f"clean/plain-0/{0:020}.index"
    index = IndexReader(from_bytes(path.read_bytes()), OFFSET_INDEX, 0)
    entries = [index.entry(slot) for slot in range(index.entries)]
    first, second, last = entries[0], entries[1], entries[-1]
    assert index.fetch_upper_bound(first[1] - 5, 6) == second
    assert index.fetch_upper_bound(second[1], 0) == second
    assert index.fetch_upper_bound(last[1], 1) is None


class Counting(Evidence):
    """An index in memory that counts the bytes read of it."""

    __slots__ = ("bytes_read",)

    def __init__(self, data: bytes) -> None:
        super().__init__(f"{0:020}.index", -1, len(data), 0, data)
        self.bytes_read = 0

    def read(self, position: int, length: int) -> bytes:
        self.bytes_read += length
        return super().read(position, length)

    def nonzero_end(self, start: int = 0, end: int | None = None) -> int:
        found = super().nonzero_end(start, end)
        self.bytes_read += (self.size if end is None else end) - found
        return found


def test_the_zeros_of_a_preallocated_index_are_not_read() -> None:
    """10 MiB of them, in a file without holes: a copy."""
    entries = (NEWEST / f"clean/plain-0/{0:020}.index").read_bytes()
    index = Counting(entries + bytes((10 << 20) - len(entries)))
    found = measure(index, OFFSET_INDEX, 0)
    assert found.entries == len(entries) // 8 and found.zero_tail_bytes == (10 << 20) - len(entries)
    assert index.bytes_read < 200_000
    index.bytes_read = 0
    assert IndexReader(index, OFFSET_INDEX, 0).entries == found.entries and index.bytes_read < 200_000
