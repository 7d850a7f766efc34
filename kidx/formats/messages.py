"""Messages of formats 0 and 1 (before Kafka 0.11), alone or wrapped in a compressed one.

Sources: org.apache.kafka.common.record.LegacyRecord and AbstractLegacyRecordBatch.DeepRecordsIterator (KIP-31: offsets
inside a version 1 wrapper are relative, the wrapper has the last one; KIP-32: timestamps).
"""

from __future__ import annotations

from kidx.formats.batches import MESSAGE_V0, MESSAGE_V1, Batch, fault_at, parse_batch, wrap_long
from kidx.formats.checksums import crc_holds
from kidx.formats.compression import MAX_INFLATED_BYTES, NONE, DamagedPayload, OutputFull, inflate
from kidx.formats.records import COUNT, LIMIT, OFFSETS, PAYLOAD, RECORD, Damage, Decoded, Record


def decode_message(
    batch: Batch, entry: bytes | memoryview, *, limit_bytes: int = MAX_INFLATED_BYTES, lenient: bool = False
) -> Decoded:
    """The records of a v0 or v1 entry; `entry` is all of its `batch.size` bytes.

    An uncompressed message is one record. For a wrapper, its inner messages are returned, with absolute offsets, and
    with the wrapper's timestamp under LogAppendTime. Damage is described, never raised. `lenient` accepts bytes after a
    lone message inside its entry, as Kafka does.
    """
    entry = bytes(entry)
    key, value, left, why = _key_and_value(batch, entry)
    if why and not (lenient and left and batch.codec == NONE):
        return Decoded([], Damage(RECORD, why, 0))
    if batch.codec == NONE:
        return Decoded([_record(batch, batch.base_offset, batch.max_timestamp, key, value, entry)], None)
    if value is None:
        return Decoded([], Damage(PAYLOAD, "a compressed message without a value"))
    try:
        data = inflate(batch.codec, value, magic=batch.magic, limit_bytes=limit_bytes)
    except OutputFull as e:
        return Decoded([], Damage(LIMIT, str(e), limit=True))
    except DamagedPayload as e:
        return Decoded([], Damage(PAYLOAD, str(e)))
    return _inner_messages(batch, data)


def _inner_messages(wrapper: Batch, data: memoryview) -> Decoded:
    records: list[Record] = []
    damage = None
    at = 0
    while at < len(data):
        number = len(records)
        if fault := fault_at(data, at, len(data) - at):
            damage = Damage(RECORD, f"message {number} inside: {fault.why}", number)
            break
        inner = parse_batch(data, at, at)
        if inner.magic != wrapper.magic or inner.codec != NONE:
            why = (
                f"message {number} inside has magic {inner.magic} and codec {inner.codec_name}, in a wrapper of magic "
            )
            damage = Damage(RECORD, why + str(wrapper.magic), number)
            break
        entry = bytes(data[at : inner.next_position])
        key, value, _, problem = _key_and_value(inner, entry)
        if problem:
            damage = Damage(RECORD, f"message {number} inside: {problem}", number)
            break
        timestamp = wrapper.max_timestamp if wrapper.log_append_time else inner.max_timestamp
        records.append(_record(inner, inner.base_offset, timestamp, key, value, entry))
        at = inner.next_position
    if not records:
        return Decoded([], damage or Damage(COUNT, "a compressed message with nothing inside"))
    if wrapper.magic == 1:
        absolute_base = wrapper.base_offset - records[-1].offset
        records = [r._replace(offset=wrap_long(absolute_base + r.offset)) for r in records]
    return Decoded(records, damage or _judge(wrapper, records))


def _judge(wrapper: Batch, records: list[Record]) -> Damage | None:
    for number, record in enumerate(records):
        if not record.crc_ok:
            return Damage(RECORD, f"message {number} inside has a wrong CRC", number)
        if number and record.offset <= records[number - 1].offset:
            why = f"message {number} inside has offset {record.offset}, after {records[number - 1].offset}"
            return Damage(OFFSETS, why, number)
    if records[-1].offset != wrapper.base_offset:
        return Damage(
            OFFSETS, f"the wrapper has offset {wrapper.base_offset}, and its last message {records[-1].offset}"
        )
    return None


def _record(
    message: Batch, offset: int, timestamp: int, key: bytes | None, value: bytes | None, entry: bytes
) -> Record:
    crc_ok = crc_holds(message, entry)
    return Record(offset, timestamp, key, value, (), -1, len(entry), message.attributes, message.crc, crc_ok)


def _key_and_value(message: Batch, entry: bytes) -> tuple[bytes | None, bytes | None, int, str]:
    """Key, value, how many bytes follow them, and what is wrong ("" if nothing is)."""
    at = MESSAGE_V0.size if message.magic == 0 else MESSAGE_V1.size
    fields: list[bytes | None] = []
    for name in ("key", "value"):
        if at + 4 > len(entry):
            return None, None, 0, f"it ends before the length of its {name}"
        length = int.from_bytes(entry[at : at + 4], "big", signed=True)
        at += 4
        if length > len(entry) - at:
            return None, None, 0, f"its {name} claims {length} bytes, and {len(entry) - at} are left"
        fields.append(None if length < 0 else entry[at : at + length])
        at += max(length, 0)
    left = len(entry) - at
    return fields[0], fields[1], left, f"{left} bytes follow its value" if left else ""
