"""Which transactions a segment's log aborts: the producer state that recovery keeps, as far as transactions need it.

Sources: org.apache.kafka.storage.internals.log.LogSegment (updateProducerState, updateTxnIndex), ProducerAppendInfo and
ProducerStateManager (lastStableOffset, completeTxn).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kidx.formats.control import ABORT, COMMIT, control_type
from kidx.formats.indexes import TRANSACTION_INDEX
from kidx.segments.records import read_records

if TYPE_CHECKING:
    from kidx.evidence import Evidence
    from kidx.formats.batches import Batch
    from kidx.segments.windows import Window

OpenTransactions = dict[int, int]  # producer id: first offset of its open transaction


class RecoveredTransactions:
    """Open and aborted transactions, as windows of a segment come.

    `open_before` gives those that were open when the segment began; it is asked only where a transactional or a control
    batch comes, for finding out may take reading the segments before.
    """

    def __init__(self, open_before: Callable[[], OpenTransactions]) -> None:
        self._open_before = open_before
        self._open: OpenTransactions | None = None
        self._aborted = bytearray()

    def add(self, log: Evidence, window: Window, rows: int, from_offset: int = 0) -> None:
        """Take the window's first `rows` batches, those that begin before `from_offset` left out."""
        import numpy as np

        concerned = (window.transactional | window.control) & (window.column("producer_id") >= 0)
        concerned &= window.column("base_offset") >= from_offset
        concerned[rows:] = False
        if not concerned.any():
            return
        if self._open is None:
            self._open = dict(self._open_before())
        wanted = set(np.flatnonzero(concerned).tolist())
        for row, batch in enumerate(window.batches()):
            if row in wanted:
                self._take(log, batch, self._open)

    def _take(self, log: Evidence, batch: Batch, open_now: OpenTransactions) -> None:
        if not batch.control:
            open_now.setdefault(batch.producer_id, batch.base_offset)
            return
        marker = _marker(log, batch)
        if marker not in (ABORT, COMMIT) or batch.producer_id not in open_now:
            return
        first_offset = open_now.pop(batch.producer_id)
        if marker == ABORT:
            last_stable = min(open_now.values(), default=batch.base_offset + 1)
            self._aborted += TRANSACTION_INDEX.struct.pack(
                0, batch.producer_id, first_offset, batch.base_offset, last_stable
            )

    def index_bytes(self) -> bytes:
        """The transaction index's bytes."""
        return bytes(self._aborted)

    def open_after(self) -> OpenTransactions:
        """What is open after all that came."""
        return self._open if self._open is not None else dict(self._open_before())


def _marker(log: Evidence, batch: Batch) -> int | None:
    """The type of a control batch's record; None for one that was cleaned empty, which ends nothing."""
    records = read_records(log, batch).records
    return control_type(records[0].key) if records else None
