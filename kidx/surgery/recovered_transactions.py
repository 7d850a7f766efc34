"""Which transactions a segment's log aborts: the producer state that recovery keeps, as far as transactions need it.

Sources: org.apache.kafka.storage.internals.log.LogSegment (updateProducerState, updateTxnIndex), ProducerAppendInfo and
ProducerStateManager (lastStableOffset, completeTxn).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from kidx.formats.batches import CONTROL_BIT, TRANSACTIONAL_BIT
from kidx.formats.control import ABORT, COMMIT, control_type
from kidx.formats.indexes import TRANSACTION_INDEX
from kidx.segments.records import readable_records

if TYPE_CHECKING:
    from kidx.evidence import Evidence
    from kidx.formats.batches import Batch
    from kidx.segments.windows import Window

OpenTransactions = dict[int, int]  # producer id: first offset of its open transaction


class Event(NamedTuple):
    """A producer's transactional batch at `offset`, or where `marker` is set its ABORT or COMMIT there."""

    producer_id: int
    offset: int
    marker: int | None


class EventReader:
    """The events of a log's windows, in order; of a producer's batches only the first after a marker is one."""

    def __init__(self, log: Evidence) -> None:
        self._log = log
        self._began: set[int] = set()

    def read(self, window: Window, rows: int, from_offset: int = 0) -> Iterator[Event]:
        """Those of the window's first `rows` batches that begin at `from_offset` or later."""
        import numpy as np

        if not int(np.bitwise_or.reduce(window.column("attributes"))) & (TRANSACTIONAL_BIT | CONTROL_BIT):
            return
        concerned = (window.transactional | window.control) & (window.column("producer_id") >= 0)
        concerned &= window.column("base_offset") >= from_offset
        concerned[rows:] = False
        if not concerned.any():
            return
        wanted = set(concerned.nonzero()[0].tolist())
        for row, batch in enumerate(window.batches()):
            if row in wanted:
                yield from self._event(batch)

    def _event(self, batch: Batch) -> Iterator[Event]:
        if not batch.control:
            if batch.producer_id not in self._began:
                self._began.add(batch.producer_id)
                yield Event(batch.producer_id, batch.base_offset, None)
            return
        marker = self._marker(batch)
        if marker in (ABORT, COMMIT):
            self._began.discard(batch.producer_id)
            yield Event(batch.producer_id, batch.base_offset, marker)

    def _marker(self, batch: Batch) -> int | None:
        """The type of a control batch's record; None for one that was cleaned empty, which ends nothing.

        Raises LimitExceeded.
        """
        records = readable_records(self._log, batch)
        return control_type(records[0].key) if records else None


class RecoveredTransactions:
    """Tracks open and aborted transactions from events.

    `open_before` gives those that were open when the segment began; it is called only when there is an event, because
    it may read earlier segments.
    """

    def __init__(self, open_before: Callable[[], OpenTransactions]) -> None:
        self._open_before = open_before
        self._open: OpenTransactions | None = None
        self._aborted = bytearray()

    def add(self, events: Iterable[Event]) -> None:
        """Take events, in the log's order."""
        for event in events:
            if self._open is None:
                self._open = dict(self._open_before())
            self._take(event, self._open)

    def _take(self, event: Event, open_now: OpenTransactions) -> None:
        if event.marker is None:
            open_now.setdefault(event.producer_id, event.offset)
            return
        first_offset = open_now.pop(event.producer_id, None)
        if first_offset is not None and event.marker == ABORT:
            last_stable = min(open_now.values(), default=event.offset + 1)
            self._aborted += TRANSACTION_INDEX.struct.pack(
                0, event.producer_id, first_offset, event.offset, last_stable
            )

    def index_bytes(self) -> bytes:
        """The transaction index's bytes."""
        return bytes(self._aborted)

    def open_after(self) -> OpenTransactions:
        """What is open after all that came."""
        return self._open if self._open is not None else dict(self._open_before())
