"""One commit-log message: bytes to fields. Bytes that cannot be decoded become a Broken with the reason."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from kidx.rocketmq.formats import (
    BORN_V6,
    MAGIC_BLANK,
    MAGIC_V1,
    MAGIC_V2,
    MESSAGE_HEAD,
    SCHEDULE_TOPIC,
    STORE_V6,
    TRANSACTION,
)
from kidx.text.java import string_hash

MAX_MESSAGE_BYTES = 64 << 20  # maxMessageSize is 4 MiB by default
CRC_PROPERTY_BYTES = 20  # "__CRC32#" 0x01, ten digits, 0x02 (CommitLog.CRC32_RESERVED_LEN)
CRC_PROPERTY = b"__CRC32#\x01"
_UNIT_MS = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


def parse_delay_levels(text: str) -> tuple[int, ...] | None:
    """The delays of messageDelayLevel, ms, from level 1 on; None if a broker would not accept it.

    Source: ScheduleMessageService.parseDelayLevel.
    """
    parts = text.split()
    if not parts or not all(p[:-1].isascii() and p[:-1].isdigit() and p[-1] in _UNIT_MS for p in parts):
        return None
    return tuple(int(part[:-1]) * _UNIT_MS[part[-1]] for part in parts)


DELAY_LEVELS_MS = parse_delay_levels("1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h") or ()


class Blank(NamedTuple):
    """The record that closes a commit-log file: the next message did not fit. `size` is what it claims to fill."""

    size: int


class Broken(NamedTuple):
    """Bytes that are not a message. `size` is the size they state (0: none); `end` means that the log simply ends."""

    size: int
    reason: str
    end: bool = False


class Message:
    """A message. `raw` is the complete message; offsets and times are as stored, not validated."""

    def __init__(self, head: tuple[int, ...], raw: bytes, places: tuple[int, int, int, int, int, int]) -> None:
        (
            self.size,
            self.magic,
            self.body_crc,
            self.queue_id,
            self.flag,
            self.queue_offset,
            self.physical_offset,
            self.sys_flag,
            self.born_timestamp,
        ) = head
        self.raw = raw
        self._body, self._body_end, self._topic, self._topic_end, self._properties, self._end = places

    @property
    def body(self) -> bytes:
        """The body as stored, compressed or not."""
        return self.raw[self._body : self._body_end]

    @property
    def store_timestamp(self) -> int:
        """When the broker stored it, epoch milliseconds."""
        at = 68 if self.sys_flag & BORN_V6 else 56
        return int.from_bytes(self.raw[at : at + 8], signed=True)

    @property
    def born_host(self) -> str:
        """The client's address and port."""
        return host_text(self.raw[48 : 68 if self.sys_flag & BORN_V6 else 56])

    @property
    def store_host(self) -> str:
        """The broker's address and port."""
        at = 76 if self.sys_flag & BORN_V6 else 64
        return host_text(self.raw[at : at + (20 if self.sys_flag & STORE_V6 else 8)])

    @property
    def reconsume_times(self) -> int:
        """How often it was sent again to a consumer that failed."""
        return int.from_bytes(self.raw[self._body - 16 : self._body - 12], signed=True)

    @property
    def prepared_transaction_offset(self) -> int:
        """Commit-log offset of its prepared half, 0 without one."""
        return int.from_bytes(self.raw[self._body - 12 : self._body - 4], signed=True)

    @cached_property
    def topic(self) -> str:
        """The topic; bytes that are not UTF-8 become U+FFFD, as in Java."""
        return self.raw[self._topic : self._topic_end].decode("utf-8", "replace")

    @cached_property
    def properties(self) -> dict[str, str]:
        """The properties, as MessageDecoder.string2messageProperties reads them: empty names and values are dropped."""
        return parse_properties(self.raw[self._properties : self._end].decode("utf-8", "replace"))

    @property
    def ends_properties(self) -> bool:
        """Whether the last property is followed by a separator: 5.x writes one, 4.x does not."""
        return self.raw[self._properties : self._end].endswith(b"\x02")

    @property
    def parts_size(self) -> int:
        """The sum of the sizes inside it; a broker stops at a message whose `size` is another."""
        return self._end

    @property
    def transaction(self) -> int:
        """0, PREPARED, COMMITTED or ROLLED_BACK."""
        return self.sys_flag & TRANSACTION

    @property
    def has_unit(self) -> bool:
        """Whether it gets a queue unit: prepared and rolled-back messages do not."""
        return self.transaction in (0, 0x8)

    def body_crc_found(self) -> int:
        """The body's CRC as a broker computes it: CRC-32 without its sign bit."""
        return zlib.crc32(self.body) & 0x7FFFFFFF

    def property_crc(self) -> tuple[int, int] | None:
        """(stored, found) of the CRC property that 5.2+ can append; None without one."""
        tail = self.raw[self.size - CRC_PROPERTY_BYTES : self.size]
        if not (tail.startswith(CRC_PROPERTY) and tail.endswith(b"\x02") and self.size == self._end):
            return None
        digits = tail[len(CRC_PROPERTY) : -1]
        if not digits.isdigit():
            return -1, 0
        return int(digits[::-1]), zlib.crc32(self.raw[: self.size - CRC_PROPERTY_BYTES]) & 0x7FFFFFFF

    def tag_code(self, delay_levels_ms: tuple[int, ...] | None = None) -> int:
        """The tag code of its queue unit: the hash of TAGS, or the delivery time of a delayed message."""
        delivery = self.delivery_timestamp(delay_levels_ms)
        return string_hash(self.properties.get("TAGS", "")) if delivery is None else delivery

    def delivery_timestamp(self, delay_levels_ms: tuple[int, ...] | None = None) -> int | None:
        """When a message of SCHEDULE_TOPIC_XXXX falls due, epoch ms; None for all others.

        `delay_levels_ms` are those of messageDelayLevel, the default ones unless given.
        """
        level = self.properties.get("DELAY", "")
        if self.topic != SCHEDULE_TOPIC or not level.lstrip("+").isascii() or not level.lstrip("+").isdigit():
            return None
        delays = delay_levels_ms or DELAY_LEVELS_MS
        number = min(int(level), len(delays))
        return self.store_timestamp + delays[number - 1] if number > 0 else None

    def index_keys(self, tags: bool) -> Iterator[str]:
        """The keys the index gets, in order: UNIQ_KEY, each of KEYS and (`tags`, 5.4.0 on) the tag's own."""
        if self.transaction == 0xC:
            return
        if (unique := self.properties.get("UNIQ_KEY")) is not None:
            yield f"{self.topic}#{unique}"
        for key in self.properties.get("KEYS", "").split(" "):
            if key:
                yield f"{self.topic}#{key}"
        if tags and self.properties.get("TAGS"):
            yield f"{self.topic}#T#{self.properties['TAGS']}"

    def light_queues(self) -> dict[str, int]:
        """Other queues that have a unit of it, with its offset there (multi-dispatch, light message queues).

        A broker with enableMultiDispatch, which is off by default, dispatches it to these as well
        (ConsumeQueue.multiDispatchLmqQueue); one with enableLmq, too, takes queue 0 of those named %LMQ%.
        """
        names = self.properties.get("INNER_MULTI_DISPATCH", "").split(",")
        offsets = self.properties.get("INNER_MULTI_QUEUE_OFFSET", "").split(",")
        if len(names) != len(offsets) or not all(offset.isascii() and offset.isdigit() for offset in offsets):
            return {}
        return dict(zip(names, map(int, offsets), strict=True))

    def batch(self) -> tuple[int, int]:
        """(base offset, messages) of an inner batch, (-1, -1) of any other (CommitLog.setBatchSizeIfNeeded)."""
        try:
            return int(self.properties["INNER_BASE"]), int(self.properties["INNER_NUM"])
        except (KeyError, ValueError):
            return -1, -1


