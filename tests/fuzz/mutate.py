"""Mutations by seeded verbs: each changes bytes as a disk, a torn write, a wrong copy or an enemy would.

A verb takes bytes and chance, and gives other bytes. `mutate` may repair checksums afterwards, so that what lies below
them is reached: record counts, varints, codecs, the internal topics' messages.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable, Sequence
from typing import NamedTuple

from fastcrc import crc32

from kidx.errors import KidxError
from kidx.evidence import from_bytes
from kidx.formats.batches import BATCH_HEADER, CRC_START, HEADER_BYTES, LEGACY_CRC_START, OVERHEAD_BYTES, fault_at
from kidx.formats.batches import MESSAGE_V1 as MESSAGE
from kidx.formats.compression import inflate
from kidx.formats.fields import RecordFormat
from kidx.logdir.names import INDEX_OF_KIND, LOG, METADATA_SNAPSHOT, PRODUCER_SNAPSHOT
from kidx.segments.walk import walk
from tests.building import compress

LOGS = (LOG, METADATA_SNAPSHOT)
MOST_BYTES = 64 << 10  # a mutated file never grows beyond
_SNAPSHOT_CRC = slice(2, 6)
_EXTREME = (0, 1, -1, 2, 127, 128, 255, 2**15 - 1, -(2**15), 2**16, 2**31 - 1, -(2**31), 2**31, 2**32 - 1)
_EXTREME_LONG = (*_EXTREME, 2**53, 2**62, 2**63 - 1, -(2**63))
_VARINTS = (b"\xff" * 5 + b"\x0f", b"\xfe\xff\xff\xff\x0f", b"\x80" * 9 + b"\x01", b"\xff" * 10, b"\x80\x00", b"\x01")

Verb = Callable[[bytearray, random.Random, "Setting"], None]


class Setting(NamedTuple):
    """What verbs may know of the bytes: their kind, and other files to splice from."""

    kind: str
    donors: Sequence[bytes]


class Mutated(NamedTuple):
    """The result: `verbs` in order, and whether checksums were repaired after them."""

    data: bytes
    verbs: tuple[str, ...]
    repaired: bool


def mutate(original: bytes, kind: str, chance: random.Random, donors: Sequence[bytes] = (b"\0" * 64,)) -> Mutated:
    """One to three verbs, mostly one; then, by chance, checksums that hold."""
    data, said = bytearray(original), []
    setting = Setting(kind, donors)
    verbs = [*ANYWHERE, *(IN_LOGS if kind in LOGS else IN_INDEXES if kind in INDEX_OF_KIND else ())]
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        verb = chance.choice(verbs)
        verb(data, chance, setting)
        said.append(verb.__name__)
    del data[MOST_BYTES:]
    repaired = kind in (*LOGS, PRODUCER_SNAPSHOT) and chance.random() < 0.6
    if repaired:
        repair(data, kind)
    return Mutated(bytes(data), tuple(said), repaired)


def repair(data: bytearray, kind: str) -> None:
    """Give every batch that can be walked to, or the snapshot, the checksum of its bytes."""
    if kind == PRODUCER_SNAPSHOT:
        data[_SNAPSHOT_CRC] = crc32.iscsi(bytes(data[6:])).to_bytes(4, "big")
        return
    at = 0
    while fault_at(data, at, len(data) - at) is None:
        end = at + OVERHEAD_BYTES + int.from_bytes(data[at + 8 : at + 12], "big")
        if data[at + 16] == 2:
            data[at + 17 : at + 21] = crc32.iscsi(bytes(data[at + CRC_START : end])).to_bytes(4, "big")
        else:
            data[at + 12 : at + 16] = zlib.crc32(data[at + LEGACY_CRC_START : end]).to_bytes(4, "big")
        at = end


def _place(data: bytearray, chance: random.Random, room: int = 1) -> int:
    return chance.randrange(max(1, len(data) - room + 1))


def _span(data: bytearray, chance: random.Random) -> slice:
    start = _place(data, chance)
    return slice(start, min(len(data), start + chance.choice((1, 2, 4, 8, 12, 34, 61, 100, 500))))


def flip_bit(data: bytearray, chance: random.Random, _: Setting) -> None:
    if data:
        data[_place(data, chance)] ^= 1 << chance.randrange(8)


def set_byte(data: bytearray, chance: random.Random, _: Setting) -> None:
    if data:
        data[_place(data, chance)] = chance.choice((0, 1, 2, 0x7F, 0x80, 0xFF, chance.randrange(256)))


def random_run(data: bytearray, chance: random.Random, _: Setting) -> None:
    span = _span(data, chance)
    data[span] = chance.randbytes(span.stop - span.start)


def zero_run(data: bytearray, chance: random.Random, _: Setting) -> None:
    span = _span(data, chance)
    data[span] = bytes(span.stop - span.start)


def zero_to_the_end(data: bytearray, chance: random.Random, _: Setting) -> None:
    start = _place(data, chance)
    data[start:] = bytes(len(data) - start)


def ones_run(data: bytearray, chance: random.Random, _: Setting) -> None:
    span = _span(data, chance)
    data[span] = b"\xff" * (span.stop - span.start)


def cut(data: bytearray, chance: random.Random, _: Setting) -> None:
    del data[_place(data, chance) :]


def drop(data: bytearray, chance: random.Random, _: Setting) -> None:
    del data[_span(data, chance)]


def duplicate(data: bytearray, chance: random.Random, _: Setting) -> None:
    span = _span(data, chance)
    data[span.stop : span.stop] = data[span]


def swap(data: bytearray, chance: random.Random, _: Setting) -> None:
    a = _span(data, chance)
    b = _place(data, chance, a.stop - a.start)
    end = b + a.stop - a.start
    if end <= len(data) and (end <= a.start or b >= a.stop):
        data[a], data[b:end] = data[b:end], data[a]


def insert(data: bytearray, chance: random.Random, _: Setting) -> None:
    at = _place(data, chance)
    data[at:at] = chance.randbytes(chance.choice((1, 4, 8, 12, 61)))


def splice(data: bytearray, chance: random.Random, setting: Setting) -> None:
    donor = chance.choice(setting.donors)
    start = chance.randrange(len(donor) + 1)
    piece = donor[start : start + chance.choice((8, 61, 300, 3000))]
    at = _place(data, chance)
    data[at : at + (len(piece) if chance.random() < 0.5 else 0)] = piece


def append(data: bytearray, chance: random.Random, _: Setting) -> None:
    count = chance.choice((1, 7, 8, 12, 16, 24, 34, 61, 100, 4096))
    data += bytes(count) if chance.random() < 0.5 else chance.randbytes(count)


def extreme_number(data: bytearray, chance: random.Random, _: Setting) -> None:
    width = chance.choice((1, 2, 4, 8))
    _put(data, _place(data, chance, width), width, chance)


def extreme_varint(data: bytearray, chance: random.Random, _: Setting) -> None:
    varint = chance.choice(_VARINTS)
    at = _place(data, chance)
    data[at : at + (len(varint) if chance.random() < 0.5 else 1)] = varint


def batch_field(data: bytearray, chance: random.Random, _: Setting) -> None:
    """Another value in a header's field."""
    at = _some_batch(data, chance)
    if at is not None:
        header = BATCH_HEADER if data[at + 16 : at + 17] == b"\2" else MESSAGE
        _field(data, at, header, chance)


