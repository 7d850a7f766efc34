"""The rows of `kidx lookup` on an index file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from kidx.cli import complain
from kidx.errors import UsageError
from kidx.evidence import STDIN_NAMES, Evidence
from kidx.formats.indexes import TRANSACTION_INDEX, IndexFormat, absolute_offset
from kidx.logdir.names import base_offset_of
from kidx.lookup.index import IndexReader
from kidx.lookup.search import KEY, LOWER, STANDARD, WARM, Recorder
from kidx.lookup.touches import MANY, many_lookups
from kidx.pages.geometry import pages_of_slot, pages_touched
from kidx.tables.table import BOOL, INT, TEXT, TIMESTAMP, TREE, Column, Table
from kidx.tables.targets import read_targets, timestamp_ms, whole_number

_HOLD_FROM = 16  # look-ups from which one read of the whole index is cheaper than one of each probed entry


class Question(NamedTuple):
    """How each target is looked up; `page_bytes` is None where pages are not asked for."""

    searches: Sequence[str]
    by: str
    bound: str
    page_bytes: int | None
    iso: bool


def slot_lookup(
    evidence: Evidence,
    index_format: IndexFormat,
    *,
    base_offset: int | None,
    trace_pages: bool,
    iso: bool,
    **asked: Any,
) -> Table:
    """kidx.lookup.v1: a row a target and search. Raises UsageError for a target that is none."""
    path, by = evidence.path, asked["by"]
    if asked["fetch_from"] is not None or asked["fetch_to"] is not None:
        raise UsageError(f"{path}: --fetch-from and --fetch-to are for a transaction index; name targets instead")
    if path in STDIN_NAMES and ("-" in asked["targets"] or asked["from_file"] in STDIN_NAMES):
        raise UsageError("standard input cannot be both the index and its targets; name one of them")
    by_time = index_format.keyed_by_time and by == KEY
    targets = read_targets(asked["targets"], asked["from_file"], timestamp_ms if by_time else whole_number)
    if not targets and not asked["targets"] and asked["from_file"] is None:
        raise UsageError("no target given; name offsets (times for a time index), or `-` for standard input")
    index = searched_index(evidence, index_format, base_offset)
    if len(targets) >= _HOLD_FROM:
        index.hold()
    searches = (STANDARD, WARM) if asked["search"] == "both" else (asked["search"],)
    question = Question(searches, by, asked["bound"], asked["page_size"] if trace_pages else None, iso)
    columns = (
        Column("file", TEXT),
        Column("kind", TEXT),
        Column("target", TIMESTAMP if by_time else INT),
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
    return Table("kidx.lookup.v1", columns, _rows(index, targets, question))


def searched_index(evidence: Evidence, index_format: IndexFormat, base_offset: int | None) -> IndexReader:
    """An index to be searched; a torn end is said. Raises UsageError for one that has no search, or no base offset."""
    path = evidence.path
    if not index_format.searched:
        raise UsageError(f"{path}: a {index_format.name} is read from its start; there is no search to show")
    index = IndexReader(evidence, index_format, base_offset_of(path, base_offset))
    _say_torn(path, index.extent.torn_bytes, index.entries)
    return index


def _say_torn(path: str, torn_bytes: int, entries: int) -> None:
    if torn_bytes:
        ends = f"its last {torn_bytes} bytes are" if torn_bytes > 1 else "its last byte is"
        complain(f"{path}: {ends} no whole entry (torn); read up to there: {entries} whole entries")


def _rows(index: IndexReader, targets: Sequence[int], question: Question) -> Iterator[Sequence[Any]]:
    searches, by, bound, page_bytes, iso = question
    read, index_format = index.reader(by), index.index_format
    probes: list[dict[str, Any]] | None = None
    pages: list[int] | None = None
    slots = None if page_bytes or len(targets) < MANY else _slots_at_once(index, targets, by, bound)
    for number, target in enumerate(targets):
        for search in searches:
            watched = Recorder(read) if page_bytes else None
            if slots is not None:
                slot = slots[number]
            else:
                bounds = index.bounds(target, by, search, watched or read)
                slot = bounds.lower if bound == LOWER else bounds.upper
            found = index.answer(slot, by, bound)
            answer = _pair(index_format, *found, iso) if found else None
            entry = _entry(index, slot, answer) if answer and slot >= 0 else None
            if watched and page_bytes:
                probes = [
                    _probe(index, probed, read_there, target, page_bytes) for probed, read_there in watched.probes
                ]
                pages = pages_touched((probed for probed, _ in watched.probes), index_format.size, page_bytes)
            yield (index.path, index_format.kind, target, by, bound, search, slot, entry, answer, probes, pages,
                   index.entries)  # fmt: skip


def _slots_at_once(index: IndexReader, targets: Sequence[int], by: str, bound: str) -> list[int] | None:
    """The slots of all targets, the same for both searches; None where only a search tells (a disordered index)."""
    many = many_lookups(index, by)
    if many is None:
        return None
    lower = many.lower(targets)
    slots: list[int] = (lower if bound == LOWER else many.upper(lower, targets)).tolist()
    return slots


def _pair(index_format: IndexFormat, key: int, value: int, iso: bool) -> dict[str, Any]:
    if not index_format.keyed_by_time:
        return {"offset": key, "position": value}
    if iso:
        from kidx.report.formats.render import iso_time

        return {"timestamp": key, "timestamp_iso": iso_time(key), "offset": value}
    return {"timestamp": key, "offset": value}


def _entry(index: IndexReader, slot: int, pair: dict[str, Any]) -> dict[str, Any]:
    return {"slot": slot, **pair, "relative_offset": absolute_offset(-index.base_offset, pair["offset"])}


def _probe(index: IndexReader, slot: int, number: int, target: int, page_bytes: int) -> dict[str, Any]:
    """One step of a search: the slot read, its pages and bytes, the entry there, how it compares with the target."""
    width = index.index_format.size
    return {
        "slot": slot,
        "pages": list(pages_of_slot(slot, width, page_bytes)),
        "byte_start": slot * width,
        "byte_end": (slot + 1) * width,
        "entry": _pair(index.index_format, *index.entry(slot), iso=False),
        "compared": number,
        "is": "<" if number < target else ">" if number > target else "=",
    }


def aborted_lookup(evidence: Evidence, *, fetch_from: int | None, fetch_to: int | None, **asked: Any) -> Table:
    """kidx.aborted_lookup.v1: the aborted transactions that a fetch overlaps. Raises UsageError without a fetch."""
    from kidx.lookup.aborted import collect_aborted, read_transactions

    if asked["targets"] or fetch_from is None or fetch_to is None:
        raise UsageError(
            f"{evidence.path}: a transaction index is asked with --fetch-from OFFSET --fetch-to OFFSET, without targets"
        )
    if fetch_to < fetch_from:
        raise UsageError(f"--fetch-to {fetch_to} comes before --fetch-from {fetch_from}; a fetch goes forward")
    entries, torn_bytes = divmod(evidence.size, TRANSACTION_INDEX.size)
    _say_torn(evidence.path, torn_bytes, entries)
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
    return Table("kidx.aborted_lookup.v1", columns, rows)
