"""Columns of byte strings: many strings in one buffer, copied, joined and encoded without a Python object for each.

The one primitive is `copy_spans`. A string of 2^k to 2^(k+1) bytes is copied as two overlapping items of 2^k bytes, its
first and its last ones, so that all strings take two numpy calls for each k, whatever their lengths.
"""

from __future__ import annotations

import binascii
from collections.abc import Callable, Sequence
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from kidx.text.escaping import escaped
from kidx.text.json_text import json_text

if TYPE_CHECKING:
    import numpy.typing as npt

    Ints = npt.NDArray[np.int64]
    Bools = npt.NDArray[np.bool_]
    Bytes = npt.NDArray[np.uint8]

ABSENT = -1
_PIECE_BYTES = 1 << 21  # of large data, where a step takes several times its size
_LARGE_BYTES = 1 << 12  # strings from here on are copied one by one: the call costs less than the bytes


class Spans:
    """Strings of bytes, shape (rows,): `start` and `length` (int64, -1 for an absent one) in `data` (uint8)."""

    __slots__ = ("__dict__", "data", "length", "start")

    def __init__(self, data: Bytes, start: Ints, length: Ints) -> None:
        self.data, self.start, self.length = data, start, length

    def __len__(self) -> int:
        return len(self.length)

    @cached_property
    def present(self) -> Bools:
        """Which strings are not absent: bool, shape (rows,)."""
        present: Bools = self.length >= 0
        return present

    @cached_property
    def size(self) -> Ints:
        """Bytes of each string, 0 for an absent one: int64, shape (rows,)."""
        return np.maximum(self.length, 0)

    def part(self, rows: Any) -> Spans:
        """Some rows: a slice, a mask or an array of row numbers."""
        return Spans(self.data, self.start[rows], self.length[rows])

    def only(self, present: Bools) -> Spans:
        """The strings of these rows; the others are absent."""
        return Spans(self.data, self.start, np.where(present, self.length, ABSENT))

    def packed(self) -> Spans:
        """The same strings in memory that holds nothing else, one after another without gaps."""
        ends = self.size.cumsum()
        starts = ends - self.size
        if len(ends) and len(self.data) == int(ends[-1]) and (self.start == starts).all():
            return self
        data = np.empty(int(ends[-1]) if len(ends) else 0, np.uint8)
        copy_spans(data, starts, self.data, self.start, self.length)
        return Spans(data, starts, self.length)

    def tolist(self) -> list[bytes | None]:
        """Every string as a Python object, None for an absent one."""
        data = self.data.data
        pairs = zip(self.start.tolist(), self.length.tolist(), strict=True)
        return [None if n < 0 else bytes(data[a : a + n]) for a, n in pairs]


def spans_of(strings: Sequence[bytes | None]) -> Spans:
    """Spans of Python objects."""
    length = np.array([ABSENT if s is None else len(s) for s in strings], np.int64)
    size = np.maximum(length, 0)
    data = np.frombuffer(b"".join(s for s in strings if s), np.uint8)
    return Spans(data, size.cumsum() - size, length)


def copy_spans(target: Bytes, at: Ints, source: Bytes, start: Ints, length: Ints) -> None:
    """Copy `length` bytes from byte `start` of `source` to byte `at` of `target`, for each row of these columns."""
    if not len(length):
        return
    least, most = int(length.min()), int(length.max())
    if most <= 0:
        return
    if least == most < _LARGE_BYTES:
        _items(target, most)[at] = _items(source, most)[start]
        return
    width = 1
    while width <= most and width < _LARGE_BYTES:
        rows = np.flatnonzero((length >= width) & (length < 2 * width))
        if len(rows):
            here, there, more = at[rows], start[rows], length[rows] - width
            targets, sources = _items(target, width), _items(source, width)
            targets[here] = sources[there]
            if more.any():
                here += more
                there += more
                targets[here] = sources[there]
        width *= 2
    if most >= width:
        rows = np.flatnonzero(length >= width)
        to, of = target.data, source.data
        for a, b, size in zip(at[rows].tolist(), start[rows].tolist(), length[rows].tolist(), strict=True):
            to[a : a + size] = of[b : b + size]


def _items(data: Bytes, width: int) -> npt.NDArray[Any]:
    """A buffer as overlapping items of `width` bytes, one at every byte."""
    return np.ndarray(max(len(data) - width + 1, 0), f"V{width}", data.data, 0, (1,))


