"""The last record of each active producer: a cleaning keeps its batch, even if the batch becomes empty.

Source: org.apache.kafka.storage.internals.log.ProducerStateManager (lastRecord; the newest snapshot, updated by the
batches that follow) and ProducerStateEntry, which forgets the last data when the epoch changes.
"""

from __future__ import annotations

from typing import NamedTuple

from kidx.logdir.tree import Partition
from kidx.lookup.transactions import batches_since, newest_snapshot


class LastRecord(NamedTuple):
    """Kafka's LastRecord: `data_offset` is -1 where nothing was written since the epoch began."""

    data_offset: int
    epoch: int


def active_producers(partition: Partition, end_offset: int) -> dict[int, LastRecord]:
    """By producer id, as a broker knows them at the log's end."""
    since, snapshot = newest_snapshot(partition, end_offset)
    last = {p.producer_id: LastRecord(p.last_offset, p.producer_epoch) for p in snapshot}
    for batch in batches_since(partition, since):
        if batch.producer_id < 0:
            continue
        if not batch.control:
            last[batch.producer_id] = LastRecord(batch.last_offset, batch.producer_epoch)
        elif batch.record_count:  # compaction can leave a marker's batch empty; Kafka ignores such a batch
            before = last.get(batch.producer_id)
            data = before.data_offset if before and before.epoch == batch.producer_epoch else -1
            last[batch.producer_id] = LastRecord(data, batch.producer_epoch)
    return last