def decode(data: bytes, remaining: int | None = None) -> Message | Blank | Broken:
    """The message at the start of `data`, or what is there instead. `remaining` counts the file's bytes from here on.

    Bytes after the message are ignored; with fewer bytes than the message has, it is Broken.
    """
    remaining = len(data) if remaining is None else remaining
    if len(data) < 8:
        return Broken(0, "the file ends", end=True)
    size, magic = int.from_bytes(data[:4], signed=True), int.from_bytes(data[4:8])
    if magic == MAGIC_BLANK:
        return Blank(size)
    if magic not in (MAGIC_V1, MAGIC_V2):
        nothing = not any(data[:8])
        return Broken(0, "zeros" if nothing else f"magic {magic:08x} is not that of a message", end=nothing)
    if MAX_MESSAGE_BYTES < size <= remaining:
        return Broken(0, f"size {size} is more than kidx reads as one message, {MAX_MESSAGE_BYTES} bytes")
    if size < 0 or size > remaining:
        return Broken(0, f"size {size} goes past the file's end, {remaining} bytes from here")
    raw = data[:size]
    try:
        head = MESSAGE_HEAD.struct.unpack_from(raw)
    except struct.error:
        return Broken(size, f"size {size} is less than a message's head")
    at = 48 + (20 if head[7] & BORN_V6 else 8) + 8 + (20 if head[7] & STORE_V6 else 8) + 12
    body_length = int.from_bytes(raw[at : at + 4], signed=True)
    body = at + 4
    body_end = body + max(0, body_length)
    topic = body_end + (2 if magic == MAGIC_V2 else 1)
    topic_length = int.from_bytes(raw[body_end:topic], signed=True)
    topic_end = topic + max(0, topic_length)
    properties = topic_end + 2
    properties_length = int.from_bytes(raw[topic_end:properties], signed=True)
    end = properties + max(0, properties_length)
    if end > size or topic_length < 0 or len(raw) < size:
        return Broken(size, f"its parts need {end} bytes and its size says {size}")
    return Message(head, raw, (body, body_end, topic, topic_end, properties, end))


def recovers(message: Message, five: bool) -> bool:
    """Whether a recovering broker continues past it: sizes add up, the body's CRC is right, 4.x knows no V2."""
    if message.size != message.parts_size or (message.magic == MAGIC_V2 and not five):
        return False
    body = message.body
    return not body or zlib.crc32(body) & 0x7FFFFFFF == message.body_crc


def parse_properties(text: str) -> dict[str, str]:
    """name 0x01 value 0x02 ...; a part without name, value or separator is dropped."""
    found: dict[str, str] = {}
    for part in text.split("\x02"):
        name, separator, value = part.partition("\x01")
        if separator and name and value:
            found[name] = value
    return found


def host_text(raw: bytes) -> str:
    """An address of 4 or 16 bytes and a 4-byte port, as text."""
    import ipaddress

    address, port = ipaddress.ip_address(raw[:-4]), int.from_bytes(raw[-4:], signed=True)
    if isinstance(address, ipaddress.IPv6Address):
        return f"[{':'.join(format(int(part, 16), 'x') for part in address.exploded.split(':'))}]:{port}"
    return f"{address}:{port}"
