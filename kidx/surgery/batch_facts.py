"""What recovery needs to know of a log's batches, read in one process or several."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from mmap import mmap
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kidx.evidence import Evidence
from kidx.execution import forked
from kidx.formats.batches import NO_TIMESTAMP, SMALLEST_ENTRY
from kidx.formats.indexes import MAX_RELATIVE_OFFSET
from kidx.segments.resume import parts
from kidx.segments.scan import scan, spare_page_cache
from kidx.segments.walk import END
from kidx.surgery.recovered_transactions import Event, EventReader

if TYPE_CHECKING:
    import numpy.typing as npt

    from kidx.segments.windows import Ints, Window

WORTH_FORKING_BYTES = 32 << 20  # a log below this is read before a second process has paid for itself


class BatchFacts(NamedTuple):
    """Neighbouring valid batches: arrays of one row a batch, and the transaction events among them.

    `position` (uint32, bytes), `relative_last_offset` (int32, to the segment's base), `largest_timestamp` (int64, ms:
    the largest of these batches up to the row), and `next_entry` (int32): if the row's batch has an index entry, the
    row of the next batch that gets one, the number of rows where that comes later. `chain` are the rows that get an
    entry if the first one does: whatever came before, the true ones soon run into these, unless all batches have one
    size. None of it depends on what came before, so that several processes can work it out. `end` is the byte after
    the last of the batches; `broken` says why the log is not valid there, None where it goes on or has come to its end.
    """

    position: npt.NDArray[np.uint32]
    relative_last_offset: npt.NDArray[np.int32]
    largest_timestamp: Ints
    next_entry: npt.NDArray[np.int32]
    chain: array[int]
    events: list[Event]
    end: int
    broken: str | None = None


class _Read(NamedTuple):
    """What one window of a scan gives: positions, last offsets and timestamps of its valid batches, and as above."""

    position: Ints
    relative_last_offset: Ints
    max_timestamp: Ints
    events: list[Event]
    end: int
    broken: str | None


def read_facts(
    log: Evidence,
    base_offset: int,
    interval_bytes: int,
    index_positions: Sequence[int] | Ints | None = None,
    jobs: int = 1,
) -> Iterator[BatchFacts]:
    """The facts of all batches up to the first that is not valid, in order; with `jobs` by that many processes.

    `index_positions`, of an index in any state, only make it faster. Raises CannotRead and its children.
    """
    first, *others = parts(log, index_positions, jobs if log.size >= WORTH_FORKING_BYTES else 1)
    shared = {part: _SharedRows(part[1] - part[0]) for part in others}
    spare_page_cache(log)

    def fill(part: tuple[int, int]) -> _Filled:
        return shared[part].fill(_read(log, base_offset, index_positions, *part), interval_bytes)

    with forked(fill, others, len(others)) as results:
        start = first[0]  # only where a part ends in order is it certain that the next one starts at a batch
        for some in _read(log, base_offset, index_positions, *first):
            start = some.end
            yield _facts_of(some._replace(broken=None) if others else some, interval_bytes)
        filled = dict(results)
    for part in others:
        last = part == others[-1]
        if start != part[0] or not (last or filled[part].end == part[1]):
            break
        yield shared[part].facts(filled[part])
        start = log.size if last else part[1]
    if others and start < log.size:
        for some in _read(log, base_offset, index_positions, start, log.size):
            yield _facts_of(some, interval_bytes)


def _facts_of(some: _Read, interval_bytes: int) -> BatchFacts:
    """The facts of a window where it is known what came before it: no chain is needed then."""
    position = some.position.astype(np.uint32)
    return BatchFacts(
        position,
        some.relative_last_offset.astype(np.int32),
        np.maximum.accumulate(some.max_timestamp),
        next_entries(position, interval_bytes),
        array("i"),
        *some[3:],
    )


def next_entries(
    position: npt.NDArray[np.uint32], interval_bytes: int, count: int | None = None
) -> npt.NDArray[np.int32]:
    """For each batch, or the first `count`, the first that starts more than `interval_bytes` after it, as a row."""
    return position.searchsorted(position[:count] + np.uint32(interval_bytes), "right").astype(np.int32)


def chain_from(row: int, next_entry: Sequence[int] | memoryview) -> array[int]:
    """The rows that get entries from one that does on."""
    rows = array("i")
    while row < len(next_entry):
        rows.append(row)
        row = next_entry[row]
    return rows


def _read(
    log: Evidence, base_offset: int, index_positions: Sequence[int] | Ints | None, start: int, end: int
) -> Iterator[_Read]:
    windows = scan(log, index_positions, start=start, end=end)
    events = EventReader(log)
    for window in windows:
        sound, broken = _sound_rows(window, base_offset)
        yield _Read(
            window.position[:sound],
            window.last_offset[:sound] - base_offset,
            window.column("max_timestamp")[:sound],
            list(events.read(window, sound)),
            window.end if broken is None else int(window.position[sound]),
            broken,
        )
        if broken is not None:
            return
    ending = windows.ending
    if ending is not None and ending.kind != END:
        nothing = np.empty(0, np.int64)
        yield _Read(nothing, nothing, nothing, [], ending.position, ending.why)


def _sound_rows(window: Window, base_offset: int) -> tuple[int, str | None]:
    """How many batches from the window's first on are valid, and what is wrong with the next one."""
    sound, broken = len(window), None
    if window.bad_crc:
        sound, broken = min(window.bad_crc), "the CRC of the batch does not hold"
    last = window.last_offset[:sound]
    if sound and not base_offset <= int(last.min()) <= int(last.max()) <= base_offset + MAX_RELATIVE_OFFSET:
        unfit = (last < base_offset) | (last > base_offset + MAX_RELATIVE_OFFSET)
        sound = int(unfit.argmax())
        offset = int(window.last_offset[sound])
        broken = f"the batch's last offset, {offset}, does not fit the base offset {base_offset}"
    return sound, broken


