"""Records of a log as columns, from a range of offsets, timestamps or bytes; what cannot be read is reported."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kidx.evidence import INDEX_BYTES, Evidence, exists, open_evidence
from kidx.formats.batches import COUNT_UNKNOWN, HEADER_BYTES, Batch, fault_at, parse_batch
from kidx.formats.checksums import crc_holds
from kidx.formats.indexes import OFFSET_INDEX, TIME_INDEX, IndexFormat, decode, extent_of
from kidx.logdir.names import parse_file_name
from kidx.segments.record_blocks import RecordDecoder
from kidx.segments.record_columns import RecordColumns
from kidx.segments.resume import resume
from kidx.segments.scan import Scan, scan
from kidx.segments.walk import END, walk
from kidx.segments.windows import Window

if TYPE_CHECKING:
    import numpy.typing as npt

    from kidx.segments.varints import Ints

    Bools = npt.NDArray[np.bool_]

CRC = "crc"
_TRIED_ENTRIES = 64  # index entries looked at for one that a batch confirms
_TRIED_BATCHES = 64  # between an offset index's entry and the batch of an offset after it
_LARGEST_PROOF_BYTES = 64 << 20

Entries = Callable[[], "Mapping[str, Ints]"]
Range = tuple[int | None, int | None]
_NO_LIMIT: Range = (None, None)


def confirmed(log: Evidence, position: int, offset: int) -> Batch | None:
    """The batch at an index entry's position, None unless it has a correct CRC and holds the entry's offset."""
    head = log.read(position, HEADER_BYTES) if 0 <= position < log.size else b""
    if not head or fault_at(head, 0, log.size - position) is not None:
        return None
    batch = parse_batch(head, 0, position)
    if batch.size > _LARGEST_PROOF_BYTES or not batch.base_offset <= offset <= batch.last_offset:
        return None
    return batch if crc_holds(batch, log.read(position, batch.size)) else None


class LogIndexes:
    """The offset index and time index of a log. They are hints: an entry is used where a batch of the log confirms it.

    The functions return the entries' columns (kidx.formats.indexes.decode) and are called when first needed. An index
    that is not in order is not used.
    """

    def __init__(self, offsets: Entries, times: Entries | None = None) -> None:
        self._read_offsets, self._read_times = offsets, times

    @classmethod
    def next_to(cls, path: str) -> LogIndexes | None:
        """The indexes next to a local log or a copy in a tier, None if it has no offset index."""
        stem, suffix = os.path.splitext(path)
        offset_index, time_index = stem + OFFSET_INDEX.suffix, stem + TIME_INDEX.suffix
        if suffix != ".log" or not exists(offset_index):
            return None
        times = (lambda: _entries_of(TIME_INDEX, time_index)) if exists(time_index) else None
        return cls(lambda: _entries_of(OFFSET_INDEX, offset_index), times)

    @cached_property
    def _offsets(self) -> Mapping[str, Ints]:
        return self._read_offsets()

    def positions(self) -> Ints:
        """The positions in the offset index, in any order and state: int64, shape (entries,)."""
        return self._offsets["position"]

    @cached_property
    def _in_order(self) -> tuple[Ints, Ints]:
        """Offsets and positions of the offset index; empty if they do not rise."""
        offsets, positions = self._offsets["offset"], self._offsets["position"]
        if (np.diff(offsets) <= 0).any() or (np.diff(positions) <= 0).any():
            return offsets[:0], positions[:0]
        return offsets, positions

    def _confirmed(self, log: Evidence, slots: Iterable[int]) -> Iterator[Batch]:
        """Batches that confirm entries: of the first few of these slots."""
        offsets, positions = self._in_order
        for slot in islice(slots, _TRIED_ENTRIES):
            batch = confirmed(log, int(positions[slot]), int(offsets[slot]))
            if batch is not None:
                yield batch

    def before(self, log: Evidence, offset: int) -> int:
        """A byte at which a batch starts and before which all offsets are smaller, as late as the index says."""
        slot = int(self._in_order[0].searchsorted(offset, "right")) - 1
        batches = self._confirmed(log, range(slot, -1, -1))
        return next((batch.position for batch in batches if batch.base_offset <= offset), 0)

    def after(self, log: Evidence, offset: int) -> int:
        """A byte at which a batch starts and from which on all offsets are larger, as early as the index says."""
        offsets = self._in_order[0]
        batches = self._confirmed(log, range(int(offsets.searchsorted(offset, "right")), len(offsets)))
        known = (batch for batch in batches if batch.record_count != COUNT_UNKNOWN)  # else the base offset is the last
        return next((batch.position for batch in known if batch.base_offset > offset), log.size)

    def before_time(self, log: Evidence, timestamp: int) -> int:
        """A byte at which a batch starts and before which all timestamps are smaller, as late as the indexes say.

        An entry of the time index has the largest timestamp up to its offset, in whose batch it is.
        """
        if self._read_times is None:
            return 0
        entries = self._read_times()
        times, offsets = entries["timestamp"], entries["offset"]
        if (np.diff(times) < 0).any() or (np.diff(offsets) < 0).any():
            return 0
        slot = int(times.searchsorted(timestamp)) - 1
        if slot < 0:
            return 0
        start, offset = self.before(log, int(offsets[slot])), int(offsets[slot])
        found = next((batch for batch in islice(walk(log, start), _TRIED_BATCHES) if batch.last_offset >= offset), None)
        return start if found is not None and found.max_timestamp == int(times[slot]) else 0

    def last_pieces(self, log: Evidence, first_bytes: int = 1 << 16) -> Iterator[tuple[int, int]]:
        """Byte ranges of a log from its end to its start, cut where batches start, each about twice the one before."""
        positions = self._in_order[1]
        end, wanted = log.size, first_bytes
        while end > 0:
            slot = int(positions.searchsorted(end - wanted, "right")) - 1
            start = next((batch.position for batch in self._confirmed(log, range(slot, -1, -1))), 0)
            yield start, end
            end, wanted = start, 2 * wanted


def _entries_of(index_format: IndexFormat, path: str) -> Mapping[str, Ints]:
    with open_evidence(path) as evidence:
        entries = extent_of(index_format, evidence, search=True).entries
        if entries * index_format.size > INDEX_BYTES:
            entries = 0
        name = parse_file_name(path)
        base_offset = (name and name.base_offset) or 0  # a wrong one makes offsets that no batch confirms
        return decode(index_format, evidence.read(0, entries * index_format.size), base_offset)


class DamagedRange(NamedTuple):
    """Bytes [start, end) of a log whose records cannot be read, or not all.

    `kind` is CRC, a kind of formats.records.Damage, or where there is no batch one of segments.walk's endings
    (PREALLOCATED: zeros to the end, which is no damage). `base_offset` and `last_offset` are those of the batch's
    header, None without a batch.
    """

    start: int
    end: int
    kind: str
    why: str
    base_offset: int | None = None
    last_offset: int | None = None


class Wanted(NamedTuple):
    """Which records: ranges of offsets and timestamps, both ends included, None for no limit; of a producer.

    `control`: control records too. `damaged`: those of batches with wrong CRCs too, as far as they can be read.
    """

    offsets: Range = _NO_LIMIT
    timestamps: Range = _NO_LIMIT
    producer_id: int | None = None
    control: bool = True
    damaged: bool = False


EVERYTHING = Wanted()


class ColumnReader(Iterator[RecordColumns]):
    """The wanted records of a log, block after block in the log's order.

    `damage` is what could not be read so far, `batches` counts the batches seen, `position` is the byte after them.
    """

    def __init__(
        self, log: Evidence, indexes: LogIndexes | None, start: int, end: int, wanted: Wanted, check_crc: bool
    ) -> None:
        self.log, self.wanted = log, wanted
        self.damage: list[DamagedRange] = []
        self.batches = 0
        self.position, self.end = start, end
        self._indexes, self._check_crc = indexes, check_crc
        self._blocks = self._read()

    def __next__(self) -> RecordColumns:
        return next(self._blocks)

    def _read(self) -> Iterator[RecordColumns]:
        self._seek()
        decoder = RecordDecoder(self.log, partly=True)
        start: int | None = self.position
        while start is not None:
            positions = None if self._indexes is None else self._indexes.positions
            windows = scan(self.log, positions, start=start, end=self.end, check_crc=self._check_crc, hold=True)
            for window in windows:
                self.batches += len(window)
                self.position = window.end
                yield from self._window(decoder, window)
            start = self._after(windows)

    def _seek(self) -> None:
        """Narrow the bytes to read to those that the indexes name."""
        log, indexes = self.log, self._indexes
        if indexes is None:
            return
        (low, high), (since, _) = self.wanted.offsets, self.wanted.timestamps
        if low is not None:
            self.position = max(self.position, indexes.before(log, low))
        if since is not None:
            self.position = max(self.position, indexes.before_time(log, since))
        if high is not None:
            self.end = min(self.end, indexes.after(log, high))

    def _after(self, windows: Scan) -> int | None:
        ending = windows.ending
        if ending is None or ending.kind == END:
            return None
        following = resume(self.log, ending.position, self.end)
        end = self.end if following is None else following
        self.damage.append(DamagedRange(ending.position, end, ending.kind, ending.why))
        self.position = end
        return following

    def _window(self, decoder: RecordDecoder, window: Window) -> Iterator[RecordColumns]:
        may_hold = _batches_that_may_hold(window, self.wanted)
        if window.bad_crc:
            for row in window.bad_crc:
                if may_hold[row]:
                    self._report(window.batch(row), CRC, "its CRC does not match")
            if not self.wanted.damaged:
                may_hold[window.bad_crc] = False
        if not may_hold.any():
            return
        for block in decoder.blocks(window, None if may_hold.all() else may_hold):
            for row, damage in block.damage:
                self._report(window.batch(row), damage.kind, damage.why)
            keep = _records_that_match(block, self.wanted)
            if keep is not None:
                block = block.where(keep)
            if len(block):
                yield block

    def _report(self, batch: Batch, kind: str, why: str) -> None:
        self.damage.append(
            DamagedRange(batch.position, batch.next_position, kind, why, batch.base_offset, batch.last_offset)
        )


def read_columns(
    log: Evidence,
    indexes: LogIndexes | None = None,
    wanted: Wanted = EVERYTHING,
    *,
    start: int = 0,
    end: int | None = None,
    check_crc: bool = True,
) -> ColumnReader:
    """The wanted records of a log from byte `start`, where a batch begins, to byte `end` (default: the file's end).

    With `indexes`, a range of offsets or times is found through them, and nothing outside it is decoded. After damage
    reading goes on with the next whole batch. A batch whose CRC holds gives its records before damage inside it. Memory
    is bounded: a window of 4 MiB, 200,000 records, one inflated batch of 64 MiB. Raises CannotRead and its children.
    """
    end = log.size if end is None else min(end, log.size)
    return ColumnReader(log, indexes, start, end, wanted, check_crc)


def _batches_that_may_hold(window: Window, wanted: Wanted) -> Bools:
    """Which batches may have wanted records, by their headers: bool, shape (batches,)."""
    may: Bools = np.ones(len(window), np.bool_)
    (low, high), (since, until) = wanted.offsets, wanted.timestamps
    if low is not None:
        may &= window.last_offset >= low
    if high is not None:  # the base offset of a compressed old message is the last one inside
        may &= (window.column("base_offset") <= high) | (window.column("record_count") == COUNT_UNKNOWN)
    largest = window.column("max_timestamp")
    if since is not None:
        may &= largest >= since
    if until is not None:
        may &= ~window.log_append_time | (largest <= until)
    if since is not None or until is not None:
        may &= window.column("magic") > 0
    if wanted.producer_id is not None:
        may &= (window.column("magic") == 2) & (window.column("producer_id") == wanted.producer_id)
    if not wanted.control:
        may &= ~window.control
    return may


def _records_that_match(block: RecordColumns, wanted: Wanted) -> Bools | None:
    """Which records are wanted: bool, shape (records,); None for all."""
    keep: Bools | None = None
    for (least, most), name in ((wanted.offsets, "offset"), (wanted.timestamps, "timestamp")):
        for bound, compare in ((least, np.greater_equal), (most, np.less_equal)):
            if bound is not None:
                found = compare(getattr(block, name), bound)
                keep = found if keep is None else keep & found
    return None if keep is None or keep.all() else keep
