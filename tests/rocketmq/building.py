"""Small RocketMQ stores made by hand, for searches held against an obvious model."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from pathlib import Path

from kidx.rocketmq.formats import BORN_V6, MAGIC_BLANK, MAGIC_V1, MAGIC_V2, STORE_V6, UNIT
from kidx.text.java import string_hash

HOST = bytes([10, 0, 0, 1]) + (10911).to_bytes(4)
LOG_FILE_BYTES = 4096


def message(
    topic: str, queue_offset: int, at: int, timestamp: int, body: bytes = b"x" * 20, tags: str = "TagA"
) -> bytes:
    """A V1 message as 5.x writes it."""
    name, properties = topic.encode(), f"TAGS\x01{tags}\x02".encode()
    size = 91 + len(body) + len(name) + len(properties)
    head = struct.pack(
        ">iIiiiqqiq", size, MAGIC_V1, zlib.crc32(body) & 0x7FFFFFFF, 0, 0, queue_offset, at, 0, timestamp - 5
    )
    rest = struct.pack(">q", timestamp) + HOST + struct.pack(">iqi", 0, 0, len(body)) + body
    return head + HOST + rest + bytes([len(name)]) + name + struct.pack(">h", len(properties)) + properties


def big_message(place: tuple[str, int, int, int], body: bytes, properties: bytes, sys_flag: int = 0) -> bytes:
    """A message of any kind, of (topic, queue id, queue offset, commit-log offset)."""
    topic, queue_id, queue_offset, at = place
    name = topic.encode()
    magic = MAGIC_V1 if len(name) < 128 else MAGIC_V2
    born = bytes(15) + b"\1" if sys_flag & BORN_V6 else bytes([10, 0, 0, 1])
    stored = bytes(15) + b"\2" if sys_flag & STORE_V6 else bytes([10, 0, 0, 2])
    port = (10911).to_bytes(4)
    time = 1_600_000_000_000 + at // 7
    rest = b"".join(
        (
            (zlib.crc32(body) & 0x7FFFFFFF).to_bytes(4), queue_id.to_bytes(4), (5).to_bytes(4),
            queue_offset.to_bytes(8), at.to_bytes(8),
            sys_flag.to_bytes(4), time.to_bytes(8), born, port, time.to_bytes(8), stored, port,
            bytes(12), len(body).to_bytes(4), body, len(name).to_bytes(1 if magic == MAGIC_V1 else 2), name,
            len(properties).to_bytes(2), properties,
        )
    )  # fmt: skip
    return (8 + len(rest)).to_bytes(4) + magic.to_bytes(4) + rest


def make_store(
    root: Path, times: Sequence[int], units_per_file: int, body: bytes = b"x" * 20, log_file_bytes: int = LOG_FILE_BYTES
) -> Path:
    """A store with one queue T/0 of messages stored at these times, and zero-filled files."""
    log, units, at = bytearray(), bytearray(), 0
    for offset, time in enumerate(times):
        data = message("T", offset, at, time, body)
        room = log_file_bytes - at % log_file_bytes
        if len(data) + 8 > room:
            log += struct.pack(">iI", room, MAGIC_BLANK) + bytes(room - 8)
            at += room
            data = message("T", offset, at, time, body)
        log += data
        units += UNIT.struct.pack(at, len(data), string_hash("TagA"))
        at += len(data)
    write_series(root / "commitlog", bytes(log), log_file_bytes)
    write_series(root / "consumequeue" / "T" / "0", bytes(units), units_per_file * UNIT.size)
    return root


def write_series(directory: Path, data: bytes, file_bytes: int) -> None:
    """Split bytes into files of that length, the last one filled with zeros."""
    directory.mkdir(parents=True)
    for start in range(0, max(1, len(data)), file_bytes):
        (directory / f"{start:020d}").write_bytes(data[start : start + file_bytes].ljust(file_bytes, b"\0"))
