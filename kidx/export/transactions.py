"""Which records a read_committed consumer is not given: those of aborted transactions, and all from the first open one.

Sources: org.apache.kafka.clients.consumer.internals.CompletedFetch (a record is left out if its producer's transaction
is listed as aborted), and UnifiedLog (the last stable offset is the first offset of the earliest open transaction).
The markers in the log decide. Where the log is damaged, a marker may be lost, and the transaction index of that segment
adds what it lists. The high watermark is not used: its checkpoint may be older than what consumers were given.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from kidx.errors import KidxError
from kidx.export.sources import Copy
from kidx.formats.checksums import crc_holds
from kidx.formats.control import ABORT, COMMIT, control_type
from kidx.logdir.names import LOG, TRANSACTION
from kidx.logdir.tree import Segment
from kidx.lookup.aborted import read_transactions
from kidx.segments.records import read_records
from kidx.segments.resume import resume
from kidx.segments.scan import scan
from kidx.segments.walk import END, PREALLOCATED
from kidx.text.integer_text import Maybe

if TYPE_CHECKING:
    import numpy.typing as npt

    from kidx.evidence import Evidence
    from kidx.segments.record_columns import RecordColumns
    from kidx.segments.windows import Window

    Ints = npt.NDArray[np.int64]
    Bools = npt.NDArray[np.bool_]


class Transactions:
    """The aborted transactions of a log as ranges of offsets by producer, and its last stable offset, None: its end.

    `unread` has a sentence for each file that could not be read.
    """

    def __init__(self) -> None:
        self.last_stable_offset: int | None = None
        self.unread: list[str] = []
        self._aborted: dict[int, list[tuple[int, int]]] = defaultdict(list)
        self._ranges: dict[int, tuple[Ints, Ints]] = {}
        self._left_out: dict[tuple[int, int, int], int] = defaultdict(int)

    def add(self, producer_id: int, first_offset: int, last_offset: int) -> None:
        """Note an aborted transaction."""
        self._aborted[producer_id].append((first_offset, last_offset))

    def judge(self, columns: RecordColumns) -> tuple[Bools, Bools]:
        """Which records belong to aborted transactions, and which others are withheld: bool, shape (n,) each."""
        offsets = columns.offset
        aborted = np.zeros(len(columns), np.bool_)
        withheld = aborted.copy() if self.last_stable_offset is None else offsets >= self.last_stable_offset
        if not self._aborted:
            return aborted, withheld
        data = mask_of(columns, "transactional") & ~mask_of(columns, "control")
        producers = values_of(columns.column("producer_id"))
        for producer in np.unique(producers[data]).tolist():
            if producer not in self._aborted:
                continue
            first, last = self._sorted(producer)
            rows = np.flatnonzero(data & (producers == producer))
            at = np.searchsorted(first, offsets[rows], "right") - 1
            inside = (at >= 0) & (offsets[rows] <= last[at])
            aborted[rows[inside]] = True
            numbers, counts = np.unique(at[inside], return_counts=True)
            for number, count in zip(numbers.tolist(), counts.tolist(), strict=True):
                self._left_out[producer, int(first[number]), int(last[number])] += count
        return aborted, withheld & ~aborted

    def left_out(self) -> Iterator[dict[str, Any]]:
        """The aborted transactions of which records were seen, by first offset."""
        for (producer, first, last), records in sorted(self._left_out.items(), key=lambda item: item[0][1]):
            yield {"producer_id": producer, "first_offset": first, "last_offset": last, "records": records}

    def _sorted(self, producer: int) -> tuple[Ints, Ints]:
        """First and last offsets of a producer's aborted transactions, overlapping ranges joined, in order."""
        if producer not in self._ranges:
            joined: list[list[int]] = []
            for first, last in sorted(self._aborted[producer]):
                if joined and first <= joined[-1][1]:
                    joined[-1][1] = max(joined[-1][1], last)
                else:
                    joined.append([first, last])
            array = np.array(joined, np.int64)
            self._ranges[producer] = array[:, 0].copy(), array[:, 1].copy()
        return self._ranges[producer]


def transactions_of(copy: Copy, low: int | None) -> Transactions:
    """The transactions that matter to records from the offset `low` on, by the whole directory of a copy."""
    segments = copy.whole_log
    found = Transactions()
    begun: dict[int, int] = {}  # first offset since the producer's last marker
    for number, segment in enumerate(segments):
        following = segments[number + 1].base_offset if number + 1 < len(segments) else None
        if low is not None and following is not None and following <= low:
            continue
        try:
            if not _markers(segment, begun, found):
                _indexed(segment, begun, found)
        except KidxError as e:
            found.unread.append(str(e))
    found.last_stable_offset = min(begun.values(), default=None)
    return found


def _markers(segment: Segment, begun: dict[int, int], found: Transactions) -> bool:
    """Follow a segment's batches. Returns whether no marker can have been lost to damage."""
    whole = True
    with segment.files[LOG].open() as log:
        position: int | None = 0
        while position is not None:
            windows = scan(log, start=position, check_crc=False)
            for window in windows:
                whole &= _follow(log, window, begun, found)
            ending = windows.ending
            sound = ending is None or ending.kind in (END, PREALLOCATED)
            whole &= sound
            position = None if sound or ending is None else resume(log, ending.position)
    return whole


def _follow(log: Evidence, window: Window, begun: dict[int, int], found: Transactions) -> bool:
    """Follow a window's batches. Returns whether all of its markers can be read."""
    marked = np.flatnonzero(window.transactional & (window.column("producer_id") >= 0))
    producers, bases = window.column("producer_id")[marked].tolist(), window.column("base_offset")[marked].tolist()
    control, whole = window.control[marked].tolist(), True
    for row, producer, base, is_marker in zip(marked.tolist(), producers, bases, control, strict=True):
        if not is_marker:
            begun.setdefault(producer, base)
            continue
        batch = window.batch(row)
        records, damage = read_records(log, batch)
        if damage is not None or not crc_holds(batch, log.read(batch.position, batch.size)):
            whole = False
            continue
        kind = control_type(records[0].key) if records else None  # compaction can leave a marker's batch empty
        if kind in (ABORT, COMMIT):
            first = begun.pop(producer, None)
            if kind == ABORT and first is not None:
                found.add(producer, first, base)
    return whole


def _indexed(segment: Segment, begun: dict[int, int], found: Transactions) -> None:
    """Add the aborted transactions that a segment's index lists."""
    file = segment.file(TRANSACTION)
    if file is None:
        return
    with file.open() as evidence:
        for entry in read_transactions(evidence):
            found.add(entry.producer_id, entry.first_offset, entry.last_offset)
            if begun.get(entry.producer_id, -1) in range(entry.first_offset, entry.last_offset + 1):
                del begun[entry.producer_id]


def values_of(column: Any) -> Ints:
    """The values of a column, undefined where they are absent."""
    values: Ints = column.values if isinstance(column, Maybe) else column
    return values


def mask_of(columns: RecordColumns, name: str) -> Bools:
    """A column of flags: bool, shape (n,); absent ones are False."""
    column = columns.column(name)
    if isinstance(column, Maybe):
        column = np.where(column.present, column.values, 0)
    mask: Bools = column != 0
    return mask
