"""Records of one batch, decoded one after another in plain Python: exact, with a description of any damage.

Sources: org.apache.kafka.common.record.DefaultRecord and DefaultRecordBatch (v2), ByteUtils.readVarint (zigzag). For
whole logs kidx.segments.record_blocks decodes many batches at once and leaves only suspicious ones to this decoder.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kidx.formats.batches import Batch, wrap_long
from kidx.formats.compression import MAX_INFLATED_BYTES, DamagedPayload, OutputFull, inflate

MAX_LISTED_RECORDS = 1 << 20  # of one batch as objects; a 1 MiB batch has at most 150,000 of the smallest
_COPIED_BYTES = 4 << 20  # bytes are read faster than a view of them; beyond this, memory counts more
SMALLEST_RECORD = 7  # length, attributes, two deltas, key and value lengths, header count: a byte each
_INT_BYTES, _LONG_BYTES = 5, 10  # longest varint of 32 and 64 bits


class Record(NamedTuple):
    """One record. `size` counts all of its bytes, its length field included; `sequence` is -1 if there is none.

    `headers` are (key, value) pairs; absent keys and values are None. `crc_ok` is None in v2, where records
    have no CRC of their own; in v0 and v1 the record is a message and `crc` its CRC.
    """

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[bytes, bytes | None], ...] = ()
    sequence: int = -1
    size: int = 0
    attributes: int = 0
    crc: int | None = None
    crc_ok: bool | None = None


class Damage(NamedTuple):
    """What is wrong inside a batch. `kind` is one of the constants below; `record` counts from 0, None if the damage is
    the batch's. LIMIT means that decoding ended at a documented limit; the batch may be healthy.
    """

    kind: str
    why: str
    record: int | None = None
    limit: bool = False


PAYLOAD = "payload"  # compressed bytes that cannot be inflated
COUNT = "count"  # another number of records than the header says
RECORD = "record"  # a record whose fields do not fill its length
OFFSETS = "offsets"  # offset deltas that do not rise, or pass the last offset
TIMESTAMPS = "timestamps"  # the header's maximum is not the records'
LIMIT = "limit"  # not decoded: too large


class Decoded(NamedTuple):
    """The records of a batch up to where they can be read, and what is wrong, None if nothing is."""

    records: list[Record]
    damage: Damage | None


class _BadRecord(Exception):
    """Raised when a record's fields do not fit; caught where the record's number is known."""


class RecordReader(Iterator[Record]):
    """The records of a v2 batch one after another; after the last one, `damage` states what is wrong, None if nothing.

    Damage raises nothing: the records before it are yielded. The batch's CRC is not checked. `lenient` continues, as
    Kafka's iterator does, if offset deltas are out of order or fewer records follow than the header counts.
    """

    def __init__(
        self,
        batch: Batch,
        payload: bytes | memoryview,
        *,
        limit_bytes: int = MAX_INFLATED_BYTES,
        lenient: bool = False,
    ) -> None:
        """`payload` is what follows the header, `batch.size - 61` bytes, still compressed."""
        self.damage: Damage | None = None
        self._lenient = lenient
        self._batch = batch
        self._data: bytes | memoryview = b""
        self._at = self._number = 0
        self._previous = -1
        self._largest_timestamp: int | None = None
        try:
            data = inflate(batch.codec, payload, limit_bytes=limit_bytes) if len(payload) else memoryview(b"")
        except OutputFull as e:
            self.damage = Damage(LIMIT, str(e), limit=True)
        except DamagedPayload as e:
            self.damage = Damage(PAYLOAD, str(e))
        else:
            self._data = bytes(data) if len(data) <= _COPIED_BYTES else data
            short = batch.record_count * SMALLEST_RECORD > len(self._data)
            if batch.record_count < 0 or (short and not lenient):
                why = f"the header counts {batch.record_count} records, and {len(self._data)} bytes do not hold so many"
                self.damage = Damage(COUNT, why)

    def __next__(self) -> Record:
        batch, number = self._batch, self._number
        if self.damage is not None or number >= batch.record_count:
            if self.damage is None:
                self.damage = self._judge_end()
            raise StopIteration
        try:
            record, delta, self._at = _read_record(batch, self._data, self._at)
        except _BadRecord as e:
            self.damage = Damage(RECORD, f"record {number}: {e}", number)
            raise StopIteration from None
        if not self._previous < delta <= batch.last_offset_delta and not self._lenient:
            why = (
                f"record {number} has offset delta {delta}, after {self._previous} and up to {batch.last_offset_delta}"
            )
            self.damage = Damage(OFFSETS, why, number)
        self._number, self._previous = number + 1, delta
        if self._largest_timestamp is None or record.timestamp > self._largest_timestamp:
            self._largest_timestamp = record.timestamp
        return record

    def _judge_end(self) -> Damage | None:
        batch, left = self._batch, len(self._data) - self._at
        if left:
            return Damage(COUNT, f"{left} bytes follow the {batch.record_count} records that the header counts")
        if self._number and not batch.log_append_time and self._largest_timestamp != batch.max_timestamp:
            found = f"{batch.max_timestamp}, and the records' largest is {self._largest_timestamp}"
            return Damage(TIMESTAMPS, f"the header's maximum timestamp is {found}")
        return None


def decode_batch(
    batch: Batch,
    payload: bytes | memoryview,
    *,
    limit_bytes: int = MAX_INFLATED_BYTES,
    limit_records: int = MAX_LISTED_RECORDS,
    lenient: bool = False,
) -> Decoded:
    """Every record of a v2 batch in a list, and what is wrong with it. RecordReader has no limit of records."""
    reader = RecordReader(batch, payload, limit_bytes=limit_bytes, lenient=lenient)
    if reader.damage is None and batch.record_count > limit_records and not lenient:
        why = f"the batch has {batch.record_count} records, more than the limit of {limit_records}"
        return Decoded([], Damage(LIMIT, why, limit=True))
    return Decoded(list(reader), reader.damage)


def _read_record(batch: Batch, data: bytes | memoryview, start: int) -> tuple[Record, int, int]:
    """The record at `start`, its offset delta, and the byte after it."""
    length, at = _varint(data, start, len(data))
    end = at + length
    if length < 0 or end > len(data):
        raise _BadRecord(f"it claims {length} bytes, and {len(data) - at} are left")
    attributes = data[at] if at < end else 0
    timestamp_delta, at = _varint(data, at + 1, end, _LONG_BYTES)
    delta, at = _varint(data, at, end)
    key, at = _nullable(data, at, end)
    value, at = _nullable(data, at, end)
    count, at = _varint(data, at, end)
    if not 0 <= count <= end - at:
        raise _BadRecord(f"it claims {count} headers in {end - at} bytes")
    headers = []
    for _ in range(count):
        name, at = _nullable(data, at, end)
        if name is None:
            raise _BadRecord("a header without a name")
        content, at = _nullable(data, at, end)
        headers.append((name, content))
    if at != end:
        raise _BadRecord(f"its fields leave {end - at} of its {length} bytes unused")
    timestamp = batch.max_timestamp if batch.log_append_time else wrap_long(batch.base_timestamp + timestamp_delta)
    offset = wrap_long(batch.base_offset + delta)
    sequence = batch.sequence_at(delta)
    return Record(offset, timestamp, key, value, tuple(headers), sequence, end - start, attributes), delta, end


def _varint(data: bytes | memoryview, at: int, end: int, longest: int = _INT_BYTES) -> tuple[int, int]:
    """A zigzag varint and the byte after it; it must end before `end`."""
    if at < end and (byte := data[at]) < 0x80:  # as most are
        return byte >> 1 ^ -(byte & 1), at + 1
    raw = shift = 0
    for position in range(at, min(end, at + longest)):
        byte = data[position]
        raw |= (byte & 0x7F) << shift
        if byte < 0x80:
            raw &= 0xFFFFFFFF if longest == _INT_BYTES else 0xFFFFFFFFFFFFFFFF
            return raw >> 1 ^ -(raw & 1), position + 1
        shift += 7
    raise _BadRecord("a number that does not end" if end - at >= longest else "it ends inside a number")


def _nullable(data: bytes | memoryview, at: int, end: int) -> tuple[bytes | None, int]:
    length, at = _varint(data, at, end)
    if length < 0:  # Kafka writes -1 and takes any negative length for null
        return None, at
    if at + length > end:
        raise _BadRecord(f"a field claims {length} bytes, and {end - at} are left")
    return bytes(data[at : at + length]), at + length
