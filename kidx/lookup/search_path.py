"""One search, recorded: the slots it reads and the pages they lie on."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kidx.lookup.search import LOWER, Recorder
from kidx.pages.geometry import pages_touched

if TYPE_CHECKING:
    from kidx.lookup.index import IndexReader


class LookUp(NamedTuple):
    """One search: the slot it ends in (-1 none), what Kafka's method returns (key, value; None for nothing), the slots
    read in order, and the distinct pages touched in the order of first touch.
    """

    slot: int
    answer: tuple[int, int] | None
    probes: list[int]
    pages: list[int]


def look_up(index: IndexReader, target: int, by: str, bound: str, search: str, page_bytes: int) -> LookUp:
    """Search an index as IndexReader.look_up describes it."""
    recorder = Recorder(index.reader(by))
    bounds = index.bounds(target, by, search, recorder)
    slot = bounds.lower if bound == LOWER else bounds.upper
    probes = [probed for probed, _ in recorder.probes]
    pages = pages_touched(probes, index.index_format.size, page_bytes)
    return LookUp(slot, index.answer(slot, by, bound), probes, pages)
