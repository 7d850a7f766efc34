"""Record batches, and one header type for the entries of a log of every version.

Sources: org.apache.kafka.common.record.DefaultRecordBatch (v2, KIP-98), LegacyRecord and AbstractLegacyRecordBatch
(v0, v1), FileLogInputStream (what Kafka accepts as an entry). Every entry starts with an offset (int64) and the number
of bytes after it (int32); the magic byte, at byte 16, gives the version.
"""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

from kidx.formats.compression import CODEC_NAMES
from kidx.formats.fields import Field, RecordFormat

BATCH_HEADER = RecordFormat(
    "record batch header",
    "kidx.batch.v1",
    "org.apache.kafka.common.record.DefaultRecordBatch",
    (
        Field("base_offset", "q", "offset", "offset of the first record"),
        Field("length", "i", "bytes", "bytes after this field; the whole batch has 12 more"),
        Field("leader_epoch", "i", "", "epoch of the partition leader that took the batch"),
        Field("magic", "b", "", "version of the format, 2"),
        Field("crc", "I", "", "CRC-32C of everything from attributes to the end of the batch"),
        Field("attributes", "h", "", "bits 0-2 codec, 3 LogAppendTime, 4 transactional, 5 control, 6 delete horizon"),
        Field("last_offset_delta", "i", "records", "last offset minus base offset"),
        Field(
            "base_timestamp", "q", "ms", "what records' timestamps are relative to; the delete horizon if bit 6 is set"
        ),
        Field("max_timestamp", "q", "ms", "largest timestamp, or the broker's time under LogAppendTime"),
        Field("producer_id", "q", "", "-1 where the producer is neither idempotent nor transactional"),
        Field("producer_epoch", "h", "", "-1 as above"),
        Field("base_sequence", "i", "", "sequence number of the first record, -1 as above"),
        Field("record_count", "i", "records", "how many records follow"),
    ),
)
MESSAGE_V0 = RecordFormat(
    "message, version 0",
    "kidx.batch.v1",
    "org.apache.kafka.common.record.LegacyRecord",
    (
        Field("offset", "q", "offset", "offset; of a compressed message that of the last one inside"),
        Field("length", "i", "bytes", "bytes after this field"),
        Field("crc", "I", "", "CRC-32 of everything after this field"),
        Field("magic", "b", "", "version of the format"),
        Field("attributes", "b", "", "bits 0-2 codec, 3 LogAppendTime (version 1)"),
    ),
)
MESSAGE_V1 = RecordFormat(
    "message, version 1",
    "kidx.batch.v1",
    "org.apache.kafka.common.record.LegacyRecord (KIP-32)",
    (*MESSAGE_V0.fields, Field("timestamp", "q", "ms", "timestamp; of a compressed message the largest one inside")),
)

PREFIX = Struct(">qiib")  # offset, length, leader epoch (v2) or CRC (v0, v1), magic
PREFIX_BYTES = PREFIX.size  # 17
OVERHEAD_BYTES = 12  # Records.LOG_OVERHEAD: offset and length, which the length does not count
HEADER_BYTES = BATCH_HEADER.size  # 61
CRC_START = BATCH_HEADER.field_span("crc")[1]  # 21: what a v2 batch's CRC covers begins here
LEGACY_CRC_START = MESSAGE_V0.field_span("crc")[1]  # 16
# The fewest bytes an entry of each magic has; a message has a key's and a value's length after its header.
SMALLEST_ENTRY = {0: MESSAGE_V0.size + 8, 1: MESSAGE_V1.size + 8, 2: HEADER_BYTES}

CODEC_MASK = 0x07
LOG_APPEND_TIME_BIT = 0x08
TRANSACTIONAL_BIT = 0x10
CONTROL_BIT = 0x20
DELETE_HORIZON_BIT = 0x40
NO_TIMESTAMP = -1
COUNT_UNKNOWN = -1  # a compressed v0 or v1 message: only inflating it tells
_HALF = 1 << 63
SEQUENCES = 1 << 31  # sequence numbers wrap from 2^31 - 1 to 0


def wrap_long(value: int) -> int:
    """`value` as Java's long arithmetic (and numpy's) wraps it."""
    return value if -_HALF <= value < _HALF else (value + _HALF) % (2 * _HALF) - _HALF


def sequence_after(sequence: int, records: int) -> int:
    """The sequence number that many records later (DefaultRecordBatch.incrementSequence); -1 if there is none."""
    return (sequence + records) % SEQUENCES if sequence >= 0 else -1


