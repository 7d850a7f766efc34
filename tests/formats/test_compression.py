"""Codecs: what producers write comes back, junk is said to be junk, and nothing comes out without a bound."""

from __future__ import annotations

import gzip
import os
from contextlib import suppress
from struct import pack

import cramjam
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kidx.formats.compression import (
    CODEC_NAMES,
    BudgetSpent,
    DamagedPayload,
    OutputFull,
    inflate,
    inflate_into,
    inflation_budget,
)
from tests.building import compress

CODECS = (1, 2, 3, 4)


@given(st.sampled_from((0, *CODECS)), st.binary(max_size=5000) | st.integers(0, 200_000).map(bytes))
def test_what_was_compressed_comes_back(codec: int, data: bytes) -> None:
    if data or codec != 2:
        assert inflate(codec, compress(codec, data)) == data


def test_snappy_without_framing() -> None:
    assert inflate(2, bytes(cramjam.snappy.compress_raw(b"plain snappy"))) == b"plain snappy"


def test_gzip_members_one_after_another() -> None:
    assert inflate(1, gzip.compress(b"one ") + gzip.compress(b"two") + b"and what Java ignores") == b"one two"


def test_the_wrong_header_checksum_of_version_0() -> None:
    """KAFKA-3160: it was taken over the magic number, too."""
    frame = bytearray(compress(3, b"old" * 50))
    end = 6 + (8 if frame[4] & 8 else 0)
    frame[end] ^= 0x5A
    assert inflate(3, bytes(frame), magic=0) == b"old" * 50
    with pytest.raises(DamagedPayload):
        inflate(3, bytes(frame), magic=1)


def test_lz4_blocks_that_depend_on_each_other_are_refused_as_kafka_does() -> None:
    assert inflate(3, compress(3, bytes(200_000))) == bytes(200_000)
    with pytest.raises(DamagedPayload, match="depend on each other"):
        inflate(3, bytes(cramjam.lz4.compress(bytes(200_000))))


@pytest.mark.parametrize("codec", CODECS)
def test_a_bomb_is_stopped_at_the_limit(codec: int) -> None:
    bomb = compress(codec, bytes(1 << 20))
    assert len(inflate(codec, bomb, limit_bytes=1 << 20)) == 1 << 20
    with pytest.raises(OutputFull, match=rf"{CODEC_NAMES[codec]} .* {(1 << 20) - 1} bytes"):
        inflate(codec, bomb, limit_bytes=(1 << 20) - 1)


def test_a_snappy_size_that_is_a_lie() -> None:
    with pytest.raises(OutputFull):
        inflate(2, b"\xff\xff\xff\xff\x0f" + b"abc", limit_bytes=1 << 20)


@pytest.mark.parametrize("codec", CODECS)
def test_cut_and_empty_payloads(codec: int) -> None:
    whole = compress(codec, bytes(range(256)) * 20)
    for data in (b"", whole[:1], whole[:10], whole[: len(whole) // 2], whole[:-1]):
        with pytest.raises(DamagedPayload):
            inflate(codec, data)


def test_an_unknown_codec() -> None:
    with pytest.raises(DamagedPayload, match="codec 5"):
        inflate(5, b"x")


def test_a_xerial_block_past_the_end() -> None:
    with pytest.raises(DamagedPayload, match="block"):
        inflate(2, b"\x82SNAPPY\0" + pack(">iii", 1, 1, 1000) + b"abc")


@given(st.sampled_from(CODECS), st.sampled_from((0, 1, 2)), st.binary(max_size=300))
def test_junk(codec: int, magic: int, junk: bytes) -> None:
    for data in (junk, compress(codec, b"header" * 9)[:15] + junk):
        with suppress(DamagedPayload, OutputFull):
            inflate(codec, data, magic=magic, limit_bytes=1 << 16)


def test_into_a_room_of_just_the_size() -> None:
    for codec in CODECS:
        room = memoryview(bytearray(6))
        assert inflate_into(codec, compress(codec, b"just so"[:6]), room) == 6
        assert bytes(room) == b"just s"


BOMB = gzip.compress(bytes(8 << 20))  # 1 to 1,000


def test_a_budget_ends_unusual_batches_and_no_others() -> None:
    usual = gzip.compress(os.urandom(1000) * 20)
    with inflation_budget(20 << 20):
        for _ in range(2):
            assert len(inflate(1, BOMB)) == 8 << 20
        with pytest.raises(BudgetSpent, match="more than 100 times its size, and the 20971520 bytes"):
            for _ in range(5):
                inflate(1, BOMB)
        assert len(inflate(1, usual)) == 20_000
        with pytest.raises(BudgetSpent):
            inflate(4, compress(4, bytes(8 << 20)))
    assert len(inflate(1, BOMB)) == 8 << 20


@pytest.mark.parametrize("codec", CODECS)
def test_what_was_inflated_for_nothing_counts(codec: int) -> None:
    bomb = compress(codec, bytes(1 << 20))
    with inflation_budget(1 << 20):
        for _ in range(40):
            with pytest.raises(OutputFull):
                inflate(codec, bomb, limit_bytes=(1 << 20) - 1)
        if codec != 2:  # snappy's ratio is never unusual
            with pytest.raises(BudgetSpent):
                inflate(codec, bomb)
