"""What a broker's recovery writes into a segment's indexes, worked out from the log, window by window in arrays.

Source: org.apache.kafka.storage.internals.log.LogSegment.recover (kafka.log.LogSegment before 3.6). Recovery cuts the
log at the first batch that is not valid; kidx ends there and says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kidx.evidence import Evidence
from kidx.formats.indexes import MAX_RELATIVE_OFFSET, OFFSET_INDEX, TIME_INDEX
from kidx.segments.scan import scan
from kidx.segments.walk import END
from kidx.surgery.recovered_transactions import RecoveredTransactions

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from kidx.segments.windows import Window

    Ints = npt.NDArray[np.int64]

DEFAULT_INDEX_INTERVAL = 4096  # bytes; index.interval.bytes
_NO_TIMESTAMP = -1


class Recovered(NamedTuple):
    """The three indexes' bytes, and how far the log came: `batches` up to byte `valid_bytes`.

    `broken` says why it ended there, None where that is the log's end.
    """

    offset_index: bytes
    time_index: bytes
    transaction_index: bytes
    batches: int
    valid_bytes: int
    broken: str | None


def recover(
    log: Evidence,
    base_offset: int,
    interval_bytes: int,
    transactions: RecoveredTransactions,
    index_positions: Sequence[int] | Ints | None = None,
) -> Recovered:
    """Recover a segment's indexes. `index_positions`, of an index that is there, only make reading faster.

    Raises CannotRead and its children where the log cannot be read.
    """
    entries = _Entries(base_offset, interval_bytes)
    broken = None
    batches = valid_bytes = 0
    windows = scan(log, index_positions)
    for window in windows:
        sound, why = _sound_rows(window, base_offset)
        sound, why = entries.add(window, sound, why)
        transactions.add(log, window, sound)
        batches += sound
        if why is not None:
            valid_bytes, broken = int(window.position[sound]), why
            break
        valid_bytes = window.end
    else:
        ending = windows.ending
        if ending is not None and ending.kind != END:
            broken = ending.why
    entries.close()
    return Recovered(
        entries.offset_index(), entries.time_index(), transactions.index_bytes(), batches, valid_bytes, broken
    )


def _sound_rows(window: Window, base_offset: int) -> tuple[int, str | None]:
    """How many batches from the window's first on are valid, and what is wrong with the next one."""
    sound, why = len(window), None
    if window.bad_crc:
        sound, why = min(window.bad_crc), "the CRC of the batch does not hold"
    relative = window.last_offset[:sound] - base_offset
    unfit = (relative < 0) | (relative > MAX_RELATIVE_OFFSET)
    if unfit.any():
        sound = int(np.argmax(unfit))
        why = f"the batch's last offset, {int(window.last_offset[sound])}, does not fit the base offset {base_offset}"
    return sound, why


class _Entries:
    """The entries of offset and time index, as windows come; all between windows is in a handful of numbers."""

    def __init__(self, base_offset: int, interval_bytes: int) -> None:
        self._base, self._interval = base_offset, interval_bytes
        self._last_indexed = 0  # position of the batch that the last offset entry points to
        self._last_offset = -1  # that of the last offset entry
        self._max = (_NO_TIMESTAMP, base_offset)  # largest timestamp so far, and its batch's last offset
        self._last_time = (_NO_TIMESTAMP, base_offset)  # the last time entry
        self._offsets: list[npt.NDArray[np.void]] = []
        self._times: list[npt.NDArray[np.void]] = []

    def add(self, window: Window, rows: int, why: str | None) -> tuple[int, str | None]:
        """Take the window's first `rows` batches; fewer where an index entry would go back, and why then."""
        if not rows:
            return rows, why
        position, last_offset = window.position[:rows], window.last_offset[:rows]
        at = _indexed_rows(position, self._last_indexed, self._interval)
        backward = np.diff(last_offset[at], prepend=self._last_offset) <= 0
        if backward.any():
            rows = int(at[np.argmax(backward)])
            why = f"the batch's last offset, {int(last_offset[rows])}, is before one that came earlier"
            return self.add(window, rows, why)
        timestamp, offset = self._largest_so_far(window.column("max_timestamp")[:rows], last_offset)
        if len(at):
            self._last_indexed, self._last_offset = int(position[at[-1]]), int(last_offset[at[-1]])
            self._offsets.append(_packed(OFFSET_INDEX.dtype, last_offset[at] - self._base, position[at]))
            self._add_times(timestamp[at], offset[at])
        self._max = (int(timestamp[-1]), int(offset[-1]))
        return rows, why

    def _largest_so_far(self, timestamp: Ints, last_offset: Ints) -> tuple[Ints, Ints]:
        """For each batch the largest timestamp up to it, and the last offset of the first batch that has it."""
        before, its_offset = self._max
        largest = np.maximum.accumulate(np.maximum(timestamp, before))
        rises = np.diff(largest, prepend=before) > 0
        source = np.maximum.accumulate(np.where(rises, np.arange(len(timestamp)), -1))
        return largest, np.where(source >= 0, last_offset[source], its_offset)

    def _add_times(self, timestamp: Ints, offset: Ints) -> None:
        """TimeIndex.maybeAppend: an entry only where the timestamp is larger than the last entry's."""
        new = np.diff(timestamp, prepend=self._last_time[0]) > 0
        if new.any():
            timestamp, offset = timestamp[new], offset[new]
            self._last_time = (int(timestamp[-1]), int(offset[-1]))
            self._times.append(_packed(TIME_INDEX.dtype, timestamp, offset - self._base))

    def close(self) -> None:
        """The time index's last entry: the largest timestamp, if it has none as large yet."""
        timestamp, offset = self._max
        self._add_times(np.array([timestamp], np.int64), np.array([offset], np.int64))

    def offset_index(self) -> bytes:
        """The offset index's bytes."""
        return b"".join(a.tobytes() for a in self._offsets)

    def time_index(self) -> bytes:
        """The time index's bytes."""
        return b"".join(a.tobytes() for a in self._times)


def _indexed_rows(position: Ints, last_indexed: int, interval: int) -> Ints:
    """The batches that get an index entry: each the first that starts more than `interval` bytes after the one before.

    Which comes next depends on which came before, so that is followed batch by batch, but only from entry to entry:
    for every batch the next one is found at once.
    """
    following = np.searchsorted(position, position + interval, "right").tolist()
    row = int(np.searchsorted(position, last_indexed + interval, "right"))
    rows = []
    while row < len(following):
        rows.append(row)
        row = following[row]
    return np.array(rows, np.intp)


def _packed(dtype: np.dtype[np.void], first: Ints, second: Ints) -> npt.NDArray[np.void]:
    rows = np.empty(len(first), dtype)
    one, two = dtype.names or ()
    rows[one], rows[two] = first, second
    return rows