def duplicate_batch(data: bytearray, chance: random.Random, _: Setting) -> None:
    start, end = _batch_span(data, chance)
    data[end:end] = data[start:end]


def drop_batch(data: bytearray, chance: random.Random, _: Setting) -> None:
    start, end = _batch_span(data, chance)
    del data[start:end]


def cut_at_batch(data: bytearray, chance: random.Random, _: Setting) -> None:
    start, _end = _batch_span(data, chance)
    del data[start:]


def in_records(data: bytearray, chance: random.Random, _: Setting) -> None:
    """Bytes below compression: inflated, changed by a verb, compressed anew, under a length that fits."""
    start, end = _batch_span(data, chance)
    if end - start <= HEADER_BYTES or data[start + 16] != 2:
        return
    codec = data[start + 22] & 7
    try:
        records = bytearray(inflate(codec, bytes(data[start + HEADER_BYTES : end]), limit_bytes=1 << 20))
    except KidxError:
        return
    for _again in range(chance.choice((1, 1, 2))):
        chance.choice(ANYWHERE)(records, chance, Setting("records", (bytes(records),)))
    codec = chance.randrange(5) if chance.random() < 0.3 else codec
    data[start + 22] = data[start + 22] & ~7 | codec
    packed = compress(codec, bytes(records))
    data[start + HEADER_BYTES : end] = packed
    data[start + 8 : start + 12] = (HEADER_BYTES - OVERHEAD_BYTES + len(packed)).to_bytes(4, "big")


