"""What a broker's recovery writes into a segment's indexes, computed from the log with arrays.

Source: org.apache.kafka.storage.internals.log.LogSegment.recover (kafka.log.LogSegment before 3.6). Recovery cuts the
log at the first batch that is not valid; kidx ends there and says so.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kidx.formats.indexes import OFFSET_INDEX, TIME_INDEX
from kidx.surgery.batch_facts import BatchFacts
from kidx.surgery.recovered_transactions import RecoveredTransactions

if TYPE_CHECKING:
    import numpy.typing as npt

    from kidx.segments.windows import Ints

_NO_TIMESTAMP = -1


class Recovered(NamedTuple):
    """The three indexes' bytes, and how far the log came: `batches` up to byte `valid_bytes`.

    `broken` says why it ended there, None where that is the log's end. `times_checked` is how many time entries there
    are when recovery looks for the last time whether the time index has room, which it does before each but the last.
    """

    offset_index: bytes
    time_index: bytes
    transaction_index: bytes
    batches: int
    valid_bytes: int
    broken: str | None
    times_checked: int


def recover(facts: Iterable[BatchFacts], interval_bytes: int, transactions: RecoveredTransactions) -> Recovered:
    """Recover a segment's indexes from the facts of its batches."""
    entries = _Entries(interval_bytes)
    batches = valid_bytes = 0
    broken = None
    for some in facts:
        rows = entries.add(some)
        batches += rows
        valid_bytes, broken = some.end, some.broken
        if rows < len(some.position):
            valid_bytes, broken = int(some.position[rows]), "the batch's offsets are before those that came earlier"
            stop = int(some.relative_last_offset[rows])
            transactions.add(e for e in some.events if e.offset < stop)
            break
        transactions.add(some.events)
    entries.close()
    made = entries.offset_index(), entries.time_index(), transactions.index_bytes()
    return Recovered(*made, batches, valid_bytes, broken, entries.times_checked)


class _Entries:
    """Builds the entries of the offset and time index from batches; the state between calls is a few numbers.

    Offsets are relative to the segment's base throughout.
    """

    def __init__(self, interval_bytes: int) -> None:
        self._interval = interval_bytes
        self._last_indexed = 0  # position of the batch that the last offset entry points to
        self._last_offset = -1  # that of the last offset entry
        self._max = (_NO_TIMESTAMP, 0)  # largest timestamp so far, and its batch's last offset
        self._last_time = _NO_TIMESTAMP  # timestamp of the last time entry
        self.times_checked = 0
        self._offsets: list[npt.NDArray[np.void]] = []
        self._times: list[npt.NDArray[np.void]] = []

    def add(self, batches: BatchFacts) -> int:
        """Take batches; how many were taken: fewer where an offset entry would go back, which a broker refuses."""
        at = self._indexed_rows(batches)
        backward = _steps(batches.relative_last_offset[at].astype(np.int64), self._last_offset) <= 0
        rows = int(at[backward.argmax()]) if backward.any() else len(batches.position)
        at = at[at < rows]
        if len(at):
            position, last_offset = batches.position[at], batches.relative_last_offset[at]
            self._last_indexed, self._last_offset = int(position[-1]), int(last_offset[-1])
            self._offsets.append(_packed(OFFSET_INDEX.dtype, last_offset, position))
            before = sum(map(len, self._times))
            new = self._add_times(*self._largest_up_to(at, batches))
            self.times_checked = before + int(np.count_nonzero(new[:-1]))
        if rows:
            timestamp, offset = self._largest_up_to(np.array([rows - 1]), batches)
            self._max = (int(timestamp[0]), int(offset[0]))
        return rows

    def _indexed_rows(self, batches: BatchFacts) -> npt.NDArray[np.intp]:
        """The batches that get an index entry: each the first more than the interval after the one before."""
        next_entry, chain = batches.next_entry.data, batches.chain
        row = int(batches.position.searchsorted(np.uint32(self._last_indexed + self._interval), "right"))
        rows: list[int] = []
        link = 0
        while row < len(next_entry):
            while link < len(chain) and chain[link] < row:
                link += 1
            if link < len(chain) and chain[link] == row:  # from here on they are the same
                return np.concatenate((np.array(rows, np.intp), np.frombuffer(chain, np.int32)[link:]))
            rows.append(row)
            row = next_entry[row]
        return np.array(rows, np.intp)

    def _largest_up_to(self, rows: npt.NDArray[np.intp], batches: BatchFacts) -> tuple[Ints, npt.NDArray[np.int32]]:
        """The largest timestamp up to each of these rows, and the last offset of the first batch that has it."""
        before, offset_before = self._max
        largest = batches.largest_timestamp[rows]
        first_with_it = batches.largest_timestamp.searchsorted(largest, "left")
        offset = np.where(largest > before, batches.relative_last_offset[first_with_it], np.int32(offset_before))
        return np.maximum(largest, before), offset

    def _add_times(self, timestamp: Ints, offset: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
        """TimeIndex.maybeAppend: an entry only where the timestamp is larger than the last entry's; where those are."""
        new = _steps(timestamp, self._last_time) > 0
        if new.any():
            timestamp, offset = timestamp[new], offset[new]
            self._last_time = int(timestamp[-1])
            self._times.append(_packed(TIME_INDEX.dtype, timestamp, offset))
        return new

    def close(self) -> None:
        """The time index's last entry: the largest timestamp, if it has none as large yet."""
        timestamp, offset = self._max
        self._add_times(np.array([timestamp], np.int64), np.array([offset], np.int32))

    def offset_index(self) -> bytes:
        """The offset index's bytes."""
        return b"".join(a.tobytes() for a in self._offsets)

    def time_index(self) -> bytes:
        """The time index's bytes."""
        return b"".join(a.tobytes() for a in self._times)


def _steps(values: Ints, before: int) -> Ints:
    """The difference of each value from the one before it; for the first one, from `before`."""
    all_of_them = np.concatenate((np.array([before], np.int64), values))
    return all_of_them[1:] - all_of_them[:-1]


def _packed(
    dtype: np.dtype[np.void], first: npt.NDArray[np.integer], second: npt.NDArray[np.integer]
) -> npt.NDArray[np.void]:
    rows = np.empty(len(first), dtype)
    one, two = dtype.names or ()
    rows[one], rows[two] = first, second
    return rows
