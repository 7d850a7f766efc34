"""Bytes that are no text, read as java.lang.String reads them; the pairs were made by Java 17."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kidx.formats.text import JAVA

BAD = "\ufffd"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"gr\xc3\xbc\xc3\x9fe \xf0\x9f\x94\x91", "gr\u00fc\u00dfe \U0001f511"),
        (b"\xed\xa0\x80x", f"{BAD}x"),
        (b"\xed\xa0x", f"{BAD}x"),
        (b"\xed\xa0", BAD),
        (b"\xed\xedx", f"{BAD}{BAD}x"),
        (b"\xe0\x80\x80", BAD * 3),
        (b"\xe2\x82x", f"{BAD}x"),
        (b"\xf0\x90\x80x", f"{BAD}x"),
        (b"\xf4\x90\x80\x80", BAD * 4),
        (b"\xf5\x80", BAD * 2),
        (b"\xc0\x80\xc1", BAD * 3),
    ],
)
def test_bad_sequences(data: bytes, said: str) -> None:
    assert data.decode("utf-8", JAVA) == said


@given(
    st.lists(st.sampled_from([*b"\x41\x80\x8f\x90\x9f\xa0\xbf\xc0\xc3\xe0\xe2\xed\xf0\xf4\xf5\xff"]), max_size=9).map(
        bytes
    )
)
def test_against_javas_loop(data: bytes) -> None:
    assert data.decode("utf-8", JAVA) == java_string(data)


def java_string(data: bytes) -> str:
    """String.decodeUTF8_UTF16 of JDK 17, byte by byte: how long each bad sequence is."""
    said, at = "", 0
    while at < len(data):
        length = length_of_good(data, at)
        if length:
            said += data[at : at + length].decode()
        else:
            said, length = said + BAD, length_of_bad(data, at)
        at += length
    return said


def length_of_good(data: bytes, at: int) -> int:
    for length in range(1, 5):
        try:
            data[at : at + length].decode()
        except UnicodeDecodeError:
            continue
        return length
    return 0


def length_of_bad(data: bytes, at: int) -> int:
    rest = data[at + 1 : at + 4]
    follows = [0x80 <= byte <= 0xBF for byte in rest] + [False] * 3
    first, second = data[at], rest[0] if rest else 0
    if first >> 4 == 0xE:
        if not follows[0] or (first == 0xE0 and second < 0xA0):
            return 1
        return 3 if follows[1] else 2
    if 0xF0 <= first <= 0xF4:
        if not follows[0] or (first == 0xF0 and second < 0x90) or (first == 0xF4 and second > 0x8F):
            return 1
        return 3 if follows[1] else 2
    return 1
