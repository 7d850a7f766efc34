"""What the scan and the record decoder must agree with: the slow, obvious way; and mutations of whole logs."""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable
from struct import unpack_from
from typing import Any, NamedTuple

from fastcrc import crc32

from kidx.evidence import Evidence, from_bytes
from kidx.segments.record_blocks import RecordDecoder
from kidx.segments.records import read_records
from kidx.segments.scan import Scan, scan
from kidx.segments.walk import walk


class Entry(NamedTuple):
    position: int
    size: int
    magic: int
    base_offset: int
    crc_ok: bool


def slow_scan(data: bytes) -> tuple[list[Entry], int]:
    """Entries of a log one by one, and where they end, as the format's description has it."""
    entries, at = [], 0
    while len(data) - at >= 17:
        offset, length, _, magic = unpack_from(">qiib", data, at)
        size = length + 12
        if magic not in (0, 1, 2) or size < (26, 34, 61)[magic] or at + size > len(data):
            break
        if magic == 2:
            crc_ok = crc32.iscsi(data[at + 21 : at + size]) == unpack_from(">I", data, at + 17)[0]
        else:
            crc_ok = zlib.crc32(data[at + 16 : at + size]) == unpack_from(">I", data, at + 12)[0]
        entries.append(Entry(at, size, magic, offset, crc_ok))
        at += size
    return entries, at


def fast_scan(data: bytes, positions: Any = None, **options: Any) -> tuple[list[Entry], Scan]:
    """The same by scan()."""
    windows = scan(from_bytes(data), positions, **options)
    entries = []
    covered = windows.position
    for window in windows:
        assert window.start == covered
        covered = window.end
        bad = set(window.bad_crc or ())
        rows = zip(
            window.position.tolist(),
            window.size.tolist(),
            window.column("magic").tolist(),
            window.column("base_offset").tolist(),
            strict=True,
        )
        entries += [Entry(*row, i not in bad) for i, row in enumerate(rows)]
        assert [b.position for b in window.batches()] == window.position.tolist()
    assert windows.ending is not None
    assert windows.ending.position == covered
    return entries, windows


def records_by_lanes(evidence: Evidence, positions: Any = None) -> dict[int, Any]:
    """By position of the batch: its records, or what is wrong with it (kind and words)."""
    found: dict[int, Any] = {}
    decoder = RecordDecoder(evidence)
    for window in scan(evidence, positions, hold=True):
        rows = window.position.tolist()
        found.update((position, []) for position in rows)
        for block in decoder.blocks(window):
            columns = (block.batch, block.offset, block.timestamp, block.header_count, block.size)
            contents = zip(block.key.tolist(), block.value.tolist(), strict=True)
            for row, *numbers in zip(*(c.tolist() for c in columns), contents, strict=True):
                found[rows[row]].append((*numbers[:-1], *numbers[-1]))
            for row, damage in block.damage:
                assert found[rows[row]] == []
                found[rows[row]] = damage
    return found


def records_one_by_one(evidence: Evidence) -> dict[int, Any]:
    """The same by the plain decoder."""
    found: dict[int, Any] = {}
    for batch in walk(evidence):
        records, damage = read_records(evidence, batch)
        rows = [(r.offset, r.timestamp, len(r.headers), r.size, r.key, r.value) for r in records]
        found[batch.position] = damage or rows
    return found


def mutate(data: bytes, chance: random.Random) -> bytes:
    """A damaged copy, by one to three of the mutations below."""
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        if data:
            data = chance.choice(MUTATIONS)(data, chance)
    return data


def _flip(data: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(data))
    return data[:at] + bytes([data[at] ^ (1 << chance.randrange(8))]) + data[at + 1 :]


def _cut(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(len(data))]


def _garbage_behind(data: bytes, chance: random.Random) -> bytes:
    return data + chance.randbytes(chance.randrange(1, 200))


def _zeros_behind(data: bytes, chance: random.Random) -> bytes:
    return data + bytes(chance.randrange(1, 5000))


def _garbage_within(data: bytes, chance: random.Random) -> bytes:
    at, size = chance.randrange(len(data)), chance.randrange(1, 100)
    return data[:at] + chance.randbytes(size) + data[at + size :]


def _zeros_within(data: bytes, chance: random.Random) -> bytes:
    at, size = chance.randrange(len(data)), chance.randrange(1, 300)
    return data[:at] + bytes(size) + data[at + size :]


def _taken_out(data: bytes, chance: random.Random) -> bytes:
    at, size = chance.randrange(len(data)), chance.randrange(1, 300)
    return data[:at] + data[at + size :]


def _put_in_twice(data: bytes, chance: random.Random) -> bytes:
    at, size = chance.randrange(len(data)), chance.randrange(1, 3000)
    return data[: at + size] + data[at:]


def _header_field(data: bytes, chance: random.Random) -> bytes:
    """A field of some batch's header with another value: the ones a scan must not trust."""
    entries, _ = slow_scan(data)
    if not entries:
        return data
    start = chance.choice(entries).position
    at, size = chance.choice(((0, 8), (8, 4), (8, 4), (16, 1), (17, 4), (21, 2), (23, 4), (57, 4)))
    values = (0, 1, 48, 49, 50, 2**31 - 1, -1, -(2**31), chance.randrange(2**31), chance.randrange(300))
    value = (chance.choice(values) % (1 << 8 * size)).to_bytes(size, "big")
    return data[: start + at] + value + data[start + at + size :]


def _record_byte(data: bytes, chance: random.Random) -> bytes:
    """A byte behind some batch's header with a value that is trouble for varints."""
    entries, _ = slow_scan(data)
    entry = chance.choice(entries) if entries else None
    if entry is None or entry.size <= 61:
        return data
    at = entry.position + chance.randrange(61, min(entry.size, 61 + chance.choice((8, 40, 100000))))
    return data[:at] + bytes([chance.choice((0, 1, 2, 127, 128, 255, chance.randrange(256)))]) + data[at + 1 :]


MUTATIONS: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    _flip,
    _cut,
    _garbage_behind,
    _zeros_behind,
    _garbage_within,
    _zeros_within,
    _taken_out,
    _put_in_twice,
    _header_field,
    _header_field,
    _record_byte,
    _record_byte,
)