class _Filled(NamedTuple):
    """What a fork returns about a range: how many rows it filled, and what is not in rows."""

    rows: int
    chain: array[int]
    events: list[Event]
    end: int
    broken: str | None


class _SharedRows:
    """Shared memory for the rows of a range of a log: a fork fills it and its parent reads it, without copies. It is
    large enough for the smallest possible batches; the system allocates only the pages that are filled.
    """

    def __init__(self, range_bytes: int) -> None:
        room = range_bytes // min(SMALLEST_ENTRY.values()) + 1
        memory = mmap(-1, room * 20)
        self._timestamp = np.frombuffer(memory, np.int64, room)
        self._position = np.frombuffer(memory, np.uint32, room, room * 8)
        self._offset = np.frombuffer(memory, np.int32, room, room * 12)
        self._next_entry = np.frombuffer(memory, np.int32, room, room * 16)

    def fill(self, read: Iterator[_Read], interval_bytes: int) -> _Filled:
        """In the fork: take all windows of a range, each while its rows are in a cache."""
        rows, known, end, broken, largest = 0, 0, 0, None, NO_TIMESTAMP
        events: list[Event] = []
        for some in read:
            here = slice(rows, rows + len(some.position))
            self._position[here], self._offset[here] = some.position, some.relative_last_offset
            so_far = np.maximum.accumulate(some.max_timestamp)
            np.maximum(so_far, largest, out=self._timestamp[here])
            rows, end, broken = here.stop, some.end, some.broken
            if rows > here.start:
                largest = int(self._timestamp[rows - 1])
                behind = max(0, int(some.position[-1]) - interval_bytes)  # batches before that have theirs by now
                upto = known + int(self._position[known:rows].searchsorted(np.uint32(behind)))
                self._work_out_next(known, upto, rows, interval_bytes)
                known = upto
            events += some.events
        self._work_out_next(known, rows, rows, interval_bytes)
        return _Filled(rows, chain_from(0, self._next_entry[:rows].data), events, end, broken)

    def _work_out_next(self, first: int, upto: int, rows: int, interval_bytes: int) -> None:
        """The next entries of the rows from `first` to before `upto`, which lie before row `rows`."""
        some = next_entries(self._position[first:rows], interval_bytes, upto - first)
        self._next_entry[first:upto] = some + np.int32(first)

    def facts(self, filled: _Filled) -> BatchFacts:
        """The range's facts, in the parent."""
        here = slice(filled.rows)
        return BatchFacts(
            self._position[here], self._offset[here], self._timestamp[here], self._next_entry[here], *filled[1:]
        )
