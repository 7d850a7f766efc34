"""The records of one batch, read from its file."""

from __future__ import annotations

from kidx.evidence import Evidence
from kidx.formats.batches import COUNT_UNKNOWN, HEADER_BYTES, Batch
from kidx.formats.compression import MAX_INFLATED_BYTES
from kidx.formats.messages import decode_message
from kidx.formats.records import LIMIT, Damage, Decoded, decode_batch


def read_records(evidence: Evidence, batch: Batch, *, limit_bytes: int = MAX_INFLATED_BYTES) -> Decoded:
    """The records of one batch of any format, decoded one by one, and what is wrong with it."""
    if batch.size > limit_bytes:
        why = f"the batch has {batch.size} bytes, more than the limit of {limit_bytes}"
        return Decoded([], Damage(LIMIT, why, limit=True))
    return decode_entry(batch, evidence.read(batch.position, batch.size), limit_bytes=limit_bytes)


def decode_entry(
    batch: Batch, entry: bytes | memoryview, *, limit_bytes: int = MAX_INFLATED_BYTES, lenient: bool = False
) -> Decoded:
    """As `read_records`, from the complete entry; `lenient` as in RecordReader and decode_message."""
    if batch.magic == 2:
        return decode_batch(batch, entry[HEADER_BYTES:], limit_bytes=limit_bytes, lenient=lenient)
    return decode_message(batch, entry, limit_bytes=limit_bytes, lenient=lenient)


def first_offset(evidence: Evidence, batch: Batch) -> int:
    """An entry's base offset as Kafka defines it: for a compressed v0 or v1 message, that of the first one inside.

    Such a message is inflated; if that fails, the result is the entry's own offset.
    """
    if batch.magic == 2 or batch.record_count != COUNT_UNKNOWN:
        return batch.base_offset
    records = read_records(evidence, batch).records
    return records[0].offset if records else batch.base_offset
