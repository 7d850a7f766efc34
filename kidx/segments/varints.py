"""Zigzag varints of many records at once, and the buffer views needed for them.

Source of the encoding: org.apache.kafka.common.utils.ByteUtils (Protocol Buffers' zigzag varints). Nearly all of a
record's varints have one or two bytes, and two bytes have 65,536 values, which a table decodes. The others take an
eight-byte word, in which the lowest byte without its top bit set is the last one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Ints = npt.NDArray[np.int64]
    Words = npt.NDArray[np.uint64]

SLACK_BYTES = 16  # a buffer must be this much longer than its content: words are read at any byte
ENDLESS = 1 << 40  # as a number of bytes: a varint that is too long; larger than any buffer, so nothing fits behind it
_INT_BYTES = 5


class Bytes:
    """A buffer as bytes, and at every byte as a two-byte and an eight-byte word (little-endian)."""

    def __init__(self, buffer: npt.NDArray[np.uint8]) -> None:
        self.array = buffer
        self.view = buffer.data
        self.pairs = np.ndarray(len(buffer) - 1, "<u2", buffer.data, 0, (1,))
        self.words = np.ndarray(len(buffer) - 7, "<u8", buffer.data, 0, (1,))


def _tables() -> tuple[Ints, Ints]:
    pair = np.arange(1 << 16, dtype=np.int64)
    low, high = pair & 0xFF, pair >> 8
    one, two = low < 0x80, (low >= 0x80) & (high < 0x80)
    raw = np.where(one, low, low & 0x7F | high << 7)
    value = raw >> 1 ^ -(raw & 1)
    used = 1 + two.astype(np.int64)
    short = one | two
    return np.where(short, value << 4 | used, 0), np.where(short & (raw & 1 == 0), value + used, 0)


# By two bytes: value * 16 + bytes used, and bytes used + value (from a record's length: where the next one starts).
# 0 where the varint is longer, or the length negative.
VALUE_AND_SIZE, STEP = _tables()


def ints(data: Bytes, at: Ints) -> tuple[Ints, Ints]:
    """The 32-bit varints at the positions `at`: values, and bytes used (ENDLESS where more than 5)."""
    values = VALUE_AND_SIZE.take(data.pairs[at])
    used = values & 15
    values >>= 4
    if not used.all():
        rows = np.flatnonzero(used == 0)
        values[rows], used[rows] = long_ints(data, at[rows])
    return values, used


def long_ints(data: Bytes, at: Ints) -> tuple[Ints, Ints]:
    """As `ints`, for varints of any length."""
    raw, used = _raw(data, at)
    raw &= np.uint64(0xFFFFFFFF)  # what a Java int keeps of the fifth byte
    used[used > _INT_BYTES] = ENDLESS
    return _unzigzag(raw), used


def longs(data: Bytes, at: Ints) -> tuple[Ints, Ints]:
    """The 64-bit varints at the positions `at`: values, and bytes used (ENDLESS where more than 10)."""
    raw, used = _raw(data, at)
    return _unzigzag(raw), used


def steps(data: Bytes, at: Ints) -> Ints:
    """Distances in bytes from records' starts to their ends; ENDLESS for an invalid length."""
    result = STEP.take(data.pairs[at])
    if not result.all():
        rows = np.flatnonzero(result == 0)
        lengths, used = long_ints(data, at[rows])
        result[rows] = np.where(lengths < 0, ENDLESS, lengths + used)
    return result


def _unzigzag(raw: Words) -> Ints:
    return (raw >> np.uint64(1)).view(np.int64) ^ -(raw & np.uint64(1)).view(np.int64)


def _raw(data: Bytes, at: Ints) -> tuple[Words, Ints]:
    """Varints of any length before zigzag, and bytes used."""
    word = data.words[at]
    last = ~word & np.uint64(0x8080808080808080)
    mask = last ^ (last - np.uint64(1))  # all bits up to the top bit of the varint's last byte
    word &= mask & np.uint64(0x7F7F7F7F7F7F7F7F)
    ones = np.uint64(0x0101010101010101)
    used = ((mask & ones) * ones >> np.uint64(56)).view(np.int64)
    for shift, kept in ((1, 0x007F007F007F007F), (2, 0x00003FFF00003FFF), (4, 0x000000000FFFFFFF)):
        word = word & np.uint64(kept) | word >> np.uint64(shift) & np.uint64(kept << 7 * shift)
    for row in np.flatnonzero(last == 0).tolist():  # 9 or 10 bytes, or no end: rare
        piece = data.view[int(at[row]) : int(at[row]) + 10].tolist()
        size = next((i + 1 for i, byte in enumerate(piece) if byte < 0x80), 0)
        used[row] = size or ENDLESS
        word[row] = sum((byte & 0x7F) << 7 * i for i, byte in enumerate(piece[:size])) & 0xFFFFFFFFFFFFFFFF
    return word, used
