"""The pages that look-ups in an index touch: for one target, for many, and for the last entry of a growing index."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from kidx.errors import UsageError
from kidx.formats.indexes import WARM_SECTION_BYTES
from kidx.lookup.index import MANY, IndexReader
from kidx.lookup.search import Recorder, first_warm_slot, search
from kidx.lookup.search_path import LookUp
from kidx.pages.geometry import PAGE_BYTES, pages_touched

TAIL, UNIFORM, ALL, REPLAY = "tail", "uniform", "all", "replay"
UNIFORM_LOOKUPS = 100_000


def lookup_by_key(index: IndexReader, target: int, kind: str, page_bytes: int = PAGE_BYTES) -> LookUp:
    """Search for one key, recording its path."""
    return index.look_up(target, search=kind, page_bytes=page_bytes)


def touches_of(index: IndexReader, targets: Sequence[int], kind: str, page_bytes: int = PAGE_BYTES) -> Counter[int]:
    """How many of the look-ups touch each page, by page; pages never touched are left out."""
    if len(targets) >= MANY and (many := index.many_lookups()):
        counts = many.paths(kind, page_bytes).touches(many.look_up(targets, kind, page_bytes).paths)
        return Counter({page: times for page, times in enumerate(counts.tolist()) if times})
    touched: Counter[int] = Counter()
    for target in targets:
        touched.update(lookup_by_key(index, target, kind, page_bytes).pages)
    return touched


def workload_targets(index: IndexReader, workload: str, seed: int) -> list[int]:
    """The targets of a workload, keys of the index.

    `tail`: the entries of the warm section, as in-sync readers look them up. `all`: every entry. `uniform`: 100,000
    numbers between the first and the last key, the same for the same seed. Raises UsageError for an empty index.
    """
    if not index.entries:
        raise UsageError(f"{index.path}: it has no entries, so there is nothing that a workload could look up")
    if workload == UNIFORM:
        from random import Random

        low, high = sorted((index.entry(0)[0], index.entry(index.entries - 1)[0]))
        random = Random(seed)
        return [random.randint(low, high) for _ in range(UNIFORM_LOOKUPS)]
    keys: list[int] = index.column().tolist()
    return keys[-index.index_format.warm_entries :] if workload == TAIL else keys


class Growth(NamedTuple):
    """What a look-up of the last entry needs when an index has just filled its last page.

    `new` are the pages that it did not need when the index was one page shorter.
    """

    pages: int
    entries: int
    warm_from_page: int
    needs: list[int]
    new: list[int]


def growth(pages: int, entry_bytes: int, kind: str, page_bytes: int = PAGE_BYTES) -> Growth:
    """The subject of KAFKA-6432: looking up the last entry in an index of `pages` full pages, for any entries."""
    needs, entries, warm_from = _last_entry(pages, entry_bytes, kind, page_bytes)
    before = _last_entry(pages - 1, entry_bytes, kind, page_bytes)[0]
    return Growth(pages, entries, warm_from, needs, [page for page in needs if page not in before])


def _last_entry(pages: int, entry_bytes: int, kind: str, page_bytes: int) -> tuple[list[int], int, int]:
    entries = pages * page_bytes // entry_bytes
    warm_entries = WARM_SECTION_BYTES // entry_bytes
    recorder = Recorder(lambda slot: slot)  # any rising keys do: the way depends on slots alone
    search(recorder, entries, warm_entries, entries - 1, kind)
    touched = pages_touched((slot for slot, _ in recorder.probes), entry_bytes, page_bytes)
    return touched, entries, first_warm_slot(entries, warm_entries) * entry_bytes // page_bytes
