"""Which records and batches of a log a cleaning keeps, and why.

Source: Cleaner.cleanInto, checkBatchRetention, shouldRetainRecord; ProducerStateManager.lastRecordOfActiveProducers.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from kidx.cleaner.batches import ReadBatch
from kidx.cleaner.producers import LastRecord
from kidx.cleaner.transactions import CleanedTransactions
from kidx.formats.batches import HEADER_BYTES, Batch
from kidx.formats.records import Record

LATEST, UNCLEANED, TOMBSTONE, CONTROL = "latest", "uncleaned", "tombstone", "control"  # why a record is kept
SUPERSEDED, ABORTED, KEYLESS = "superseded", "aborted", "keyless"  # why it is dropped; or TOMBSTONE, CONTROL
DROPPED = (SUPERSEDED, TOMBSTONE, ABORTED, KEYLESS, CONTROL)


class Verdict(NamedTuple):
    """What becomes of a record."""

    kept: bool
    why: str


class LatestOffsets(Protocol):
    """The latest offsets of keys that a pass uses: an OffsetMap, or an aggregation of all keys."""

    latest_offset: int

    def get(self, key: bytes) -> int:
        """The latest offset of a key, -1 if it has none."""
        ...


class Cleaning(NamedTuple):
    """What is the same for all batches of a pass. `upper_bound` is the first offset that is not cleaned.

    `legacy_horizon_ms`: tombstones of v0 and v1 are dropped if their segment was last modified no later than that.
    """

    latest: LatestOffsets
    producers: dict[int, LastRecord]
    upper_bound: int
    now_ms: int
    delete_retention_ms: int
    legacy_horizon_ms: int


class KeptBatch(NamedTuple):
    """A batch's verdicts, one per record, and its bytes afterwards (an estimate if it is compressed again)."""

    verdicts: list[Verdict]
    bytes_after: int


def judge(cleaning: Cleaning, transactions: CleanedTransactions, read: ReadBatch, segment_mtime_ms: int) -> KeptBatch:
    """What a cleaning makes of a batch."""
    batch, records, marker = read
    if batch.control:
        spent = transactions.marker_is_spent(batch, marker)
        horizon = batch.delete_horizon
        discard = spent and horizon is not None and horizon <= cleaning.now_ms
        verdicts = [Verdict(not discard, CONTROL) for _ in records]
        gets_horizon = spent and horizon is None
    else:
        discard = transactions.batch_is_aborted(batch)
        if discard:
            verdicts = [Verdict(False, ABORTED) for _ in records]
        else:
            verdicts = [_judge_record(cleaning, batch, record, segment_mtime_ms) for record in records]
        tombstone_stays = any(v.kept and r.value is None for v, r in zip(verdicts, records, strict=True))
        gets_horizon = batch.magic == 2 and batch.delete_horizon is None and tombstone_stays
    return KeptBatch(verdicts, _bytes_after(cleaning, batch, records, verdicts, gets_horizon=gets_horizon))


def _judge_record(cleaning: Cleaning, batch: Batch, record: Record, segment_mtime_ms: int) -> Verdict:
    if record.offset > cleaning.latest.latest_offset:
        return Verdict(True, UNCLEANED)
    if record.key is None:
        return Verdict(False, KEYLESS)
    if record.offset < cleaning.latest.get(record.key):
        return Verdict(False, SUPERSEDED)
    if record.value is not None:
        return Verdict(True, LATEST)
    if batch.magic == 2:
        due = batch.delete_horizon is not None and cleaning.now_ms >= batch.delete_horizon
    else:
        due = segment_mtime_ms <= cleaning.legacy_horizon_ms
    return Verdict(not due, TOMBSTONE)


def _bytes_after(
    cleaning: Cleaning, batch: Batch, records: list[Record], verdicts: list[Verdict], *, gets_horizon: bool
) -> int:
    """A batch that loses records, or gets a delete horizon, is written again; the others stay as they are."""
    kept = [record for record, verdict in zip(records, verdicts, strict=True) if verdict.kept]
    if not kept:
        return HEADER_BYTES if batch.magic == 2 and _stays_empty(cleaning, batch) else 0
    if len(kept) == len(records) and not gets_horizon:
        return batch.size
    if batch.magic == 2 and not batch.codec:
        horizon = cleaning.now_ms + cleaning.delete_retention_ms if gets_horizon else batch.delete_horizon
        base = kept[0].timestamp if horizon is None else horizon  # timestamps are stored relative to it
        return HEADER_BYTES + sum(_size_relative_to(record, batch.base_timestamp, base) for record in kept)
    header = HEADER_BYTES if batch.magic == 2 else 0
    share = sum(record.size for record in kept) / max(1, sum(record.size for record in records))
    return header + round((batch.size - header) * share)


def _size_relative_to(record: Record, old_base: int, new_base: int) -> int:
    """A v2 record's bytes once its timestamp is relative to another base."""
    old, new = (_varint_bytes(record.timestamp - base) for base in (old_base, new_base))
    body = next(record.size - n for n in range(1, 6) if _varint_bytes(record.size - n) == n)
    return body - old + new + _varint_bytes(body - old + new)


def _varint_bytes(value: int) -> int:
    zigzag = value << 1 if value >= 0 else ~(value << 1)
    return max(1, -(-zigzag.bit_length() // 7))


def _stays_empty(cleaning: Cleaning, batch: Batch) -> bool:
    """Whether a batch stays as a bare header: for its producer's last sequence or epoch, or at the pass's end."""
    if batch.last_offset + 1 == cleaning.upper_bound:
        return True
    last = cleaning.producers.get(batch.producer_id) if batch.producer_id >= 0 else None
    if last is None:
        return False
    if last.data_offset >= 0:
        return batch.last_offset == last.data_offset
    return batch.control and batch.producer_epoch == last.epoch
