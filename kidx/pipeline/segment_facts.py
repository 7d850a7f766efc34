"""The facts about a segment that questions about a fleet need, from a few short reads at the ends of its indexes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kidx.checks.engine.partition_context import is_tiered
from kidx.errors import KidxError
from kidx.formats.indexes import IndexFormat
from kidx.logdir.names import INDEX_OF_KIND, LOG, OFFSET, TIME
from kidx.logdir.tree import Partition, Segment
from kidx.lookup.index import IndexReader
from kidx.pages.geometry import pages_of_bytes


class SegmentFacts(NamedTuple):
    """One segment as its indexes describe it. Numbers are None where an index is missing, empty or unreadable.

    `warm_from_offset` is the first offset of the offset index's warm section: look-ups below it read cold pages.
    `warm_pages` counts the 4 KB pages of both indexes' warm sections. `largest_timestamp` is the time index's last.
    """

    directory: str
    base_offset: int
    state: str
    active: bool
    log_bytes: int
    index_bytes: int
    offset_entries: int
    time_entries: int
    zero_tail_bytes: int
    last_indexed_offset: int | None
    warm_from_offset: int | None
    warm_pages: int
    largest_timestamp: int | None


def segment_facts(partition: Partition) -> Iterator[SegmentFacts]:
    """The facts of every segment with a log or an index. What cannot be read counts as missing."""
    active = partition.active_segment
    for segment in partition.all_segments:
        files = [segment.files[kind] for kind in (LOG, *INDEX_OF_KIND) if kind in segment.files]
        if files and not any(map(is_tiered, files)):
            yield _facts(segment, segment is active)


def _facts(segment: Segment, active: bool) -> SegmentFacts:
    offsets, times = _ends(segment, OFFSET), _ends(segment, TIME)
    return SegmentFacts(
        directory=segment.directory,
        base_offset=segment.base_offset,
        state=segment.state,
        active=active,
        log_bytes=_size(segment, LOG),
        index_bytes=sum(_size(segment, kind) for kind in INDEX_OF_KIND),
        offset_entries=offsets.entries,
        time_entries=times.entries,
        zero_tail_bytes=offsets.zero_tail_bytes + times.zero_tail_bytes,
        last_indexed_offset=offsets.last_key,
        warm_from_offset=offsets.warm_key,
        warm_pages=offsets.warm_pages + times.warm_pages,
        largest_timestamp=times.last_key,
    )


class _Ends(NamedTuple):
    entries: int = 0
    zero_tail_bytes: int = 0
    last_key: int | None = None
    warm_key: int | None = None
    warm_pages: int = 0


def _ends(segment: Segment, kind: str) -> _Ends:
    file = segment.file(kind)
    if file is None:
        return _Ends()
    index_format = INDEX_OF_KIND[kind]
    try:
        with file.open() as evidence:
            reader = IndexReader(evidence, index_format, segment.base_offset)
            extent, count = reader.extent, reader.entries
            if not count:
                return _Ends(zero_tail_bytes=extent.zero_tail_bytes)
            first_warm = max(0, count - 1 - index_format.warm_entries)
            return _Ends(
                count,
                extent.zero_tail_bytes,
                reader.entry(count - 1)[0],
                reader.entry(first_warm)[0],
                _warm_pages(index_format, first_warm, count),
            )
    except KidxError:
        return _Ends()


def _warm_pages(index_format: IndexFormat, first: int, count: int) -> int:
    return len(pages_of_bytes(first * index_format.size, count * index_format.size))


def _size(segment: Segment, kind: str) -> int:
    file = segment.file(kind)
    try:
        return file.size() if file else 0
    except KidxError:
        return 0
