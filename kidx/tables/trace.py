"""Which pages look-ups in an index touch, as rows: single look-ups, a workload's, and an index that grows by a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kidx.errors import UsageError
from kidx.evidence import Evidence
from kidx.formats.indexes import IndexFormat
from kidx.lookup.index import IndexReader
from kidx.lookup.search import STANDARD, WARM, first_warm_slot
from kidx.lookup.touched_pages import REPLAY, growth, lookup_by_key, touches_of, workload_targets
from kidx.pages.geometry import PAGE_BYTES
from kidx.tables.index_lookups import torn_note
from kidx.tables.table import BOOL, TEXT, TREE, Column, Table

SEARCHES = (STANDARD, WARM)
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
    index: IndexReader,
    targets: Sequence[int] = (),
    *,
    workload: str | None = None,
    seed: int = 1,
    searches: Sequence[str] = SEARCHES,
    page_bytes: int = PAGE_BYTES,
) -> Table:
    """kidx.trace.v1: a row a target and search; of a workload a row a search for all its targets.

    `workload` is `replay` (of the targets), or one of `tail`, `uniform` (from `seed`) and `all`, which make their own
    targets. The index must stay open until the rows have been read.
    """
    notes = torn_note(index.path, index.extent.torn_bytes, index.entries)
    if workload is None:
        rows = _target_rows(index, targets, searches, page_bytes)
    else:
        asked = targets if workload == REPLAY else workload_targets(index, workload, seed)
        rows = _workload_rows(index, workload, asked, searches, page_bytes)
    return Table("kidx.trace.v1", _TRACE_COLUMNS, rows, notes=notes)


def _target_rows(
    index: IndexReader, targets: Sequence[int], searches: Sequence[str], page_bytes: int
) -> Iterator[Sequence[Any]]:
    shape = _shape(index, page_bytes)
    for target in targets:
        for kind in searches:
            way = lookup_by_key(index, target, kind, page_bytes)
            touches = [{"page": page, "lookups": 1} for page in way.pages]
            yield (index.path, kind, None, target, way.slot, 1, way.probes, way.pages, touches, *shape)


def _workload_rows(
    index: IndexReader, workload: str, targets: Sequence[int], searches: Sequence[str], page_bytes: int
) -> Iterator[Sequence[Any]]:
    shape = _shape(index, page_bytes)
    for kind in searches:
        touched = sorted(touches_of(index, targets, kind, page_bytes).items())
        touches = [{"page": page, "lookups": lookups} for page, lookups in touched]
        pages = [page for page, _ in touched]
        yield (index.path, kind, workload, None, None, len(targets), None, pages, touches, *shape)


def _shape(index: IndexReader, page_bytes: int) -> tuple[int, int, int, int]:
    """Entries, pages that hold them, and where the warm section starts: slot and page."""
    width = index.index_format.size
    first_warm = first_warm_slot(index.entries, index.index_format.warm_entries)
    return index.entries, -(-index.entries * width // page_bytes), first_warm, first_warm * width // page_bytes


def growth_table(
    pages: int = 13,
    entry_bytes: int = 8,
    *,
    searches: Sequence[str] = SEARCHES,
    page_bytes: int = PAGE_BYTES,
) -> Table:
    """kidx.trace_growth.v1: two rows a search, for an index of `pages` full pages and for one of a page more.

    Raises UsageError where a page is smaller than an entry.
    """
    if page_bytes < entry_bytes:
        raise UsageError(f"--page-size {page_bytes}: a page must hold at least one entry of {entry_bytes} bytes")
    rows = [
        (
            name,
            entry_bytes,
            page_bytes,
            grown.pages,
            grown.entries,
            grown.warm_from_page,
            grown.needs,
            grown.new,
            count > pages,
        )
        for name in searches
        for count in (pages, pages + 1)
        for grown in (growth(count, entry_bytes, name, page_bytes),)
    ]
    return Table("kidx.trace_growth.v1", _GROWTH_COLUMNS, rows)


def growth_table_of(
    evidence: Evidence,
    index_format: IndexFormat,
    pages: int | None = None,
    entry_bytes: int | None = None,
    *,
    searches: Sequence[str] = SEARCHES,
    page_bytes: int = PAGE_BYTES,
) -> Table:
    """growth_table for an index file: by default of its entries' size, and up to the full pages that it has now.

    Raises WrongFormat for an index without a search, where `pages` is not given.
    """
    if pages is None:
        full = IndexReader(evidence, index_format, 0).entries * index_format.size // page_bytes
        pages = max(1, full - 1)
    return growth_table(pages, entry_bytes or index_format.size, searches=searches, page_bytes=page_bytes)
