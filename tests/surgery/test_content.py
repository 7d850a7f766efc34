"""Pieces of files, bytes and zeros read as one file, byte for byte."""

from __future__ import annotations

import hashlib
import os
from itertools import product
from pathlib import Path

import pytest

from kidx.evidence import from_bytes, open_evidence
from kidx.surgery.content import Joined, data_chunks, same_bytes, sha256_of

DIGITS = from_bytes(b"0123456789")
PIECES = (b"ab", (DIGITS, 3, 7), 3, b"", (DIGITS, 5, 5), b"c", (DIGITS, 0, 2), 1)
WHOLE = b"ab3456\0\0\0c01\0"


def test_every_range_reads_as_of_one_file() -> None:
    joined = Joined("x", *PIECES)
    assert (joined.size, joined.read(0, joined.size)) == (len(WHOLE), WHOLE)
    for position, length in product(range(len(WHOLE) + 2), repeat=2):
        assert joined.read(position, length) == WHOLE[position : position + length]
        room = bytearray(b"-" * length)
        count = joined.read_into(position, memoryview(room))
        assert bytes(room) == WHOLE[position : position + length].ljust(length, b"-")
        assert count == len(WHOLE[position : position + length])


def test_zeros_are_holes_and_nothing_else_is() -> None:
    joined = Joined("x", *PIECES)
    for start, end in product(range(len(WHOLE) + 1), [*range(len(WHOLE) + 2), None]):
        stop = len(WHOLE) if end is None else end
        held = {n for a, b in joined.data_ranges(start, end) for n in range(a, b)}
        assert held == {n for n in range(start, min(stop, len(WHOLE))) if WHOLE[n]}, (start, end)
        assert all(a < b for a, b in joined.data_ranges(start, end))


@pytest.mark.parametrize("first", [0, 4096, 5000])
def test_holes_of_a_file_stay_holes(tmp_path: Path, first: int) -> None:
    path = tmp_path / "sparse"
    with path.open("wb") as f:
        f.write(b"x" * 8192)
        f.seek(1 << 20)
        f.write(b"y" * 4096)
        f.truncate(2 << 20)
    with open_evidence(str(path)) as evidence:
        joined = Joined("x", b"head", (evidence, first, evidence.size))
        data = b"head" + path.read_bytes()[first:]
        ranges = joined.data_ranges()
        held = bytearray(len(data))
        for start, end in ranges:
            held[start:end] = data[start:end]
        assert held == data and sum(b - a for a, b in ranges) <= 64 << 10
        assert b"".join(piece for _, piece in data_chunks(joined)) == b"".join(data[a:b] for a, b in ranges)
        assert [at for at, _ in data_chunks(joined)] == [a for a, _ in ranges]
        assert sha256_of(joined) == hashlib.sha256(data).hexdigest()
    assert os.stat(path).st_size == 2 << 20


def test_the_same_bytes() -> None:
    assert same_bytes(None, None)
    assert not same_bytes(None, DIGITS) and not same_bytes(DIGITS, None)
    assert same_bytes(Joined("x", (DIGITS, 0, 4), b"456789"), DIGITS)
    assert not same_bytes(Joined("x", (DIGITS, 0, 9)), DIGITS)
    assert not same_bytes(Joined("x", (DIGITS, 0, 9), b"8"), DIGITS)
    assert same_bytes(from_bytes(b""), Joined("x"))