class Batch(NamedTuple):
    """One entry of a log: a v2 batch, or a v0/v1 message in the same shape. `position` is its first byte in the file.

    v0 and v1 have no leader epoch and no producer (all -1); their `base_offset` is the entry's own offset, which for a
    compressed message is the LAST one inside, and their `record_count` is 1, or -1 (unknown) where compressed. The
    timestamps of v0 are -1; both of v1 are the message's.
    """

    position: int
    base_offset: int
    length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def size(self) -> int:
        """Bytes of the whole entry."""
        return self.length + OVERHEAD_BYTES

    @property
    def next_position(self) -> int:
        """The byte after the entry."""
        return self.position + self.length + OVERHEAD_BYTES

    @property
    def last_offset(self) -> int:
        """Offset of the last record; a compacted batch keeps it though that record is gone."""
        return wrap_long(self.base_offset + self.last_offset_delta)

    @property
    def codec(self) -> int:
        """The codec's number, 0 for none; 5 to 7 are not defined."""
        return self.attributes & CODEC_MASK

    @property
    def codec_name(self) -> str:
        """none, gzip, snappy, lz4, zstd, or unknown-5 to unknown-7."""
        return CODEC_NAMES[self.codec]

    @property
    def log_append_time(self) -> bool:
        """Whether every record has the broker's time, `max_timestamp`."""
        return self.magic > 0 and bool(self.attributes & LOG_APPEND_TIME_BIT)

    @property
    def timestamp_type(self) -> str:
        """CreateTime, LogAppendTime or NoTimestampType, as Kafka names them."""
        if self.magic == 0:
            return "NoTimestampType"
        return "LogAppendTime" if self.log_append_time else "CreateTime"

    @property
    def transactional(self) -> bool:
        """Whether the batch belongs to a transaction; its marker does too."""
        return self.magic == 2 and bool(self.attributes & TRANSACTIONAL_BIT)

    @property
    def control(self) -> bool:
        """Whether it holds a control record (a transaction's marker, a KRaft one) rather than data."""
        return self.magic == 2 and bool(self.attributes & CONTROL_BIT)

    @property
    def delete_horizon(self) -> int | None:
        """When the cleaner may drop this batch's tombstones or marker (ms), None if it has not set a time yet."""
        return self.base_timestamp if self.magic == 2 and self.attributes & DELETE_HORIZON_BIT else None

    @property
    def last_sequence(self) -> int:
        """Sequence number of the last record, -1 if the producer uses no sequence numbers."""
        return self.sequence_at(self.last_offset_delta)

    def sequence_at(self, offset_delta: int) -> int:
        """Sequence number of the record that lies `offset_delta` after the base offset (wraps after 2^31 - 1)."""
        return sequence_after(self.base_sequence, offset_delta)

    def header_bytes(self) -> bytes:
        """The entry's header in the v2 layout, 61 bytes, to be put into arrays of BATCH_HEADER.dtype."""
        return BATCH_HEADER.struct.pack(*self[1:])


def parse_batch(buffer: bytes | bytearray | memoryview, at: int, position: int) -> Batch:
    """The entry whose header starts at `buffer[at]` and which lies at byte `position` of the file.

    The buffer has the complete header (`SMALLEST_ENTRY` of its magic), and `fault_at` has found no fault.
    """
    if buffer[at + 16] == 2:
        return Batch(position, *BATCH_HEADER.struct.unpack_from(buffer, at))
    if buffer[at + 16] == 0:
        offset, length, crc, magic, attributes = MESSAGE_V0.struct.unpack_from(buffer, at)
        timestamp = NO_TIMESTAMP
    else:
        offset, length, crc, magic, attributes, timestamp = MESSAGE_V1.struct.unpack_from(buffer, at)
    count = COUNT_UNKNOWN if attributes & CODEC_MASK else 1
    return Batch(position, offset, length, -1, magic, crc, attributes, 0, timestamp, timestamp, -1, -1, -1, count)


class Fault(NamedTuple):
    """Why the bytes at a position are not a complete entry: `torn` (the file ends inside it), or not an entry at all.

    `missing_bytes` is how many bytes a torn entry lacks, None if too little of it is left to tell.
    """

    torn: bool
    why: str
    missing_bytes: int | None = None


def fault_at(head: bytes | bytearray | memoryview, at: int, remaining: int) -> Fault | None:
    """Why the bytes at `head[at]` are not a complete entry, None if they are one.

    `remaining` counts the bytes from here to the end of the file; `head` has at least 17 of them, or all. An entry must
    have a known magic, at least that magic's smallest size, and end within the file. Kafka (FileLogInputStream) checks
    sizes first and treats any magic above 2 as 2; here an unknown magic is a fault.
    """
    if remaining < PREFIX_BYTES:
        length = int.from_bytes(head[at + 8 : at + 12], "big", signed=True) if remaining >= OVERHEAD_BYTES else None
        if length is not None and length < SMALLEST_ENTRY[0] - OVERHEAD_BYTES:
            return Fault(False, f"its length field says {length} bytes, and no entry has so few")
        missing = None if length is None else length + OVERHEAD_BYTES - remaining
        return Fault(True, "the file ends inside an entry's first 17 bytes", missing)
    _, length, _, magic = PREFIX.unpack_from(head, at)
    smallest = SMALLEST_ENTRY.get(magic)
    if smallest is None:
        return Fault(False, f"its magic byte is {magic}, and only 0, 1 and 2 exist")
    size = length + OVERHEAD_BYTES
    if size < smallest:
        return Fault(
            False, f"its length field says {length} bytes, and an entry of magic {magic} has at least {smallest - 12}"
        )
    if size > remaining:
        return Fault(True, f"it has {size} bytes and the file ends after {remaining} of them", size - remaining)
    return None
