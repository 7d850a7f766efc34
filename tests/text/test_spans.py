"""Columns of byte strings: the same bytes as Python makes one by one."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kidx.text import spans
from kidx.text.escaping import plain
from kidx.text.spans import Spans, spans_of

SPECIAL = "é€😀\u2028\u0085\U000e0001".encode()
CHARACTERS = st.sampled_from([b"a", b'"', b"\\", b"\n", b"\x01", b"\x7f", SPECIAL, b"\xed\xa0\x80"])
PIECES = CHARACTERS | st.binary(max_size=3) | st.sampled_from([b"\xf0\x9f\x98", b"\xe2\x82", b"\xc3", b"\x80", b"\xf4"])
STRING = st.lists(PIECES, max_size=12).map(b"".join) | st.integers(0, 9000).map(bytes)
STRINGS = st.lists(st.none() | STRING, max_size=20)


def scattered(strings: list[bytes | None]) -> Spans:
    """The strings in the reverse order of their rows, with bytes between them that belong to none."""
    data, starts = b"", []
    for string in reversed(strings):
        data += b"\xc3"
        starts.append(len(data))
        data += string or b""
    lengths = [-1 if s is None else len(s) for s in strings]
    buffer = np.frombuffer(data + b"\x80", np.uint8)
    return Spans(buffer, np.array(starts[::-1], np.int64), np.array(lengths, np.int64))


def text(data: bytes) -> bytes:
    return data.decode("utf-8", "backslashreplace").encode()


def as_json(data: bytes) -> bytes:
    return json.dumps(text(data).decode(), ensure_ascii=False).encode()


ENCODINGS: dict[str, tuple[Callable[[Spans], Spans], Callable[[bytes], bytes]]] = {
    "packed": (Spans.packed, bytes),
    "hex": (spans.hexed, lambda data: data.hex().encode()),
    "base64": (spans.base64_text, base64.b64encode),
    "utf8": (spans.utf8, text),
    "printable": (lambda column: spans.printable(spans.utf8(column)), lambda data: plain(text(data).decode()).encode()),
    "json": (lambda column: spans.json_quoted(spans.utf8(column)), as_json),
}


@pytest.mark.parametrize("name", ENCODINGS)
@given(STRINGS)
def test_as_python_encodes_one_by_one(name: str, strings: list[bytes | None]) -> None:
    of_columns, of_one = ENCODINGS[name]
    wanted = [None if s is None else of_one(s) for s in strings]
    assert of_columns(scattered(strings)).tolist() == wanted
    assert of_columns(spans_of(strings)).tolist() == wanted


@given(st.lists(st.tuples(st.none() | STRING, STRING), min_size=1, max_size=20), st.randoms())
def test_joined_merged_grouped(rows: list[tuple[bytes | None, bytes]], chance: object) -> None:
    left, right = scattered([a for a, _ in rows]), scattered([b for _, b in rows])
    assert spans.joined([b"<", left, b", ", right, b">\n"]).tolist() == [
        b"<" + (a or b"") + b", " + b + b">\n" for a, b in rows
    ]
    places = np.arange(2 * len(rows))
    chance.shuffle(places)  # type: ignore[attr-defined]
    both = spans.merged([(left, places[: len(rows)]), (right, places[len(rows) :])]).tolist()
    assert [both[i] for i in places.tolist()] == [a or b"" for a, _ in rows] + [b for _, b in rows]
    counts = np.array([0, len(rows), 0], np.int64)
    assert spans.grouped(right, counts).tolist() == [b"", b"".join(b for _, b in rows), b""]


@given(STRINGS)
def test_characters_and_absent_ones(strings: list[bytes | None]) -> None:
    column = spans.utf8(scattered(strings))
    assert spans.character_counts(column).tolist() == [len(text(s or b"").decode()) for s in strings]
    assert spans.with_absent(column, b"none").tolist() == [b"none" if s is None else text(s) for s in strings]


@given(STRINGS, STRING)
def test_equal_ones(strings: list[bytes | None], text: bytes) -> None:
    column = scattered([*strings, text])
    assert spans.equals(column, text).tolist() == [s == text for s in [*strings, text]]


def test_chosen_texts() -> None:
    assert spans.chosen([b"no", b"", b"yes"], np.array([2, 0, 1])).tolist() == [b"yes", b"no", b""]
