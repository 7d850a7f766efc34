"""The fixed-width records of a RocketMQ store, one table each. All integers are big-endian; most are signed."""

from __future__ import annotations

from kidx.formats.fields import Field, RecordFormat

UNIT = RecordFormat(
    "consume queue unit",
    "kidx.rocketmq_unit.v1",
    "org.apache.rocketmq.store.ConsumeQueue",
    (
        Field("commit_log_offset", "q", "bytes", "where the message starts in the commit log"),
        Field("size", "i", "bytes", "the whole message's size"),
        Field("tag_code", "q", "", "hash of TAGS; a delivery time (delayed messages); or a consumequeue_ext address"),
    ),
)
BATCH_UNIT = RecordFormat(
    "batch consume queue unit",
    "kidx.rocketmq_batch_unit.v1",
    "org.apache.rocketmq.store.queue.BatchConsumeQueue (5.0)",
    (
        Field("commit_log_offset", "q", "bytes", "where the message that holds the batch starts"),
        Field("size", "i", "bytes", "the whole message's size"),
        Field("tag_code", "q", "", "hash of TAGS"),
        Field("store_timestamp", "q", "ms", "when the broker stored it"),
        Field("base_offset", "q", "offset", "queue offset of the batch's first message"),
        Field("batch_size", "h", "messages", "how many messages the batch holds"),
        Field("compact_offset", "i", "", "-1; set where the topic is compacted"),
        Field("reserved", "i", "", "0"),
    ),
)
EXT_HEAD = RecordFormat(
    "consumequeue_ext unit",
    "kidx.rocketmq_ext_unit.v1",
    "org.apache.rocketmq.store.ConsumeQueueExt.CqExtUnit",
    (
        Field("size", "h", "bytes", "the unit's size: 20 and the bitmap; -1 marks the rest of the file as filler"),
        Field("tag_code", "q", "", "hash of TAGS"),
        Field("store_timestamp", "q", "ms", "when the broker stored the message"),
        Field("bitmap_bytes", "h", "bytes", "length of the filter bitmap that follows"),
    ),
)
INDEX_HEADER = RecordFormat(
    "index file header",
    "kidx.rocketmq_index_header.v1",
    "org.apache.rocketmq.store.index.IndexHeader",
    (
        Field("begin_timestamp", "q", "ms", "store time of the first message indexed"),
        Field("end_timestamp", "q", "ms", "store time of the last message indexed"),
        Field("begin_offset", "q", "bytes", "commit-log offset of the first message indexed"),
        Field("end_offset", "q", "bytes", "commit-log offset of the last message indexed"),
        Field("used_slots", "i", "", "slots that hold a chain"),
        Field("index_count", "i", "", "entries and 1: entry numbers start at 1"),
    ),
)
INDEX_ENTRY = RecordFormat(
    "index file entry",
    "kidx.rocketmq_index_entry.v1",
    "org.apache.rocketmq.store.index.IndexFile",
    (
        Field("hash", "i", "", "abs(Java hashCode) of topic#key"),
        Field("commit_log_offset", "q", "bytes", "where the message starts"),
        Field("seconds", "i", "s", "store time, in whole seconds since the header's begin_timestamp"),
        Field("previous", "i", "", "the entry before it in the slot's chain, 0: none"),
    ),
)
CHECKPOINT = RecordFormat(
    "checkpoint",
    "kidx.rocketmq_checkpoint.v1",
    "org.apache.rocketmq.store.StoreCheckpoint",
    (
        Field("physic_timestamp", "q", "ms", "store time up to which the commit log was flushed"),
        Field("logics_timestamp", "q", "ms", "store time up to which the queues were flushed"),
        Field("index_timestamp", "q", "ms", "store time up to which the index was flushed"),
        Field("master_flushed_offset", "q", "bytes", "commit-log offset that the master has flushed (5.0)"),
        Field("confirm_offset", "q", "bytes", "commit-log offset that is confirmed (5.0)"),
        Field("logics_offset", "q", "bytes", "commit-log offset up to which the queues were flushed (5.3)"),
    ),
)
MESSAGE_HEAD = RecordFormat(
    "commit-log message head",
    "kidx.rocketmq_message.v1",
    "org.apache.rocketmq.store.CommitLog, org.apache.rocketmq.common.message.MessageDecoder",
    (
        Field("total_size", "i", "bytes", "the whole message's size"),
        Field("magic", "I", "", "V1, V2 or blank"),
        Field("body_crc", "i", "", "CRC-32 of the stored body & 0x7FFFFFFF"),
        Field("queue_id", "i", "", "the queue's number"),
        Field("flag", "i", "", "the application's own"),
        Field("queue_offset", "q", "offset", "the message's number in its queue"),
        Field("physical_offset", "q", "bytes", "the message's own commit-log offset"),
        Field("sys_flag", "i", "", "compression, transaction, address widths"),
        Field("born_timestamp", "q", "ms", "when the client sent it"),
    ),
)

MAGIC_V1, MAGIC_V2, MAGIC_BLANK = 0xDAA320A7, 0xDAA320AB, 0xCBD43194  # V2: 5.1.0, topics of more than 127 bytes
CHECKPOINT_FILE_BYTES = 4096

COMPRESSED, MULTI_TAG, TRANSACTION, BORN_V6, STORE_V6, INNER_BATCH = 0x1, 0x2, 0xC, 0x10, 0x20, 0x80
PREPARED, COMMITTED, ROLLED_BACK = 0x4, 0x8, 0xC  # values under TRANSACTION

PRE_BLANK_SIZE = 0x7FFFFFFF  # ConsumeQueue.fillPreBlank: (0, this, 0)
MAX_EXT_ADDRESS = -(2**31) - 1  # tag codes at or below this are consumequeue_ext addresses (ConsumeQueueExt.MAX_ADDR)
SCHEDULE_TOPIC = "SCHEDULE_TOPIC_XXXX"


def is_ext_address(tag_code: int) -> bool:
    """Whether a unit's tag code is an address into consumequeue_ext."""
    return tag_code <= MAX_EXT_ADDRESS


def ext_offset(tag_code: int) -> int:
    """The byte offset in consumequeue_ext that an address stands for (ConsumeQueueExt.unDecorate)."""
    return tag_code + 2**63


def leading_units(data: bytes) -> int:
    """How many of a ConsumeQueue's units are valid before the first that is not: offset >= 0 and size > 0.

    Works on complete columns of bytes, as one big integer, so millions of units need no numpy.
    """
    count = len(data) // UNIT.size
    data = data[: count * UNIT.size]
    used = 0
    for at in range(8, 12):  # the size's four bytes: any of them set
        used |= int.from_bytes(data[at :: UNIT.size])
    negative = int.from_bytes(data[0 :: UNIT.size]) | int.from_bytes(data[8 :: UNIT.size])
    zero = used.to_bytes(count).find(0)
    below = negative.to_bytes(count).translate(_SIGN).find(1)
    return min((at for at in (zero, below) if at >= 0), default=count)


def leading_batch_units(data: bytes) -> int:
    """How many of a BatchConsumeQueue's units are valid before the first that is not."""
    count = 0
    for offset, size, _, _, base, batch, _, _ in BATCH_UNIT.struct.iter_unpack(
        data[: len(data) // BATCH_UNIT.size * BATCH_UNIT.size]
    ):
        if offset < 0 or size <= 0 or base < 0 or batch <= 0:
            break
        count += 1
    return count


_SIGN = bytes(1 if byte >= 128 else 0 for byte in range(256))
