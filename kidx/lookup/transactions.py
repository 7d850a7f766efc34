"""A partition's transactions as a broker knows them: those open at the log's end, and those aborted.

Sources: org.apache.kafka.storage.internals.log.ProducerStateManager (snapshots, updated by the batches that follow),
and UnifiedLog.collectAbortedTransactions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from kidx.errors import WrongFormat
from kidx.evidence import read_file
from kidx.formats.batches import Batch
from kidx.logdir.names import PRODUCER_SNAPSHOT, TRANSACTION
from kidx.logdir.tree import Partition, Segment
from kidx.lookup.aborted import collect_aborted, read_transactions
from kidx.lookup.segment import SegmentReader

if TYPE_CHECKING:
    from kidx.formats.producer_snapshot import ProducerState


def open_transactions(partition: Partition, end_offset: int) -> dict[int, int]:
    """First offsets of the transactions that have no marker before `end_offset`, by producer id.

    Computed as a broker does at start: from the newest producer snapshot up to there and the batches after it.
    """
    since, producers = newest_snapshot(partition, end_offset)
    ongoing = {p.producer_id: p.current_txn_first_offset for p in producers if p.current_txn_first_offset >= 0}
    for batch in batches_since(partition, since):
        if batch.transactional:
            _follow(ongoing, batch)
    return ongoing


def batches_since(partition: Partition, since: int) -> Iterator[Batch]:
    """The batches that end at an offset or after it."""
    for number, segment in enumerate(partition.segments):
        following = partition.segments[number + 1 : number + 2]
        if following and following[0].base_offset <= since:
            continue
        with SegmentReader(segment) as reader:
            for batch in reader.batches_from(max(since, segment.base_offset)):
                if batch.last_offset >= since:
                    yield batch


def is_aborted(segments: Iterable[Segment], producer_id: int, offset: int) -> bool:
    """Whether the transaction of a producer around `offset` was aborted, by the transaction indexes of the offset's
    segment and of those after it, up to the first that is complete for this offset.
    """
    for segment in segments:
        file = segment.file(TRANSACTION)
        if file is None:
            continue
        with file.open() as evidence:
            answer = collect_aborted(read_transactions(evidence), offset, offset + 1)
        if any(aborted.producer_id == producer_id for aborted in answer.aborted):
            return True
        if answer.complete:
            return False
    return False


def newest_snapshot(partition: Partition, end_offset: int) -> tuple[int, list[ProducerState]]:
    """The offset of the newest sound producer snapshot up to there, and its producers; else the log start, none."""
    from kidx.formats.producer_snapshot import parse_snapshot

    for segment in reversed(partition.all_segments):
        file = segment.file(PRODUCER_SNAPSHOT)
        if file is None or segment.state or segment.base_offset > end_offset:
            continue
        try:
            snapshot = parse_snapshot(read_file(file.path))
        except WrongFormat:
            continue
        if snapshot.crc_ok:  # a broker deletes one that is not, and takes the one before it
            return segment.base_offset, snapshot.producers
    return partition.segments[0].base_offset, []


def _follow(ongoing: dict[int, int], batch: Batch) -> None:
    """A producer's transaction begins with its first transactional batch and ends with its marker."""
    if not batch.control:
        ongoing.setdefault(batch.producer_id, batch.base_offset)
    elif batch.record_count:  # compaction can leave a marker's batch empty; Kafka ignores such a batch
        ongoing.pop(batch.producer_id, None)
