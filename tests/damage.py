"""Damage by small verbs: each does one thing to a file that a test has copied, and returns its path."""

from __future__ import annotations

import os
from pathlib import Path

from kidx.formats.batches import BATCH_HEADER, CRC_START, OVERHEAD_BYTES
from kidx.formats.fields import RecordFormat
from kidx.logdir.names import index_format_of


def set_entry(path: Path, slot: int, *values: int) -> Path:
    """Overwrite an index's entry with these values of its fields, as stored (relative offsets)."""
    index = index_format_of(str(path))
    return overwrite(path, slot * index.size, index.struct.pack(*values))


def entry(path: Path, slot: int) -> tuple[int, ...]:
    """An index's entry as stored; -1 is the last."""
    index = index_format_of(str(path))
    data = path.read_bytes()
    slots = len(data) // index.size
    return index.struct.unpack_from(data, (slot % slots) * index.size)


def swap_entries(path: Path, a: int, b: int) -> Path:
    """Exchange two entries of an index."""
    first, second = entry(path, a), entry(path, b)
    set_entry(path, a, *second)
    return set_entry(path, b, *first)


def zero_entry(path: Path, slot: int) -> Path:
    """Overwrite an index's entry with zeros."""
    return overwrite(path, slot * index_format_of(str(path)).size, bytes(index_format_of(str(path)).size))


def duplicate_entry(path: Path, slot: int) -> Path:
    """Insert a copy of an index's entry behind it."""
    width = index_format_of(str(path)).size
    data = path.read_bytes()
    path.write_bytes(data[: (slot + 1) * width] + data[slot * width :])
    return path


def remove_entry(path: Path, slot: int) -> Path:
    """Take an index's entry out; those behind it move up."""
    width = index_format_of(str(path)).size
    data = path.read_bytes()
    path.write_bytes(data[: slot * width] + data[(slot + 1) * width :])
    return path


def flip_byte(path: Path, position: int, mask: int = 0xFF) -> Path:
    """Invert the bits of one byte that `mask` names; a negative position counts from the end."""
    data = bytearray(path.read_bytes())
    data[position] ^= mask
    path.write_bytes(data)
    return path


def overwrite(path: Path, position: int, data: bytes) -> Path:
    """Write bytes over those at a position."""
    with path.open("r+b") as f:
        f.seek(position)
        f.write(data)
    return path


def shrink(path: Path, by: int) -> Path:
    """Cut bytes from the end."""
    os.truncate(path, path.stat().st_size - by)
    return path


def zero_tail(path: Path, to_size: int) -> Path:
    """Grow a file with zeros, as Kafka preallocates an index."""
    os.truncate(path, max(to_size, path.stat().st_size))
    return path


def append_garbage(path: Path, data: bytes = b"\xde\xad\xbe\xef") -> Path:
    """Append bytes that belong to nothing."""
    with path.open("ab") as f:
        f.write(data)
    return path


def set_header(path: Path, position: int, header: RecordFormat = BATCH_HEADER, **fields: int) -> Path:
    """Overwrite fields, by name, of the record (a v2 batch's header) at a position of a file."""
    data = bytearray(path.read_bytes())
    values = list(header.struct.unpack_from(data, position))
    names = [f.name for f in header.fields]
    for name, value in fields.items():
        values[names.index(name)] = value
    header.struct.pack_into(data, position, *values)
    path.write_bytes(data)
    return path


def fix_crc(path: Path, position: int) -> Path:
    """Give the v2 batch at a position the CRC that its bytes have, so that only what was meant is wrong."""
    from fastcrc import crc32

    data = path.read_bytes()
    length = int.from_bytes(data[position + 8 : position + OVERHEAD_BYTES], "big")
    body = data[position + CRC_START : position + OVERHEAD_BYTES + length]
    return set_header(path, position, crc=crc32.iscsi(body))
