"""Records of many batches at once, and of one batch read from its file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kidx.evidence import Evidence
from kidx.formats.batches import COUNT_UNKNOWN, HEADER_BYTES, Batch
from kidx.formats.compression import MAX_INFLATED_BYTES
from kidx.formats.messages import decode_message
from kidx.formats.records import LIMIT, Damage, Decoded, decode_batch
from kidx.segments.windows import Window

if TYPE_CHECKING:
    from kidx.segments.windows import Ints


def read_records(evidence: Evidence, batch: Batch, *, limit_bytes: int = MAX_INFLATED_BYTES) -> Decoded:
    """The records of one batch of whatever format, decoded one by one, and what is wrong with it."""
    if batch.size > limit_bytes:
        why = f"the batch has {batch.size} bytes, more than the limit of {limit_bytes}"
        return Decoded([], Damage(LIMIT, why, limit=True))
    return decode_entry(batch, evidence.read(batch.position, batch.size), limit_bytes=limit_bytes)


def decode_entry(batch: Batch, entry: bytes | memoryview, *, limit_bytes: int = MAX_INFLATED_BYTES) -> Decoded:
    """As `read_records`, from all of the entry's bytes."""
    if batch.magic == 2:
        return decode_batch(batch, entry[HEADER_BYTES:], limit_bytes=limit_bytes)
    return decode_message(batch, entry, limit_bytes=limit_bytes)


def first_offset(evidence: Evidence, batch: Batch) -> int:
    """Offset of an entry's first record; a compressed v0 or v1 message is inflated for it.

    The entry's own offset where that fails.
    """
    if batch.magic == 2 or batch.record_count != COUNT_UNKNOWN:
        return batch.base_offset
    records = read_records(evidence, batch).records
    return records[0].offset if records else batch.base_offset


@dataclass(slots=True)
class RecordBlock:
    """Records of some batches of a window, as int64 arrays of one row a record, in file order.

    `batch` is the row of the record's batch in the window. `key_start` and `value_start` count bytes in `buffer`,
    `key_length` and `value_length` are -1 for null. `buffer` and all arrays are good until the scan moves on.
    `damage` tells what is wrong, by row of the batch; a damaged batch has no records in the arrays.
    """

    window: Window
    batch: Ints
    offset: Ints
    timestamp: Ints
    key_start: Ints
    key_length: Ints
    value_start: Ints
    value_length: Ints
    header_count: Ints
    size: Ints
    buffer: memoryview
    damage: list[tuple[int, Damage]]

    def __len__(self) -> int:
        return len(self.offset)


def decode_window(
    evidence: Evidence, window: Window, *, limit_bytes: int = MAX_INFLATED_BYTES
) -> Iterator[RecordBlock]:
    """Every record of a window, in blocks of one or more batches; together they cover all of its batches."""
    import numpy as np

    rows: list[tuple[int, ...]] = []
    damage: list[tuple[int, Damage]] = []
    joint = bytearray()
    for row, batch in enumerate(window.batches()):
        decoded = read_records(evidence, batch, limit_bytes=limit_bytes)
        if decoded.damage:
            damage.append((row, decoded.damage))
            continue
        for r in decoded.records:
            key, value = r.key or b"", r.value or b""
            lengths = [-1 if r.key is None else len(key), -1 if r.value is None else len(value)]
            starts = [len(joint), len(joint) + len(key)]
            joint += key + value
            rows.append(
                (row, r.offset, r.timestamp, starts[0], lengths[0], starts[1], lengths[1], len(r.headers), r.size)
            )
    c = np.array(rows, dtype=np.int64).reshape(len(rows), 9).T
    yield RecordBlock(window, c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7], c[8], memoryview(joint), damage)
