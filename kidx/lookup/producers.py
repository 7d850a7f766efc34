"""The producers of a partition as a broker knows them, batch after batch: what it writes into producer snapshots.

Sources: org.apache.kafka.storage.internals.log.ProducerStateManager, ProducerAppendInfo, ProducerStateEntry.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from kidx.formats.batches import sequence_after
from kidx.formats.control import ABORT, COMMIT, parse_control
from kidx.formats.producer_snapshot import ProducerState, snapshot_bytes
from kidx.segments.records import readable_records

if TYPE_CHECKING:
    from kidx.evidence import Evidence
    from kidx.formats.batches import Batch
    from kidx.segments.windows import Ints, Window

DEFAULT_EXPIRATION_MS = 86_400_000  # producer.id.expiration.ms
_NONE = -1
_FIELDS = ("producer_id", "producer_epoch", "base_sequence", "last_offset_delta", "base_offset", "max_timestamp")


class ProducerStates:
    """Each producer's state, by id, in the order in which they were first seen."""

    def __init__(self, states: Iterable[ProducerState] = ()) -> None:
        self.states = {state.producer_id: state for state in states}

    def take(self, window: Window, log: Evidence, rows: int | None = None, from_offset: int = 0) -> None:
        """Follow a window's first `rows` batches (all), those that begin at `from_offset` or later.

        Raises LimitExceeded.
        """
        wanted = (window.column("producer_id") >= 0) & (window.column("base_offset") >= from_offset)
        if rows is not None:
            wanted[rows:] = False
        if not wanted.any():
            return
        concerned = wanted.nonzero()[0]
        start = 0
        for at in window.control[concerned].nonzero()[0].tolist():
            self._take_data(window, concerned[start:at])
            self._take_marker(window.batch(int(concerned[at])), log)
            start = at + 1
        self._take_data(window, concerned[start:])

    def _take_data(self, window: Window, rows: Ints) -> None:
        """ProducerAppendInfo.appendDataBatch: a producer's last batch counts, and the first of its transaction."""
        if not len(rows):
            return
        producers = window.column("producer_id")[rows]
        _, first = np.unique(producers, return_index=True)
        last = len(rows) - 1 - np.unique(producers[::-1], return_index=True)[1]
        order = first.argsort()  # as they were first seen
        columns = [window.column(name)[rows[last[order]]].tolist() for name in _FIELDS]
        begins = self._first_transactional(window, rows)
        for producer, epoch, sequence, delta, base, timestamp in zip(*columns, strict=True):
            before = self.states.get(producer)
            begun = _NONE if before is None else before.current_txn_first_offset
            if begun == _NONE:
                begun = begins.get(producer, _NONE)
            coordinator = _NONE if before is None else before.coordinator_epoch
            last_sequence = sequence_after(sequence, delta)
            self.states[producer] = ProducerState(
                producer, epoch, last_sequence, base + delta, delta, timestamp, coordinator, begun
            )

    @staticmethod
    def _first_transactional(window: Window, rows: Ints) -> dict[int, int]:
        transactional = rows[window.transactional[rows]]
        producers, first = np.unique(window.column("producer_id")[transactional], return_index=True)
        offsets = window.column("base_offset")[transactional[first]]
        return dict(zip(producers.tolist(), offsets.tolist(), strict=True))

    def _take_marker(self, batch: Batch, log: Evidence) -> None:
        """ProducerAppendInfo.appendEndTxnMarker; a batch that the cleaner has emptied ends nothing."""
        records = readable_records(log, batch)
        control = parse_control(records[0].key, records[0].value) if records else None
        if control is None or control.type_id not in (ABORT, COMMIT):
            return
        before = self.states.get(batch.producer_id)
        known = before is not None and before.producer_epoch == batch.producer_epoch
        data = before[2:5] if before is not None and known else (_NONE, _NONE, 0)
        coordinator = (control.fields or {}).get("coordinatorEpoch", _NONE)
        self.states[batch.producer_id] = ProducerState(
            batch.producer_id, batch.producer_epoch, *data, batch.max_timestamp, coordinator, _NONE
        )

    def expire(self, now_ms: int, after_ms: int = DEFAULT_EXPIRATION_MS) -> None:
        """Forget producers without an open transaction that have been silent, as a broker does after a snapshot."""
        for producer, state in list(self.states.items()):
            if state.current_txn_first_offset == _NONE and now_ms - state.timestamp >= after_ms:
                del self.states[producer]

    def open_transactions(self) -> dict[int, int]:
        """The first offsets of open transactions, by producer id."""
        found = {producer: state.current_txn_first_offset for producer, state in self.states.items()}
        return {producer: first for producer, first in found.items() if first != _NONE}

    def snapshot(self) -> bytes:
        """A producer snapshot's bytes, the producers in the order of Java's HashMap."""
        return snapshot_bytes(self.states[producer] for producer in hash_map_order(self.states))


def hash_map_order(keys: Iterable[int]) -> list[int]:
    """The order in which a java.util.HashMap of these Long keys, inserted in this order, gives them out.

    The table doubles when it is more than three quarters full; within a bucket the order of insertion is kept.
    """
    keys = list(keys)
    buckets = 16
    while len(keys) > buckets * 3 // 4:
        buckets *= 2

    def bucket(key: int) -> int:
        code = (key ^ key >> 32) & 0xFFFFFFFF  # Long.hashCode
        return (code ^ code >> 16) & buckets - 1

    return sorted(keys, key=bucket)