def entry_field(data: bytearray, chance: random.Random, setting: Setting) -> None:
    """Another value in an index entry's field."""
    index = INDEX_OF_KIND[setting.kind]
    slots = len(data) // index.size
    if slots:
        _field(data, chance.randrange(slots) * index.size, index, chance)


def near_entry(data: bytearray, chance: random.Random, setting: Setting) -> None:
    """An index entry's field a little off, as a wrong increment leaves it."""
    index = INDEX_OF_KIND[setting.kind]
    slots = len(data) // index.size
    if slots:
        at = chance.randrange(slots) * index.size
        start, end = index.field_span(chance.choice(index.fields).name)
        value = int.from_bytes(data[at + start : at + end], "big") + chance.choice((-2, -1, 1, 2, 69))
        data[at + start : at + end] = (value % (1 << 8 * (end - start))).to_bytes(end - start, "big")


def duplicate_entry(data: bytearray, chance: random.Random, setting: Setting) -> None:
    width = INDEX_OF_KIND[setting.kind].size
    at = chance.randrange(len(data) // width + 1) * width
    data[at:at] = data[at : at + width]


def drop_entry(data: bytearray, chance: random.Random, setting: Setting) -> None:
    width = INDEX_OF_KIND[setting.kind].size
    at = chance.randrange(len(data) // width + 1) * width
    del data[at : at + width]


def swap_entries(data: bytearray, chance: random.Random, setting: Setting) -> None:
    width = INDEX_OF_KIND[setting.kind].size
    slots = len(data) // width
    if slots > 1:
        a, b = (slot * width for slot in chance.sample(range(slots), 2))
        data[a : a + width], data[b : b + width] = data[b : b + width], data[a : a + width]


ANYWHERE: tuple[Verb, ...] = (
    flip_bit, set_byte, random_run, zero_run, zero_to_the_end, ones_run, cut, drop, duplicate, swap, insert, splice,
    append, extreme_number, extreme_varint,
)  # fmt: skip
IN_LOGS: tuple[Verb, ...] = (
    batch_field, batch_field, batch_field, in_records, in_records, in_records,
    duplicate_batch, drop_batch, cut_at_batch,
)  # fmt: skip
IN_INDEXES: tuple[Verb, ...] = (entry_field, near_entry, near_entry, duplicate_entry, drop_entry, swap_entries)
IN_PLACE = {verb.__name__ for verb in (
    flip_bit, set_byte, random_run, zero_run, ones_run, extreme_number, batch_field, entry_field, near_entry,
)}  # fmt: skip


def _field(data: bytearray, at: int, form: RecordFormat, chance: random.Random) -> None:
    start, end = form.field_span(chance.choice(form.fields).name)
    if at + end <= len(data):
        _put(data, at + start, end - start, chance)


def _put(data: bytearray, at: int, width: int, chance: random.Random) -> None:
    old = int.from_bytes(data[at : at + width], "big")
    value = chance.choice((chance.choice(_EXTREME_LONG), old + chance.choice((-1, 1)), chance.getrandbits(8 * width)))
    data[at : at + width] = (value % (1 << 8 * width)).to_bytes(width, "big")


def _some_batch(data: bytearray, chance: random.Random) -> int | None:
    starts = [batch.position for batch in walk(from_bytes(bytes(data)))]
    return chance.choice(starts) if starts else None


def _batch_span(data: bytearray, chance: random.Random) -> tuple[int, int]:
    at = _some_batch(data, chance)
    if at is None:
        return 0, 0
    return at, at + OVERHEAD_BYTES + int.from_bytes(data[at + 8 : at + 12], "big")
