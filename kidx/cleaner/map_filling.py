"""Filling the offset map from the dirty part of a log.

Source: Cleaner.buildOffsetMap and buildOffsetMapForSegment.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kidx.cleaner.batches import aborted_in, read_batches
from kidx.cleaner.dirty_range import DirtyRange
from kidx.cleaner.offset_map import OffsetMap
from kidx.cleaner.transactions import CleanedTransactions
from kidx.logdir.tree import Segment
from kidx.lookup.partition import PartitionReader


class Filled(NamedTuple):
    """`full`: the map ended the pass. `ends_new`: the last keyed record brought a new key, and none followed it."""

    full: bool
    ends_new: bool


def fill(offset_map: OffsetMap, reader: PartitionReader, dirty: DirtyRange, load_factor: float) -> Filled:
    """Put the dirty records' keys into the map, and set its latest offset to the end of what was read.

    A full map ends the pass, even inside a segment; the rest is left to the next one. (In 0.10.0 and before the cleaner
    thread died instead: KAFKA-3894.)
    """
    most = int(offset_map.slots * load_factor)
    segments = dirty_segments(reader, dirty)
    transactions = CleanedTransactions()
    ends_new = False
    for i, segment in enumerate(segments):
        after = segments[i + 1].base_offset if i + 1 < len(segments) else dirty.first_uncleanable
        transactions.add_aborted(aborted_in(reader, segment, after))
        filled = _fill_from(offset_map, segment, dirty.first_dirty, most, transactions)
        if filled is None:
            return Filled(True, False)
        ends_new = ends_new if filled == _NO_KEY else filled == _NEW_KEY
        offset_map.update_latest_offset(after - 1)  # offsets may be missing at a segment's end
    return Filled(False, ends_new)


def dirty_segments(reader: PartitionReader, dirty: DirtyRange) -> list[Segment]:
    """From the segment that holds the first dirty offset up to the first uncleanable one."""
    if dirty.first_dirty >= dirty.first_uncleanable:
        return []
    from_first = reader.segments_from(reader.segment_for(dirty.first_dirty))
    return [s for s in from_first if s.base_offset < dirty.first_uncleanable]


def dirty_keys(reader: PartitionReader, dirty: DirtyRange) -> Iterator[tuple[bytes, int]]:
    """Key and offset of every record that a map without a limit would take, in the log's order."""
    transactions = CleanedTransactions()
    segments = dirty_segments(reader, dirty)
    for i, segment in enumerate(segments):
        after = segments[i + 1].base_offset if i + 1 < len(segments) else dirty.first_uncleanable
        transactions.add_aborted(aborted_in(reader, segment, after))
        for batch, records, marker in read_batches(segment):
            if batch.control:
                transactions.marker_is_spent(batch, marker)
            elif not transactions.batch_is_aborted(batch):
                for record in records:
                    if record.key is not None and record.offset >= dirty.first_dirty:
                        yield record.key, record.offset


_NO_KEY, _NEW_KEY, _KNOWN_KEY = range(3)  # how a segment's last keyed record left the map


def _fill_from(
    offset_map: OffsetMap, segment: Segment, first_dirty: int, most: int, transactions: CleanedTransactions
) -> int | None:
    """Put one segment's keys; returns how the last one left the map, None if the map became full."""
    last = _NO_KEY
    for batch, records, marker in read_batches(segment):
        if batch.control:
            transactions.marker_is_spent(batch, marker)
        elif not transactions.batch_is_aborted(batch):
            for record in records:
                if record.key is not None and record.offset >= first_dirty:
                    before = offset_map.size
                    if before >= most:
                        return None
                    offset_map.put(record.key, record.offset)
                    last = _NEW_KEY if offset_map.size > before else _KNOWN_KEY
        if batch.last_offset >= first_dirty:
            offset_map.update_latest_offset(batch.last_offset)
    return last
