"""Which pages of an index are in memory, and which ones a look-up really brings in, as rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from kidx.evidence import Evidence
from kidx.evidence.page_cache import PAGE_BYTES
from kidx.lookup.index import IndexReader
from kidx.lookup.search import search
from kidx.lookup.touched_pages import lookup_by_key
from kidx.pages.observation import CannotObserve, Specimen, original, private_copy
from kidx.pages.residency import residency_of
from kidx.tables.index_lookups import torn_note
from kidx.tables.table import INT, TEXT, TREE, Column, Table
from kidx.tables.trace import SEARCHES

_RESIDENCY_COLUMNS = (
    Column("file", TEXT),
    Column("pages"),
    Column("resident", TREE),
    Column("why", TEXT),
    Column("target"),
    Column("search", TEXT),
    Column("predicted", TREE),
    Column("would_fault", TREE),
)
_OBSERVATION_COLUMNS = (
    Column("file", TEXT),
    Column("target"),
    Column("search", TEXT),
    Column("predicted", TREE),
    Column("observed", TREE),
    Column("faults"),
    Column("microseconds", INT, "us"),
    Column("why", TEXT),
)


def residency_table(
    evidence: Evidence,
    index: IndexReader | None = None,
    targets: Sequence[int] = (),
    *,
    searches: Sequence[str] = SEARCHES,
) -> Table:
    """kidx.residency.v1: a row for the file; with an index, a row a target and search, and the faults it would take.

    `index` is the index in `evidence`, not yet read: reading it may bring in pages.
    """
    residency = residency_of(evidence)  # before the index is read
    shape = (evidence.path, *residency)
    if index is None:
        return Table("kidx.residency.v1", _RESIDENCY_COLUMNS, [(*shape, None, None, None, None)])
    resident = None if residency.resident is None else frozenset(residency.resident)

    def rows() -> Iterator[Sequence[Any]]:
        for target in targets:
            for name in searches:
                needed = lookup_by_key(index, target, name, PAGE_BYTES).pages
                faults = None if resident is None else [page for page in needed if page not in resident]
                yield (*shape, target, name, needed, faults)

    notes = torn_note(index.path, index.extent.torn_bytes, index.entries)
    return Table("kidx.residency.v1", _RESIDENCY_COLUMNS, rows(), notes=notes)


def observation_table(
    evidence: Evidence,
    index: IndexReader,
    targets: Sequence[int],
    *,
    searches: Sequence[str] = SEARCHES,
    evict_original: bool = False,
) -> Table:
    """kidx.observation.v1: a row a target and search: predicted and observed pages, faults, microseconds.

    Pages are evicted from a private copy; with `evict_original` from the file itself, which its broker then reads from
    disk again. Where nothing can be observed, the column `why` says so. `index` is the index in `evidence`.
    """
    notes = torn_note(index.path, index.extent.torn_bytes, index.entries)
    if evict_original:
        notes.add(f"{evidence.path}: its own pages were evicted from memory; its broker reads them from disk again")
    rows = _observed(evidence, index, targets, searches, evict_original)
    return Table("kidx.observation.v1", _OBSERVATION_COLUMNS, rows, notes=notes)


def _observed(
    evidence: Evidence, index: IndexReader, targets: Sequence[int], searches: Sequence[str], evict_original: bool
) -> Iterator[Sequence[Any]]:
    index.hold()  # predictions must not bring in what is then observed
    asked = [(target, name) for target in targets for name in searches]
    try:
        with (original if evict_original else private_copy)(evidence) as specimen:
            for target, name in asked:
                yield _observe(specimen, index, target, name)
    except CannotObserve as e:
        for target, name in asked:
            yield (
                index.path,
                target,
                name,
                lookup_by_key(index, target, name, PAGE_BYTES).pages,
                None,
                None,
                None,
                str(e),
            )


def _observe(specimen: Specimen, index: IndexReader, target: int, name: str) -> Sequence[Any]:
    predicted = lookup_by_key(index, target, name, PAGE_BYTES).pages
    index_format, base = index.index_format, index.base_offset if index.index_format.key == "offset" else 0

    def look_up(read: Callable[[int, int], bytes]) -> object:
        size, unpack = index_format.size, index_format.struct.unpack
        return search(
            lambda slot: int(unpack(read(slot * size, size))[0]) + base,
            index.entries,
            index_format.warm_entries,
            target,
            name,
        )

    seen = specimen.observe(look_up)
    took = None if seen.microseconds is None else round(seen.microseconds)
    return (index.path, target, name, predicted, seen.pages, seen.faults, took, seen.why)
