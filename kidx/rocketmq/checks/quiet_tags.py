"""Rows of bytes that are expected at some place, and a message's TAGS held against its unit's tag code by them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from kidx.rocketmq.java import string_hash

if TYPE_CHECKING:
    import numpy.typing as npt

    Bytes = npt.NDArray[np.uint8]
    Ints = npt.NDArray[np.int64]
    Mask = npt.NDArray[np.bool_]

_NAME, _SEPARATOR = b"TAGS\x01", b"\x02"
_NAME_START = np.frombuffer(_NAME, "=u4", 1)
_LONGEST_TAG, _MOST_TAGS = 64, 256  # bytes; different ones
_PLACES_TRIED = 24  # in one stretch: keys before TAGS differ in length
_LOOKED_THROUGH = 256  # bytes of properties in which it is made sure that there are no TAGS


def row_view(data: Bytes, width: int) -> npt.NDArray[np.void]:
    """The rows of `width` bytes that begin at each byte of `data`, to be gathered by their places."""
    return np.ndarray(len(data) - width + 1, f"V{width}", data.data, 0, (1,))


def one_for_all(values: Ints) -> Ints:
    """The first value alone where all are the same, so that what depends on it is worked out once."""
    return values if np.count_nonzero(values != values[:1]) else values[:1]


class Rows:
    """Expected rows of bytes, each as long as it is (`lengths`), compared as wide as the longest of them."""

    def __init__(self, rows: Sequence[bytes]) -> None:
        self.lengths = np.array([len(row) for row in rows], np.int64)
        self._width = max(map(len, rows), default=0) // 8 * 8 + 8
        self._rows = self._matrix(rows)
        self._compared = self._matrix([b"\xff" * len(row) for row in rows])

    def _matrix(self, rows: Sequence[bytes]) -> npt.NDArray[np.uint64]:
        """A line for each eight bytes of the rows."""
        data = b"".join(row.ljust(self._width, b"\0") for row in rows)
        return np.frombuffer(data, "=u8").reshape(len(rows), self._width // 8).T.copy()

    def differ(self, data: Bytes, at: Ints, which: Ints) -> Mask:
        """Whether another row than rows[which] lies at each place; behind all of them is room for the longest row."""
        found = row_view(data, self._width)[at].view("=u8").reshape(len(at), -1)
        other = np.zeros(len(at), np.uint64)
        for word, (row, compared) in enumerate(zip(self._rows, self._compared, strict=True)):
            other |= (found[:, word] ^ row.take(which)) & compared.take(which)
        differ: Mask = other != 0
        return differ


class QuietTags:
    """The tags that were met, by their codes: a message has the right one where its bytes are the same."""

    def __init__(self) -> None:
        self._tags: dict[int, bytes] = {}
        self._codes = np.empty(0, np.int64)  # sorted
        self._rows = Rows([])  # two a tag, in the codes' order: with a separator behind it, and without

    def hold(self, data: Bytes, start: Ints, end: Ints, codes: Ints) -> bool:
        """Whether the TAGS of all messages, whose properties begin and end there, have these codes; 0 stands for none.

        False where it cannot be said cheaply. One producer's messages have TAGS at the same place of their properties,
        or a few: the place found in one message is tried in all that are left.
        """
        untagged = codes == 0
        if np.count_nonzero(untagged):
            if not _without_tags(data, start[untagged], end[untagged]):
                return False
            start, end, codes = start[~untagged], end[~untagged], codes[~untagged]
        if not self._know(data, start, end, codes):
            return False
        for _ in range(_PLACES_TRIED):
            if not len(codes):
                return True
            place = tags_place(data[start[0] : end[0]].tobytes())
            if place is None:
                return False
            left = self._differ(data, start + place, end, codes)
            if place:
                left |= data[start + place - 1] != _SEPARATOR[0]
            start, end, codes = start[left], end[left], codes[left]
        return False

    def _differ(self, data: Bytes, at: Ints, end: Ints, codes: Ints) -> Mask:
        """Which messages have not TAGS and the right value at that place."""
        at = np.minimum(at, end)
        which = 2 * self._codes.searchsorted(one_for_all(codes))
        value_end = at + self._rows.lengths.take(which) - 1
        last = value_end == end  # it needs no separator: 4.x writes none
        if np.count_nonzero(last):
            which = which + last
        differ: Mask = self._rows.differ(data, at, which) | (value_end > end)
        return differ

    def _know(self, data: Bytes, start: Ints, end: Ints, codes: Ints) -> bool:
        """Learn the tags of codes that are new; False where a message has not the tag that its unit says."""
        codes = one_for_all(codes)
        while len(self._tags) <= _MOST_TAGS:
            place = self._codes.searchsorted(codes)
            known = self._codes[np.minimum(place, len(self._codes) - 1)] == codes if self._tags else codes == 0
            new = (~known).nonzero()[0]
            if not len(new):
                return True
            i = int(new[0])
            tag, code = tag_of(data[start[i] : end[i]].tobytes()), int(codes[i])
            if not 0 < len(tag) <= _LONGEST_TAG or string_hash(tag.decode("utf-8", "replace")) != code:
                return False
            self._tags[code] = tag
            tags = [self._tags[code] for code in sorted(self._tags)]
            self._codes = np.array(sorted(self._tags), np.int64)
            self._rows = Rows([_NAME + tag + behind for tag in tags for behind in (_SEPARATOR, b"")])
        return False


def _without_tags(data: Bytes, start: Ints, end: Ints) -> bool:
    """Whether "TAGS" stands nowhere in these properties, all of them short."""
    if np.count_nonzero(end - start > _LOOKED_THROUGH):
        return False
    rows = row_view(data, _LOOKED_THROUGH)[start]
    places = _LOOKED_THROUGH - 3
    met = np.ndarray((len(start), places), "=u4", rows.data, 0, (_LOOKED_THROUGH, 1)) == _NAME_START
    return not np.count_nonzero(met & (np.arange(places) < (end - start)[:, None]))


def tag_of(properties: bytes) -> bytes:
    """The value of TAGS in a message's properties, empty without."""
    place = tags_place(properties)
    return b"" if place is None else properties[place + len(_NAME) :].partition(_SEPARATOR)[0]


def tags_place(properties: bytes) -> int | None:
    """Where TAGS begins in a message's properties; None without."""
    if properties.startswith(_NAME):
        return 0
    at = properties.find(_SEPARATOR + _NAME)
    return None if at < 0 else at + 1