def joined(parts: Sequence[Spans | bytes]) -> Spans:
    """Row by row, the parts one after another, packed. A part that is bytes is the same in every row; one part at least
    is Spans. Absent strings count as empty.
    """
    rows = next(len(part) for part in parts if isinstance(part, Spans))
    total = np.zeros(rows, np.int64)
    for part in parts:
        total += len(part) if isinstance(part, bytes) else part.size
    ends = total.cumsum()
    at = ends - total
    start = at.copy()
    data = np.empty(int(ends[-1]) if rows else 0, np.uint8)
    for part in parts:
        if isinstance(part, bytes):
            if rows and part:
                _items(data, len(part))[at] = np.frombuffer(part, f"V{len(part)}")[0]
            at += len(part)
        else:
            copy_spans(data, at, part.data, part.start, part.length)
            at += part.size
    return Spans(data, start, total)


def merged(parts: Sequence[tuple[Spans, Ints]]) -> Spans:
    """Several columns as one, packed; each comes with the rows of the result that its strings are. Every row is one."""
    length = np.zeros(sum(len(spans) for spans, _ in parts), np.int64)
    for spans, rows in parts:
        length[rows] = spans.size
    ends = length.cumsum()
    start = ends - length
    data = np.empty(int(ends[-1]) if len(ends) else 0, np.uint8)
    for spans, rows in parts:
        copy_spans(data, start[rows], spans.data, spans.start, spans.length)
    return Spans(data, start, length)


def grouped(items: Spans, counts: Ints) -> Spans:
    """Items in groups of `counts`, each group's strings one after another, packed."""
    items = items.packed()
    ends = np.concatenate(([0], items.size.cumsum()))[counts.cumsum()]
    start = np.concatenate(([0], ends[:-1]))[: len(counts)]
    return Spans(items.data, start, ends - start)


def chosen(texts: Sequence[bytes], numbers: Ints) -> Spans:
    """For each row the text of its number."""
    data = np.frombuffer(b"".join(texts), np.uint8)
    sizes = np.array([len(text) for text in texts], np.int64)
    return Spans(data, (sizes.cumsum() - sizes)[numbers], sizes[numbers])


def with_absent(spans: Spans, text: bytes) -> Spans:
    """The strings, `text` in the place of absent ones."""
    if spans.present.all():
        return spans
    data = np.concatenate((spans.data, np.frombuffer(text, np.uint8)))
    start, length = spans.start.copy(), spans.length.copy()
    start[~spans.present], length[~spans.present] = len(spans.data), len(text)
    return Spans(data, start, length)


def equals(spans: Spans, text: bytes) -> Bools:
    """Which strings equal a text: bool, shape (rows,)."""
    equal: Bools = spans.length == len(text)
    rows = np.flatnonzero(equal)
    if len(rows) and text:
        packed = spans.part(rows).packed()
        equal[rows] = (packed.data.reshape(len(rows), len(text)) == np.frombuffer(text, np.uint8)).all(axis=1)
    return equal


def hexed(spans: Spans) -> Spans:
    """Two hexadecimal digits for each byte, packed."""
    packed = spans.packed()
    data = np.frombuffer(binascii.hexlify(packed.data.data), np.uint8)
    return Spans(data, 2 * packed.start, 2 * packed.length).only(packed.present)


