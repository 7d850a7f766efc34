"""Measures of an index: its size, range and density. Reads only its first and last entry."""

from __future__ import annotations

from typing import NamedTuple

from kidx.evidence import Evidence
from kidx.formats.indexes import IndexFormat, extent_of
from kidx.lookup.search import first_warm_slot
from kidx.pages.geometry import PAGE_BYTES


class Measures(NamedTuple):
    """One index file. `capacity` counts the entries that fit into the file, `slack` those that still fit.

    First and last are the numbers of the first and last entry, None if there is none or the kind has no such number.
    Densities are means between the first and the last entry, None below two entries: offsets per entry, and bytes of
    log per entry. `pages` counts the pages with entries. The warm section is None for a transaction index.
    """

    kind: str
    base_offset: int | None
    size_bytes: int
    entries: int
    capacity: int
    slack: int
    zero_tail_bytes: int
    torn_bytes: int
    first_offset: int | None
    last_offset: int | None
    first_position: int | None
    last_position: int | None
    first_timestamp: int | None
    last_timestamp: int | None
    entries_a_page: float
    offsets_an_entry: float | None
    log_bytes_an_entry: float | None
    pages: int
    warm_from_slot: int | None
    warm_from_page: int | None


def measure(evidence: Evidence, index_format: IndexFormat, base_offset: int | None) -> Measures:
    """Measure an open index. Without a base offset, offsets are relative ones."""
    width = index_format.size
    entries, zero_tail_bytes, torn_bytes = extent_of(index_format, evidence, search=True)
    capacity = evidence.size // width
    ends = _ends(evidence, index_format, entries, base_offset or 0)
    first_warm = first_warm_slot(entries, index_format.warm_entries) if index_format.searched else None
    offset, position, timestamp = ends["offset"], ends["position"], ends["timestamp"]
    return Measures(
        index_format.kind, base_offset, evidence.size, entries, capacity, capacity - entries,
        zero_tail_bytes, torn_bytes, *offset, *position, *timestamp,
        PAGE_BYTES / width, _density(offset, entries), _density(position, entries),
        -(-entries * width // PAGE_BYTES), first_warm, None if first_warm is None else first_warm * width // PAGE_BYTES,
    )  # fmt: skip


_Ends = tuple[int | None, int | None]


def _ends(evidence: Evidence, index_format: IndexFormat, entries: int, base_offset: int) -> dict[str, _Ends]:
    """The numbers of the first and the last entry."""
    if not entries:
        return dict.fromkeys(("offset", "position", "timestamp"), (None, None))
    width = index_format.size

    def entry(slot: int) -> dict[str, int]:
        stored = index_format.struct.unpack(evidence.read(slot * width, width))
        return dict(zip(index_format.columns, index_format.absolute(stored, base_offset), strict=True))

    first, last = entry(0), entry(entries - 1)
    smallest, largest = index_format.offset_range
    ends: dict[str, _Ends] = {name: (first.get(name), last.get(name)) for name in ("position", "timestamp")}
    return {"offset": (first[smallest], last[largest]), **ends}


def _density(ends: _Ends, entries: int) -> float | None:
    first, last = ends
    return None if first is None or last is None or entries < 2 else (last - first) / (entries - 1)
