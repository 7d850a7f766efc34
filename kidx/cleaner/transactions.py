"""Transactions during a cleaning: which batches were aborted, which markers are obsolete.

Source: kafka.log.CleanedTransactionMetadata (org.apache.kafka.storage.internals.log from 4.0 on).
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable

from kidx.formats.batches import Batch
from kidx.formats.control import ABORT, COMMIT
from kidx.lookup.aborted import AbortedTransaction


class CleanedTransactions:
    """One pass over a log, batches in order; aborted transactions are added as their segments come."""

    def __init__(self) -> None:
        self._waiting: list[tuple[int, int]] = []  # (first offset, producer), in order
        self._ongoing_aborted: dict[int, bool] = {}  # producer -> whether a batch of it was seen in this pass
        self._ongoing_committed: set[int] = set()

    def add_aborted(self, aborted: Iterable[AbortedTransaction]) -> None:
        """Aborted transactions that overlap the next segment. One that spans segments may come twice."""
        for transaction in aborted:
            insort(self._waiting, (transaction.first_offset, transaction.producer_id))

    def batch_is_aborted(self, batch: Batch) -> bool:
        """Note a data batch. Returns whether its records belong to an aborted transaction."""
        self._begin_up_to(batch.last_offset)
        if not batch.transactional:
            return False
        if batch.producer_id in self._ongoing_aborted:
            self._ongoing_aborted[batch.producer_id] = True
            return True
        self._ongoing_committed.add(batch.producer_id)
        return False

    def marker_is_spent(self, batch: Batch, marker: int | None) -> bool:
        """Note a control batch, `marker` its type (None: it is empty). Returns whether its transaction has no batch.

        A marker stays until a pass finds no batch of its transaction.
        """
        self._begin_up_to(batch.last_offset)
        if marker is None:
            return True
        if marker == ABORT:
            return not self._ongoing_aborted.pop(batch.producer_id, False)
        if marker == COMMIT:
            spent = batch.producer_id not in self._ongoing_committed
            self._ongoing_committed.discard(batch.producer_id)
            return spent
        return False

    def _begin_up_to(self, offset: int) -> None:
        while self._waiting and self._waiting[0][0] <= offset:
            _, producer = self._waiting.pop(0)
            self._ongoing_aborted.setdefault(producer, False)