def base64_text(spans: Spans) -> Spans:
    """Base64 with padding, packed."""
    thirds = (spans.size + 2) // 3
    start = 3 * (thirds.cumsum() - thirds)
    padded = np.zeros(3 * int(thirds.sum()), np.uint8)
    copy_spans(padded, start, spans.data, spans.start, spans.length)
    data = np.frombuffer(bytearray(binascii.b2a_base64(padded.data, newline=False)), np.uint8)
    ends, missing = (start // 3 + thirds) * 4, 3 * thirds - spans.size
    data[ends[missing > 0] - 1] = ord("=")
    data[ends[missing > 1] - 2] = ord("=")
    return Spans(data, start // 3 * 4, 4 * thirds).only(spans.present)


def utf8(spans: Spans, *, one_line: bool = False) -> Spans:
    r"""The strings as UTF-8, packed: each byte that is not UTF-8 becomes \xNN, as backslashreplace writes it.

    `one_line`: control characters of ASCII are escaped too, as `printable` does.
    """
    packed = spans.packed()
    wrong = None if _is_utf8(packed) else ~_valid_bytes(packed)
    if one_line:
        control = _controls(packed.data)
        wrong = control if wrong is None else wrong | control
    return packed if wrong is None or not wrong.any() else _with_escapes(packed, wrong)


def printable(spans: Spans) -> Spans:
    """Strings of UTF-8 as kidx.text.escaping.plain writes them for one line of a terminal; packed."""
    packed = spans.packed()
    if len(_bytes_where(packed.data, _controls)):
        packed = _with_escapes(packed, _controls(packed.data))
    at, size, texts = _unprintable(packed.data)
    return spliced(packed, at, size, texts) if len(at) else packed


def _with_escapes(packed: Spans, which: Bools) -> Spans:
    """Packed strings with the bytes of `which` escaped.

    Each byte is written as four bytes, its escape or itself and three more, which the next one overwrites. This takes
    some 30 bytes of memory a byte, so large data is done in pieces.
    """
    items, widths = _escapes()
    starts, ends = packed.start, packed.start + packed.size
    new_starts, new_ends = np.zeros_like(starts), np.zeros_like(ends)
    pieces = range(0, len(packed.data), _PIECE_BYTES)

    def entries(first: int) -> npt.NDArray[np.intp]:
        behind = first + _PIECE_BYTES
        entry: npt.NDArray[np.intp] = which[first:behind].astype(np.intp) << 8
        entry += packed.data[first:behind]
        return entry

    size = sum(int(widths.take(entries(first), mode="clip").sum()) for first in pieces)
    out, written = np.empty(size + 3, np.uint8), 0
    texts = np.ndarray(size, "<u4", out.data, 0, (1,))
    for first in pieces:
        entry = entries(first)
        behind = first + len(entry)
        at = np.full(len(entry) + 1, written)  # where each byte's text starts
        at[1:] += widths.take(entry, mode="clip").cumsum()
        texts[at[:-1]] = items.take(entry, mode="clip")
        for old, new in ((starts, new_starts), (ends, new_ends)):
            rows = slice(*old.searchsorted((first, behind + 1)))  # an end may be where the next piece begins
            new[rows] = at[old[rows] - first]
        written = int(at[-1])
    return Spans(out[:written], new_starts, new_ends - new_starts).only(packed.present)


def _bytes_where(data: Bytes, test: Callable[[Bytes], Bools]) -> Ints:
    """The bytes for which a test holds, ascending; the test gets the data piece by piece."""
    pieces = range(0, len(data), _PIECE_BYTES)
    found = [np.flatnonzero(test(data[first : first + _PIECE_BYTES])) + first for first in pieces]
    return np.concatenate(found) if found else np.zeros(0, np.int64)


def _controls(data: Bytes) -> Bools:
    """Which bytes are control characters of ASCII."""
    controls: Bools = (data < 0x20) | (data == 0x7F)
    return controls


def spliced(packed: Spans, at: Ints, size: Ints, texts: Spans) -> Spans:
    """Packed strings in which `size` bytes from each of the bytes `at` on, ascending, are replaced by texts."""
    kept_from, kept_to = np.concatenate(([0], at + size)), np.concatenate((at, [len(packed.data)]))
    kept = Spans(packed.data, kept_from, kept_to - kept_from)
    number = np.arange(len(at))
    whole = merged([(kept, np.arange(len(kept)) * 2), (texts, number * 2 + 1)])
    grown = np.concatenate(([0], (texts.size - size).cumsum()))
    start = packed.start + grown[at.searchsorted(packed.start)]
    end = packed.start + packed.size
    length = end + grown[at.searchsorted(end)] - start
    return Spans(whole.data, start, length).only(packed.present)


def _unprintable(data: Bytes) -> tuple[Ints, Ints, Spans]:
    """Where in UTF-8 characters beyond ASCII are that are not printable, their bytes, and their escapes."""
    at = _bytes_where(data, lambda piece: piece >= 0xC0)
    if not len(at):
        return at, at, spans_of([])
    lead = data[at].astype(np.int64)
    size = 2 + (lead >= 0xE0) + (lead >= 0xF0)
    code = lead & np.array([0, 0, 0x1F, 0x0F, 0x07])[size]
    for n in (1, 2, 3):
        more = size > n
        code[more] = code[more] << 6 | data[at[more] + n] & 0x3F
    known, which = np.unique(code, return_inverse=True)
    characters = list(map(chr, known.tolist()))
    bad = np.array([not c.isprintable() for c in characters])[which]
    rows = np.flatnonzero(bad)
    texts = [escaped(c).encode() if not c.isprintable() else b"" for c in characters]
    return at[rows], size[rows], chosen(texts, which[rows])


def json_quoted(spans: Spans) -> Spans:
    """Strings of UTF-8 as JSON strings, quotes included and packed; absent ones stay absent."""
    packed = spans.packed()
    data = packed.data
    special = data[(data < 0x20) | (data == ord('"')) | (data == ord("\\"))]
    for byte in reversed(np.bincount(special).nonzero()[0].tolist()):  # the backslash first
        packed = replaced(packed, byte, json_text(chr(byte))[1:-1].encode())
    quoted = joined([b'"', packed, b'"'])
    return quoted.only(spans.present)


def csv_quoted(spans: Spans) -> Spans:
    """Strings as cells of CSV, packed: in quotes where they must be; absent ones are empty."""
    packed = spans.packed()
    data = packed.data
    special = (data == ord(",")) | (data == ord('"')) | (data == ord("\n")) | (data == ord("\r"))
    at = np.flatnonzero(special)
    if not len(at):
        return packed
    quoted = at.searchsorted(packed.start + packed.size) > at.searchsorted(packed.start)
    packed = replaced(packed, ord('"'), b'""')
    quote = chosen([b"", b'"'], quoted.astype(np.int64))
    return joined([quote, packed, quote])


def replaced(packed: Spans, byte: int, text: bytes) -> Spans:
    """Packed strings with `text` in the place of every `byte`, packed."""
    at = np.flatnonzero(packed.data == byte)
    data = np.frombuffer(packed.data.tobytes().replace(bytes([byte]), text), np.uint8)
    return _longer(packed, data, at, len(text) - 1)


def _longer(packed: Spans, data: Bytes, at: Ints, more: int) -> Spans:
    """The spans after each byte at `at` of the packed data has become `more` bytes longer; `data` is the new data."""
    size = packed.size
    before = np.searchsorted(at, packed.start) * more
    after = np.searchsorted(at, packed.start + size) * more
    return Spans(data, packed.start + before, size + after - before).only(packed.present)


def character_counts(packed: Spans) -> Ints:
    """Characters of packed strings of UTF-8: int64, shape (rows,)."""
    later = _bytes_where(packed.data, lambda piece: (piece & 0xC0) == 0x80)
    size = packed.size
    if not len(later):
        return size
    return size - (np.searchsorted(later, packed.start + size) - np.searchsorted(later, packed.start))


def _is_utf8(packed: Spans) -> bool:
    """Whether every string is UTF-8."""
    data = packed.data
    if not len(data) or int(data.max()) < 0x80:
        return True
    try:
        str(data.data, "utf-8")
    except UnicodeDecodeError:
        return False
    first = data[packed.start[packed.length > 0]]
    return not bool(((first & 0xC0) == 0x80).any())


def _valid_bytes(packed: Spans) -> Bools:
    """Which bytes belong to a character of UTF-8 (Unicode, table 3-7): bool, shape (bytes,)."""
    data = packed.data
    later = (data & 0xC0) == 0x80
    later[packed.start[packed.length > 0]] = False  # a character does not go on in the next string
    second, third, fourth = (_shifted(later, n) for n in (1, 2, 3))
    follows = _shifted(data, 1)
    two = (data >= 0xC2) & (data <= 0xDF) & second
    three = ((data & 0xF0) == 0xE0) & second & third
    three &= ~((data == 0xE0) & (follows < 0xA0)) & ~((data == 0xED) & (follows >= 0xA0))
    four = (data >= 0xF0) & (data <= 0xF4) & second & third & fourth
    four &= ~((data == 0xF0) & (follows < 0x90)) & ~((data == 0xF4) & (follows >= 0x90))
    valid: Bools = (data < 0x80) | two | three | four
    valid[1:] |= (two | three | four)[:-1]
    valid[2:] |= (three | four)[:-2]
    valid[3:] |= four[:-3]
    return valid


def _shifted(array: npt.NDArray[Any], count: int) -> npt.NDArray[Any]:
    out = np.zeros_like(array)
    out[:-count] = array[count:]
    return out


@cache
def _escapes() -> tuple[npt.NDArray[np.uint32], Ints]:
    """By byte, and by byte + 256 for those to escape: the text to write, four bytes, and how many of them count."""
    texts = [bytes([byte]) for byte in range(256)]
    texts += [escaped(chr(byte)).encode() if byte < 0x80 else rb"\x%02x" % byte for byte in range(256)]
    items = np.frombuffer(b"".join(text.ljust(4) for text in texts), "<u4").astype(np.uint32)
    return items, np.array([len(text) for text in texts], np.int64)
