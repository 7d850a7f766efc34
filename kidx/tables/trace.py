"""The rows of kidx trace."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kidx.errors import UsageError
from kidx.evidence import Evidence
from kidx.logdir.names import index_format_of
from kidx.lookup.index import IndexReader
from kidx.lookup.search import STANDARD, WARM, first_warm_slot
from kidx.lookup.touches import REPLAY, growth, touches_of, way_of, workload_targets
from kidx.tables.index_lookups import searched_index
from kidx.tables.table import BOOL, TEXT, TREE, Column, Table
from kidx.tables.targets import read_targets, timestamp_ms, whole_number

_TRACE_COLUMNS = (
    Column("file", TEXT),
    Column("search", TEXT),
    Column("workload", TEXT),
    Column("target"),
    Column("slot"),
    Column("lookups"),
    Column("probes", TREE),
    Column("pages", TREE),
    Column("touches", TREE),
    Column("entries"),
    Column("file_pages"),
    Column("warm_from_slot"),
    Column("warm_from_page"),
)
_GROWTH_COLUMNS = (
    Column("search", TEXT),
    Column("entry_size", unit="bytes"),
    Column("page_size", unit="bytes"),
    Column("file_pages"),
    Column("entries"),
    Column("warm_from_page"),
    Column("pages", TREE),
    Column("new", TREE),
    Column("grown", BOOL),
)


def trace_table(
    evidence: Evidence,
    targets: Sequence[str],
    from_file: str | None,
    workload: str | None,
    seed: int,
    search: str,
    page_size: int,
    kind: str | None,
    base_offset: int | None,
    **_: Any,
) -> Table:
    """kidx.trace.v1: a row a target and search, or a row a search for a workload."""
    index_format = index_format_of(evidence.path, kind)
    index = searched_index(evidence, index_format, base_offset)
    given = read_targets(targets, from_file, timestamp_ms if index_format.keyed_by_time else whole_number)
    if workload == REPLAY and from_file is None and "-" not in targets:
        raise UsageError("--workload replay takes its targets from --from-file FILE, or `-` for standard input")
    if workload is None and not given:
        raise UsageError("nothing to trace; name targets, or a --workload")
    if workload not in (None, REPLAY) and given:
        raise UsageError(f"--workload {workload} makes its own targets; --workload replay takes yours")
    if workload is not None:
        given = given if workload == REPLAY else workload_targets(index, workload, seed)
        return Table("kidx.trace.v1", _TRACE_COLUMNS, _workload_rows(index, workload, given, search, page_size))
    return Table("kidx.trace.v1", _TRACE_COLUMNS, _target_rows(index, given, search, page_size))


def _target_rows(index: IndexReader, targets: Sequence[int], search: str, page_bytes: int) -> Iterator[Sequence[Any]]:
    shape = _shape(index, page_bytes)
    for target in targets:
        for kind in searches_of(search):
            way = way_of(index, target, kind, page_bytes)
            touches = [{"page": page, "lookups": 1} for page in way.pages]
            yield (index.path, kind, None, target, way.slot, 1, way.probes, way.pages, touches, *shape)


def _workload_rows(
    index: IndexReader, workload: str, targets: Sequence[int], search: str, page_bytes: int
) -> Iterator[Sequence[Any]]:
    shape = _shape(index, page_bytes)
    for kind in searches_of(search):
        touched = sorted(touches_of(index, targets, kind, page_bytes).items())
        touches = [{"page": page, "lookups": lookups} for page, lookups in touched]
        pages = [page for page, _ in touched]
        yield (index.path, kind, workload, None, None, len(targets), None, pages, touches, *shape)


def searches_of(search: str) -> Sequence[str]:
    """The searches that --search names."""
    """The searches that --search names, older one first."""
    return (STANDARD, WARM) if search == "both" else (search,)


def _shape(index: IndexReader, page_bytes: int) -> tuple[int, int, int, int]:
    """Entries, pages that hold them, and where the warm section starts: slot and page."""
    width = index.index_format.size
    first_warm = first_warm_slot(index.entries, index.index_format.warm_entries)
    return index.entries, -(-index.entries * width // page_bytes), first_warm, first_warm * width // page_bytes


def growth_table(
    evidence: Evidence | None,
    pages: int | None,
    entry_size: int | None,
    search: str,
    page_size: int,
    kind: str | None,
    **_: Any,
) -> Table:
    """kidx.trace_growth.v1: a row a search before (`pages` full pages) and after one more has filled."""
    if evidence is not None:
        index_format = index_format_of(evidence.path, kind)
        entry_size = entry_size or index_format.size
        if pages is None:
            full = IndexReader(evidence, index_format, 0).entries * index_format.size // page_size
            pages = max(1, full - 1)
    before, width = pages or 13, entry_size or 8
    if page_size < width:
        raise UsageError(f"--page-size {page_size}: a page must hold at least one entry of {width} bytes")
    rows = [
        (
            name,
            width,
            page_size,
            grown.pages,
            grown.entries,
            grown.warm_from_page,
            grown.needs,
            grown.new,
            count > before,
        )
        for name in searches_of(search)
        for count in (before, before + 1)
        for grown in (growth(count, width, name, page_size),)
    ]
    return Table("kidx.trace_growth.v1", _GROWTH_COLUMNS, rows)
