"""Batches and old messages made by hand, byte by byte, as a producer makes them."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Sequence
from struct import pack

import cramjam
from fastcrc import crc32

NAMES = ("none", "gzip", "snappy", "lz4", "zstd")


def varint(value: int, bits: int = 64) -> bytes:
    """A zigzag varint."""
    raw = (value << 1 ^ value >> (bits - 1)) & ((1 << bits) - 1)
    out = bytearray()
    while raw >= 0x80:
        out.append(raw & 0x7F | 0x80)
        raw >>= 7
    return bytes([*out, raw])


def nullable(data: bytes | None) -> bytes:
    return varint(-1) if data is None else varint(len(data)) + data


def record(
    offset_delta: int = 0,
    timestamp_delta: int = 0,
    key: bytes | None = None,
    value: bytes | None = b"value",
    headers: Sequence[tuple[bytes, bytes | None]] = (),
) -> bytes:
    body = b"\0" + varint(timestamp_delta) + varint(offset_delta) + nullable(key) + nullable(value)
    body += varint(len(headers)) + b"".join(nullable(k) + nullable(v) for k, v in headers)
    return varint(len(body)) + body


def compress(codec: int, data: bytes) -> bytes:
    """As Kafka's producers do; snappy in xerial's framing, lz4 in blocks that do not depend on each other."""
    if codec == 1:
        return gzip.compress(data, mtime=0)
    if codec == 2:
        blocks = [bytes(cramjam.snappy.compress_raw(data[at : at + 32768])) for at in range(0, len(data), 32768)]
        return b"\x82SNAPPY\0" + pack(">ii", 1, 1) + b"".join(pack(">i", len(b)) + b for b in blocks)
    if codec == 3:
        blocks = [
            bytes(cramjam.lz4.compress_block(data[at : at + 65536], store_size=False))
            for at in range(0, len(data), 65536)
        ]
        return b"\x04\x22\x4d\x18\x60\x40\x82" + b"".join(pack("<i", len(b)) + b for b in blocks) + bytes(4)
    return bytes(cramjam.zstd.compress(data)) if codec else data


def batch(
    records: Sequence[bytes] = (),
    *,
    base_offset: int = 0,
    payload: bytes | None = None,
    codec: int = 0,
    attributes: int = 0,
    last_offset_delta: int | None = None,
    base_timestamp: int = 1_700_000_000_000,
    max_timestamp: int | None = None,
    producer: tuple[int, int, int] = (-1, -1, -1),
    count: int | None = None,
    leader_epoch: int = 0,
) -> bytes:
    """A v2 batch with the right CRC. Unsaid, its records are one offset and no time apart."""
    body = compress(codec, b"".join(records)) if payload is None else payload
    last = len(records) - 1 if last_offset_delta is None else last_offset_delta
    top = base_timestamp if max_timestamp is None else max_timestamp
    fields = (attributes | codec, last, base_timestamp, top, *producer, len(records) if count is None else count)
    covered = pack(">hiqqqhii", *fields) + body
    return pack(">qiibI", base_offset, len(covered) + 9, leader_epoch, 2, crc32.iscsi(covered)) + covered


def message(
    value: bytes | None,
    *,
    offset: int = 0,
    magic: int = 1,
    key: bytes | None = None,
    attributes: int = 0,
    timestamp: int = 1_700_000_000_000,
) -> bytes:
    """A v0 or v1 message with the right CRC."""
    fields = b"".join(pack(">i", -1) if f is None else pack(">i", len(f)) + f for f in (key, value))
    covered = pack(">bb", magic, attributes) + (pack(">q", timestamp) if magic else b"") + fields
    return pack(">qiI", offset, len(covered) + 4, zlib.crc32(covered)) + covered


def wrapper(inner: Sequence[bytes], *, codec: int, offset: int, magic: int = 1, attributes: int = 0) -> bytes:
    """A compressed message around others; `offset` is the last one's."""
    return message(compress(codec, b"".join(inner)), offset=offset, magic=magic, attributes=attributes | codec)
