"""OffsetMap is SkimpyOffsetMap: against what Kafka's class answered, and bulk puts against puts one by one."""

from __future__ import annotations

import hashlib
import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kidx.cleaner import OffsetMap, OffsetMapFull
from kidx.cleaner.digests import NAMES, Digest, digest_named, md2
from kidx.errors import UsageError
from tests.support import KAFKA_SETS, answers

LARGE_PUTS = 100_000  # of one version; the class is the same in all
RECORDED = [
    (s.name, row)
    for s in KAFKA_SETS
    for row in answers(s, "offset_maps.tsv")
    if s == KAFKA_SETS[0] or int(row["puts"]) <= LARGE_PUTS
]


def keys_of(puts: int, seed: int) -> list[bytes]:
    """The keys that the recorded answers were asked with."""
    keys, state = [], seed
    for _ in range(puts):
        state = (state * 1103515245 + 12345) & 0x7FFFFFFF
        keys.append(b"key-%d" % (state % max(1, puts)))
    return keys


@pytest.mark.parametrize(("name", "row"), RECORDED, ids=lambda x: x if isinstance(x, str) else x["puts"] + x["digest"])
def test_recorded_maps(name: str, row: dict[str, str]) -> None:
    offset_map = OffsetMap(int(row["memory"]), row["digest"])
    keys = keys_of(int(row["puts"]), int(row["seed"]))
    full = False
    try:
        if len(keys) > 10_000:
            offset_map.put_many(keys, range(len(keys)))
        else:
            for offset, key in enumerate(keys):
                offset_map.put(key, offset)
    except OffsetMapFull:
        full = True
    assert full == bool(row["error"])
    assert (offset_map.slots, offset_map.size) == (int(row["slots"]), int(row["size"]))
    assert offset_map.latest_offset == int(row["latest_offset"])
    assert hashlib.sha256(offset_map.to_bytes()).hexdigest() == row["sha256_of_slots"]
    asked = [offset_map.get(k) for k in (b"key-0", b"key-1", b"absent")]
    assert asked == [int(row[c]) for c in ("get_key0", "get_key1", "get_absent")]


def everything(m: OffsetMap) -> tuple[object, ...]:
    return m.to_bytes(), m.size, m.latest_offset, m.lookups, m.probes


def weak(bits: int) -> Digest:
    """A digest of few different values, so that probes collide, wrap and share whole digests."""

    def one(key: bytes) -> bytes:
        few = int.from_bytes(hashlib.md5(key).digest()[:4], "big") % (1 << bits)
        return (b"\x80\x00\x00\x00" if few == 0 else few.to_bytes(4, "big")) + hashlib.md5(bytes([few & 3])).digest()[
            :12
        ]

    return Digest("weak", 16, one, lambda keys: b"".join(map(one, keys)))


@example([[4], [4, 15, 4]], 2, 3, 0)  # two keys, one digest, in the map before
@given(
    st.lists(st.lists(st.integers(0, 40), max_size=40), max_size=3),
    st.integers(1, 60),
    st.sampled_from(["MD5", "SHA-1", "MD2", 3, 6, 20]),
    st.integers(0, 23),
)
def test_many_puts_are_as_so_many_single_ones(
    calls: list[list[int]], slots: int, digest: str | int, left_over: int
) -> None:
    def new() -> OffsetMap:
        size = digest_named(digest).size if isinstance(digest, str) else 16
        made = OffsetMap(slots * (size + 8) + left_over, digest if isinstance(digest, str) else "MD5")
        if isinstance(digest, int):
            made.digest = weak(digest)
        return made

    one_by_one, at_once = new(), new()
    offset = 0
    for numbers in calls:
        keys = [b"k%d" % n for n in numbers]
        offsets = range(offset, offset + len(keys))
        offset += len(keys)
        failed = [False, False]
        try:
            for key, value in zip(keys, offsets, strict=True):
                one_by_one.put(key, value)
        except OffsetMapFull:
            failed[0] = True
        try:
            at_once.put_many(keys, offsets)
        except OffsetMapFull:
            failed[1] = True
        assert failed[0] == failed[1]
        assert everything(at_once) == everything(one_by_one)
    for n in range(42):
        assert at_once.get(b"k%d" % n) == one_by_one.get(b"k%d" % n)


def test_counters_clear_and_latest_offset() -> None:
    offset_map = OffsetMap(240)
    assert math.isnan(offset_map.collision_rate)
    offset_map.put(b"a", 5)
    offset_map.put(b"a", 7)
    offset_map.update_latest_offset(99)
    assert (offset_map.size, offset_map.utilization, offset_map.latest_offset) == (1, 0.1, 99)
    assert (offset_map.lookups, offset_map.probes, offset_map.collision_rate) == (2, 2, 0.0)
    offset_map.clear()
    assert everything(offset_map) == everything(OffsetMap(240))


def test_a_full_map_refuses_even_a_known_key_and_still_ends_its_search() -> None:
    offset_map = OffsetMap(48)
    offset_map.put_many([b"a", b"b"], [1, 2])
    for key in (b"a", b"c"):
        with pytest.raises(OffsetMapFull, match="2 slots in 48 bytes"):
            offset_map.put(key, 3)
    with pytest.raises(OffsetMapFull):
        offset_map.put_many([b"a"], [3])
    assert [offset_map.get(k) for k in (b"a", b"b", b"c")] == [1, 2, -1]


@pytest.mark.parametrize("memory", [-1, 0, 23, 2**31])
def test_memory_that_kafka_would_not_take(memory: int) -> None:
    with pytest.raises(UsageError, match="24"):
        OffsetMap(memory)


def test_unknown_digest_and_unequal_lengths() -> None:
    with pytest.raises(UsageError, match="MD2, MD5"):
        OffsetMap(1000, "CRC-32")
    with pytest.raises(UsageError, match="1 keys and 2 offsets"):
        OffsetMap(1000).put_many([b"a"], [1, 2])


@pytest.mark.parametrize(
    ("message", "digest"),
    [  # RFC 1319, appendix A.5
        (b"", "8350e5a3e24c153df2275c9f80692773"),
        (b"a", "32ec01ec4a6dac72c0ab96fb34c0b5d1"),
        (b"abc", "da853b0d3f88d99b30283a69e6ded6bb"),
        (b"message digest", "ab4f496bfb2a530b219ff33031fe06b0"),
        (b"abcdefghijklmnopqrstuvwxyz", "4e8ddff3650292ab5a4108c3aa47940b"),
        (b"1234567890" * 8, "d5976f79d83d3a0dc9806c3c66f3efd8"),
    ],
)
def test_md2(message: bytes, digest: str) -> None:
    assert md2(message).hex() == digest


@pytest.mark.parametrize("name", NAMES)
def test_digest_of_many_is_the_digests_of_each(name: str) -> None:
    digest = digest_named(name.lower())
    keys = [b"", b"x", bytes(100)]
    assert digest.many(keys) == b"".join(digest.one(k) for k in keys)
    assert len(digest.one(b"")) == digest.size


def test_a_system_that_refuses_md5_for_security(monkeypatch: pytest.MonkeyPatch) -> None:
    real = hashlib.md5

    def fips(data: bytes = b"", *, usedforsecurity: bool = True) -> object:
        if usedforsecurity:
            raise ValueError("disabled for FIPS")
        return real(data)

    monkeypatch.setattr(hashlib, "md5", fips)
    assert digest_named("MD5").one(b"k") == real(b"k").digest()
