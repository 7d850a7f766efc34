"""Look-ups in an index as rows: what a broker's search answers, its probes and the pages it touches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kidx.errors import UsageError
from kidx.evidence import Evidence
from kidx.formats.indexes import TRANSACTION_INDEX, IndexFormat, absolute_offset
from kidx.logdir.names import base_offset_of
from kidx.lookup.index import MANY, IndexReader
from kidx.lookup.search import KEY, LOWER, STANDARD, WARM
from kidx.tables.table import BOOL, INT, TEXT, TIMESTAMP, TREE, Column, Notes, Table

_HOLD_FROM = 16  # look-ups from which one read of the whole index is cheaper than one of each probed entry


def open_index(evidence: Evidence, index_format: IndexFormat, base_offset: int | None = None) -> IndexReader:
    """An offset or time index, to be searched; `base_offset` is needed where its name does not tell.

    Raises UsageError for an index without a search, or without a base offset.
    """
    path = evidence.path
    if not index_format.searched:
        raise UsageError(f"{path}: a {index_format.name} is read from its start; there is no search to show")
    return IndexReader(evidence, index_format, base_offset_of(path, base_offset))


def searches_of(search: str) -> Sequence[str]:
    """The searches that `warm`, `standard` or `both` names, the older one first."""
    return (STANDARD, WARM) if search == "both" else (search,)


def torn_note(path: str, torn_bytes: int, entries: int) -> Notes:
    """A note that an index ends inside an entry, where it does."""
    notes = Notes()
    if torn_bytes:
        ends = f"its last {torn_bytes} bytes are" if torn_bytes > 1 else "its last byte is"
        notes.add(f"{path}: {ends} no whole entry (torn); read up to there: {entries} whole entries")
    return notes


def lookup_table(
    index: IndexReader,
    targets: Sequence[int],
    *,
    searches: Sequence[str] = (WARM,),
    by: str = KEY,
    bound: str = LOWER,
    page_bytes: int | None = None,
    iso: bool = False,
) -> Table:
    """kidx.lookup.v1: a row a target and search. The index must stay open until the rows have been read.

    Targets are offsets, or ms since the epoch in a time index; with `by` VALUE positions, or offsets in a time index.
    `bound` is LOWER or UPPER. Probes and pages are absent unless `page_bytes`, the size of a page, is given; `iso` adds
    the answer's time in ISO 8601.
    """
    if len(targets) >= _HOLD_FROM:
        index.hold()
    columns = (
        Column("file", TEXT),
        Column("kind", TEXT),
        Column("target", TIMESTAMP if index.index_format.keyed_by_time and by == KEY else INT),
        Column("by", TEXT),
        Column("bound", TEXT),
        Column("search", TEXT),
        Column("slot"),
        Column("entry", TREE),
        Column("answer", TREE),
        Column("probes", TREE),
        Column("pages", TREE),
        Column("entries"),
    )
    rows = _rows(index, targets, searches, by, bound, page_bytes, iso)
    return Table("kidx.lookup.v1", columns, rows, notes=torn_note(index.path, index.extent.torn_bytes, index.entries))


def _rows(
    index: IndexReader,
    targets: Sequence[int],
    searches: Sequence[str],
    by: str,
    bound: str,
    page_bytes: int | None,
    iso: bool,
) -> Iterator[Sequence[Any]]:
    index_format = index.index_format
    slots = None if page_bytes or len(targets) < MANY else _slots_at_once(index, targets, by, bound)
    for number, target in enumerate(targets):
        for search in searches:
            path = index.look_up(target, by, bound, search, page_bytes) if page_bytes else None
            if path is not None:
                slot, found = path.slot, path.answer
            else:
                slot = _slot(index, target, by, bound, search) if slots is None else slots[number]
                found = index.answer(slot, by, bound)
            answer = _pair(index_format, *found, iso) if found else None
            entry = _entry(index, slot, answer) if answer and slot >= 0 else None
            probes = [_probe(index, probed, target, by, page_bytes or 0) for probed in path.probes] if path else None
            pages = path.pages if path else None
            yield (index.path, index_format.kind, target, by, bound, search, slot, entry, answer, probes, pages,
                   index.entries)  # fmt: skip


def _slot(index: IndexReader, target: int, by: str, bound: str, search: str) -> int:
    bounds = index.bounds(target, by, search)
    return bounds.lower if bound == LOWER else bounds.upper


def _slots_at_once(index: IndexReader, targets: Sequence[int], by: str, bound: str) -> list[int] | None:
    """The slots of all targets, the same for both searches; None for an index out of order, which must be searched."""
    many = index.many_lookups(by)
    if many is None:
        return None
    lower = many.lower(targets)
    slots: list[int] = (lower if bound == LOWER else many.upper(lower, targets)).tolist()
    return slots


def _pair(index_format: IndexFormat, key: int, value: int, iso: bool) -> dict[str, Any]:
    if not index_format.keyed_by_time:
        return {"offset": key, "position": value}
    if iso:
        from kidx.text.quantities import iso_time

        return {"timestamp": key, "timestamp_iso": iso_time(key), "offset": value}
    return {"timestamp": key, "offset": value}


def _entry(index: IndexReader, slot: int, pair: dict[str, Any]) -> dict[str, Any]:
    return {"slot": slot, **pair, "relative_offset": absolute_offset(-index.base_offset, pair["offset"])}


def _probe(index: IndexReader, slot: int, target: int, by: str, page_bytes: int) -> dict[str, Any]:
    """One step of a search: the slot read, its pages and bytes, the entry there, how it compares with the target."""
    from kidx.pages.geometry import pages_of_slot

    width, entry = index.index_format.size, index.entry(slot)
    number = entry[0] if by == KEY else entry[1]
    return {
        "slot": slot,
        "pages": list(pages_of_slot(slot, width, page_bytes)),
        "byte_start": slot * width,
        "byte_end": (slot + 1) * width,
        "entry": _pair(index.index_format, *entry, iso=False),
        "compared": number,
        "is": "<" if number < target else ">" if number > target else "=",
    }


def aborted_table(evidence: Evidence, fetch_from: int, fetch_to: int) -> Table:
    """kidx.aborted_lookup.v1: one row, the aborted transactions of a transaction index that a fetch overlaps.

    The fetch is of offsets from `fetch_from` up to `fetch_to`, that one excluded. Raises UsageError where it goes
    backward.
    """
    from kidx.lookup.aborted import collect_aborted, read_transactions

    if fetch_to < fetch_from:
        raise UsageError(f"--fetch-to {fetch_to} comes before --fetch-from {fetch_from}; a fetch goes forward")
    entries, torn_bytes = divmod(evidence.size, TRANSACTION_INDEX.size)
    answer = collect_aborted(read_transactions(evidence), fetch_from, fetch_to)
    aborted = [{"producer_id": t.producer_id, "first_offset": t.first_offset} for t in answer.aborted]
    columns = (
        Column("file", TEXT),
        Column("fetch_from"),
        Column("fetch_to"),
        Column("complete", BOOL),
        Column("aborted", TREE),
    )
    rows = [(evidence.path, fetch_from, fetch_to, answer.complete, aborted)]
    notes = torn_note(evidence.path, torn_bytes, entries)
    return Table("kidx.aborted_lookup.v1", columns, rows, notes=notes)
