"""The last record of each active producer: a cleaning keeps its batch, even if the batch becomes empty.

Source: org.apache.kafka.storage.internals.log.ProducerStateManager (lastRecord; the newest snapshot, updated by the
batches that follow) and ProducerStateEntry, which forgets the last data when the epoch changes.
"""

from __future__ import annotations

from typing import NamedTuple

from kidx.logdir.names import LOG
from kidx.logdir.tree import Partition
from kidx.lookup.producers import ProducerStates
from kidx.lookup.transactions import newest_snapshot
from kidx.segments.scan import scan


class LastRecord(NamedTuple):
    """Kafka's LastRecord: `data_offset` is -1 where nothing was written since the epoch began."""

    data_offset: int
    epoch: int


def active_producers(partition: Partition, end_offset: int) -> dict[int, LastRecord]:
    """By producer id, as a broker knows them at the log's end."""
    since, snapshot = newest_snapshot(partition, end_offset)
    producers = ProducerStates(snapshot)
    ends = [*(s.base_offset for s in partition.segments[1:]), None]
    for segment, end in zip(partition.segments, ends, strict=True):
        if end is None or end > since:
            with segment.files[LOG].open() as log:
                for window in scan(log, check_crc=False):
                    producers.take(window, log, from_offset=since)
    return {i: LastRecord(s.last_offset, s.producer_epoch) for i, s in producers.states.items()}
