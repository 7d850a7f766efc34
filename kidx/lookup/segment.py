"""Look-ups that end in a log: an offset's batch, a timestamp's record, the slice that a fetch gets.

Source: org.apache.kafka.storage.internals.log.LogSegment (translateOffset, findOffsetByTimestamp, read) and
org.apache.kafka.common.record.FileRecords (searchForOffsetFromPosition, searchForTimestamp). Headers are walked by
pread and only the batches in question are decoded: no numpy.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, NamedTuple

from kidx.errors import LimitExceeded
from kidx.evidence import Evidence, exists
from kidx.formats.batches import HEADER_BYTES, NO_TIMESTAMP, Batch
from kidx.formats.records import Record
from kidx.logdir.names import INDEX_OF_KIND, LOG, OFFSET, SEGMENT_SUFFIX, TIME, FileName
from kidx.logdir.tree import DataFile, Segment
from kidx.lookup.index import IndexReader
from kidx.lookup.search import VALUE, Recorder
from kidx.pages.geometry import PAGE_BYTES, pages_of_bytes, pages_touched
from kidx.segments.records import first_offset, read_records
from kidx.segments.walk import NO_BATCH, TORN, Ending, Walk, walk

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from kidx.segments.scan import Scan


class FoundBatch(NamedTuple):
    """Where an offset is: the index slot where the walk began (-1: the log's start), its position in bytes, how many
    bytes of batches were walked, and the batch, None if no batch of the segment reaches the offset.

    `base_offset` is the batch's first offset, as Kafka 4.3 returns it: of a compressed v0 or v1 message the first one
    inside. `record` is the first one at or past the target, None if compaction left none in this batch.
    """

    index_slot: int
    index_position: int
    bytes_walked: int
    batch: Batch | None
    base_offset: int
    record: Record | None


NOT_FOUND = FoundBatch(-1, 0, 0, None, -1, None)


class FoundTime(NamedTuple):
    """A record found by its timestamp; all None if there is none, `leader_epoch` also if its batch has none."""

    bytes_walked: int
    timestamp: int | None
    offset: int | None
    leader_epoch: int | None


class Slice(NamedTuple):
    """What LogSegment.read returns: `size` bytes from `position`. `last_offset` is that of the last whole batch in it,
    `partial_bytes` what follows it: consumers drop a batch that was cut off.
    """

    position: int
    size: int
    last_offset: int
    partial_bytes: int


class SegmentReader:
    """One segment opened for look-ups. A context manager.

    Missing indexes are named in `missing`; the walk then begins at the log's start, as with an empty index. `troubles`
    has a sentence for each problem that a broker would run into. Raises CannotRead if the log cannot be opened.
    """

    def __init__(self, segment: Segment) -> None:
        self.segment, self.base_offset = segment, segment.base_offset
        self.missing: list[str] = []
        self.troubles: list[str] = []
        self._touched: dict[str, list[int]] = {}
        self._log_spans: list[tuple[int, int]] = []
        with ExitStack() as stack:
            self.log = stack.enter_context(segment.files[LOG].open())
            self.offsets = self._index(OFFSET, stack)
            self.times = self._index(TIME, stack)
            self._open = stack.pop_all()

    def __enter__(self) -> SegmentReader:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def translate_offset(self, target: int) -> FoundBatch:
        """LogSegment.translateOffset: the first batch whose last offset is at or past the target."""
        slot, position = self._start_of(target)
        walked = walk(self.log, position)
        for batch in self._headers(walked):
            if batch.last_offset >= target:
                records = self._records(batch)
                record = next((r for r in records if r.offset >= target), None)
                base_offset = first_offset(self.log, batch)
                return FoundBatch(slot, position, walked.bytes_walked, batch, base_offset, record)
        return FoundBatch(slot, position, walked.bytes_walked, None, -1, None)

    def find_by_timestamp(self, timestamp: int, start: int) -> FoundTime:
        """LogSegment.findOffsetByTimestamp: the first record at or past `timestamp` whose offset is at least `start`.

        First in the order of offsets; Kafka walks from where the indexes point and skips batches of older maximum.
        """
        _, position = self._start_of(max(self._offset_before(timestamp), start))
        walked = walk(self.log, position)
        for batch in self._headers(walked):
            if batch.max_timestamp < timestamp:
                continue
            for record in self._records(batch):
                if record.timestamp >= timestamp and record.offset >= start:
                    epoch = batch.leader_epoch if batch.leader_epoch >= 0 else None
                    return FoundTime(walked.bytes_walked, record.timestamp, record.offset, epoch)
        return FoundTime(walked.bytes_walked, None, None, None)

    def find_timestamp_from(self, timestamp: int, offset: int) -> FoundTime:
        """Find the maximum timestamp as UnifiedLog does: the first record with this timestamp in the first batch whose
        maximum it is, from where the offset index points for `offset`; none for -1, no timestamp.
        """
        if timestamp < 0:
            return FoundTime(0, None, None, None)
        _, position = self._start_of(offset)
        walked = walk(self.log, position)
        for batch in self._headers(walked):
            if batch.max_timestamp == timestamp:
                epoch = batch.leader_epoch if batch.leader_epoch >= 0 else None
                for record in self._records(batch):
                    if record.timestamp == timestamp:
                        return FoundTime(walked.bytes_walked, timestamp, record.offset, epoch)
        return FoundTime(walked.bytes_walked, None, None, None)

    def slice(self, found: Batch, max_bytes: int) -> Slice:
        """LogSegment.read with minOneMessage, as for a fetch's first partition (KIP-74): at least the batch found."""
        size = min(max(max_bytes, found.size), self.log.size - found.position)
        end = found.position + size
        last_offset, whole_end = found.last_offset, found.next_position
        for batch in walk(self.log, found.position):
            if batch.next_position > end:
                break
            last_offset, whole_end = batch.last_offset, batch.next_position
        return Slice(found.position, size, last_offset, end - whole_end)

    def largest_timestamp(self, *, active: bool) -> tuple[int, int]:
        """LogSegment.readMaxTimestampAndOffsetSoFar: the largest timestamp (-1 for none) and its offset.

        A rolled segment's last time index entry has both. An active, preallocated or missing index may be behind, so
        the batches from that entry's offset on are walked, too.
        """
        largest = (NO_TIMESTAMP, self.base_offset)
        if self.times is not None:
            if self.times.entries:
                largest = self.times.entry(self.times.entries - 1)
            if not active and not self.times.extent.zero_tail_bytes:
                return largest
        for batch in walk(self.log, self._start_of(largest[1])[1]):
            if batch.max_timestamp > largest[0]:
                largest = batch.max_timestamp, batch.last_offset
        return largest

    def end_offset(self) -> int:
        """The offset after the last batch's last; the base offset of an empty log."""
        end = self.base_offset
        for batch in walk(self.log, self._start_of(2**63 - 1)[1]):
            end = batch.last_offset + 1
        return end

    def batches_from(self, offset: int) -> Walk:
        """The batches from where the offset index points for an offset; earlier ones may come first."""
        return walk(self.log, self._start_of(offset)[1])

    def windows(self, *, check_crc: bool = True) -> Scan:
        """Every batch from the log's start, a few MiB of the log at a time: Windows of columns (kidx.segments.windows).

        Afterwards, the scan's `ending` states how the log ended.
        """
        from kidx.segments.scan import scan

        index = self.offsets
        positions = None if index is None else lambda: index.column(VALUE)
        return scan(self.log, positions, check_crc=check_crc)

    def batches(self, *, check_crc: bool = True) -> npt.NDArray[np.void]:
        """Every batch of the log as one structured array, shape (batches,); about 90 bytes of memory per batch.

        The columns are kidx.segments.windows.COLUMNS. If the log does not end at a batch's end, `troubles` states it.
        """
        import numpy as np

        from kidx.segments.windows import COLUMNS

        scanned = self.windows(check_crc=check_crc)
        parts = [window.to_numpy() for window in scanned]
        self._note_ending(scanned.ending)
        return np.concatenate(parts) if parts else np.empty(0, COLUMNS)

    def records(self, start: int | None = None) -> Iterator[Record]:
        """Every record from the offset `start` on, control records among them, one batch in memory at a time.

        What cannot be decoded is in `troubles` and left out. Raises LimitExceeded for a batch too large to inflate.
        """
        walked = self.batches_from(self.base_offset if start is None else start)
        for batch in self._headers(walked):
            if start is None or batch.last_offset >= start:
                yield from (r for r in self._records(batch) if start is None or r.offset >= start)

    def pages(self, page_bytes: int = PAGE_BYTES) -> dict[str, list[int]]:
        """Distinct pages touched so far, in order of first touch: of the indexes, and of the log (headers walked over,
        and the whole batches that were decoded).
        """
        touched = {
            name: pages_touched(self._touched.get(kind, []), INDEX_OF_KIND[kind].size, page_bytes)
            for name, kind in (("time_index", TIME), ("index", OFFSET))
            if name == "index" or kind in self._touched
        }
        log = dict.fromkeys(page for span in self._log_spans for page in pages_of_bytes(*span, page_bytes))
        return {**touched, "log": list(log)}

    def _index(self, kind: str, stack: ExitStack) -> IndexReader | None:
        file = self.segment.file(kind)
        if file is None:
            self.missing.append(kind)
            return None
        evidence: Evidence = stack.enter_context(file.open())
        return IndexReader(evidence, INDEX_OF_KIND[kind], self.base_offset)

    def _start_of(self, offset: int) -> tuple[int, int]:
        """Slot and position that the offset index gives for an offset, (-1, 0) where it has none.

        A position outside the log is added to `troubles` and treated as the log's end, where a broker finds nothing.
        """
        slot = self._slot(self.offsets, OFFSET, offset)
        if self.offsets is None or slot < 0:
            return -1, 0
        position = self.offsets.entry(slot)[1]
        if not 0 <= position <= self.log.size:
            trouble = f"its offset index leads to byte {position} (slot {slot}), and it has {self.log.size} bytes"
            self.troubles.append(f"{self.log.path}: {trouble}")
            return slot, self.log.size
        return slot, position

    def _offset_before(self, timestamp: int) -> int:
        slot = self._slot(self.times, TIME, timestamp)
        return self.times.entry(slot)[1] if self.times is not None and slot >= 0 else self.base_offset

    def _slot(self, index: IndexReader | None, kind: str, target: int) -> int:
        if index is None:
            return -1
        recorder = Recorder(index.reader())
        slot = index.bounds(target, read=recorder).lower
        self._touched.setdefault(kind, []).extend(probed for probed, _ in recorder.probes)
        return slot

    def _headers(self, walked: Walk) -> Iterator[Batch]:
        """The batches of a walk, noting which bytes it touches, and what ends it if not the log's end."""
        for batch in walked:
            self._log_spans.append((batch.position, batch.position + min(HEADER_BYTES, batch.size)))
            yield batch
        self._note_ending(walked.ending, walked.start)

    def _note_ending(self, ending: Ending | None, start: int = 0) -> None:
        if ending is not None and ending.kind in (NO_BATCH, TORN):
            where = ", where the offset index leads" if ending.position == start > 0 else ""
            self.troubles.append(f"{self.log.path}: no whole batch at byte {ending.position}{where}: {ending.why}")

    def _records(self, batch: Batch) -> list[Record]:
        self._log_spans.append((batch.position, batch.next_position))
        decoded = read_records(self.log, batch)
        if decoded.damage is not None:
            trouble = f"{self.log.path}: the batch at byte {batch.position} cannot be decoded: {decoded.damage.why}"
            if decoded.damage.limit:
                raise LimitExceeded(trouble)
            self.troubles.append(trouble)
        return decoded.records


def segment_of(log_path: str, name: FileName, base_offset: int) -> Segment:
    """The segment of a .log file, with its index files that exist (the same name, another suffix)."""
    segment = Segment(os.path.dirname(log_path), base_offset, name.state, name.tag)
    segment.files[LOG] = DataFile(log_path, name)
    stem = log_path.removesuffix(name.state).removesuffix(SEGMENT_SUFFIX[LOG])
    for kind in INDEX_OF_KIND:
        path = f"{stem}{SEGMENT_SUFFIX[kind]}{name.state}"
        if exists(path):
            segment.files[kind] = DataFile(path, name._replace(kind=kind))
    return segment
