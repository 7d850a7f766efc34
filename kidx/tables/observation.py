"""The rows of `kidx trace --resident` and `kidx trace --observe`: what is in memory, and what a look-up brings in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from kidx.cli import complain
from kidx.errors import UsageError
from kidx.evidence import Evidence
from kidx.evidence.page_cache import PAGE_BYTES
from kidx.logdir.names import index_format_of
from kidx.lookup.index import IndexReader
from kidx.lookup.search import search
from kidx.lookup.touches import way_of
from kidx.pages.observation import CannotObserve, Specimen, original, private_copy
from kidx.pages.residency import residency_of
from kidx.tables.index_lookups import searched_index
from kidx.tables.table import INT, TEXT, TREE, Column, Table
from kidx.tables.targets import read_targets, timestamp_ms, whole_number
from kidx.tables.trace import searches_of

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


def _open(
    evidence: Evidence, targets: Sequence[str], from_file: str | None, kind: str | None, base_offset: int | None
) -> tuple[IndexReader, list[int]]:
    index_format = index_format_of(evidence.path, kind)
    index = searched_index(evidence, index_format, base_offset)
    return index, read_targets(targets, from_file, timestamp_ms if index_format.keyed_by_time else whole_number)


def residency_table(
    evidence: Evidence,
    targets: Sequence[str],
    from_file: str | None,
    search: str,
    kind: str | None,
    base_offset: int | None,
    **_: Any,
) -> Table:
    """kidx.residency.v1: a row for the file; with targets a row a target and search, and the faults it would take."""
    residency = residency_of(evidence)  # first: to find an index's end, kidx may have to read it
    shape = (evidence.path, *residency)
    if not targets and from_file is None:
        return Table("kidx.residency.v1", _RESIDENCY_COLUMNS, [(*shape, None, None, None, None)])
    index, numbers = _open(evidence, targets, from_file, kind, base_offset)
    resident = None if residency.resident is None else frozenset(residency.resident)

    def rows() -> Iterator[Sequence[Any]]:
        for target in numbers:
            for name in searches_of(search):
                needed = way_of(index, target, name, PAGE_BYTES).pages
                faults = None if resident is None else [page for page in needed if page not in resident]
                yield (*shape, target, name, needed, faults)

    return Table("kidx.residency.v1", _RESIDENCY_COLUMNS, rows())


def observation_table(
    evidence: Evidence,
    targets: Sequence[str],
    from_file: str | None,
    search: str,
    kind: str | None,
    base_offset: int | None,
    evict_original: bool,
    **_: Any,
) -> Table:
    """kidx.observation.v1: a row a target and search. Where nothing can be observed, each says why."""
    index, numbers = _open(evidence, targets, from_file, kind, base_offset)
    if not numbers:
        raise UsageError("nothing to observe; name targets")
    if evict_original:
        complain(f"{evidence.path}: evicting its own pages from memory; its broker will read them from disk again")
    return Table(
        "kidx.observation.v1", _OBSERVATION_COLUMNS, _observed(evidence, index, numbers, search, evict_original)
    )


def _observed(
    evidence: Evidence, index: IndexReader, targets: Sequence[int], searches: str, evict_original: bool
) -> Iterator[Sequence[Any]]:
    index.hold()  # predictions shall not bring in what is then observed
    asked = [(target, name) for target in targets for name in searches_of(searches)]
    try:
        with (original if evict_original else private_copy)(evidence) as specimen:
            for target, name in asked:
                yield _observe(specimen, index, target, name)
    except CannotObserve as e:
        for target, name in asked:
            yield (index.path, target, name, way_of(index, target, name, PAGE_BYTES).pages, None, None, None, str(e))


def _observe(specimen: Specimen, index: IndexReader, target: int, name: str) -> Sequence[Any]:
    predicted = way_of(index, target, name, PAGE_BYTES).pages
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
