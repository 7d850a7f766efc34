"""Java's hash of each message's TAGS, which its queue unit repeats as the tag code."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kidx.rocketmq.subjects.byte_rows import ExpectedRows, one_for_all, rows_at
from kidx.text.java import string_hash

if TYPE_CHECKING:
    from kidx.rocketmq.subjects.byte_rows import Bytes, Ints, Mask

_NAME, _SEPARATOR = b"TAGS\x01", b"\x02"
_NAME_START = np.frombuffer(_NAME, "=u4", 1)
_LONGEST_TAG, _MOST_TAGS = 64, 256  # bytes; different ones
_MOST_MISSES = 8  # codes of a window that are no known tag's, before learning stops
_PLACES_TRIED = 24  # of TAGS in the properties: keys before it differ in length
_LOOKED_THROUGH = 256  # bytes of properties in which TAGS is searched for in arrays


class TagHashes:
    """Hashes each distinct tag once: a message has a known tag if its bytes are the same.

    The unit's tag code suggests which known tag to compare with. The hash never depends on the suggestion: a message
    without the suggested tag is hashed by itself.
    """

    def __init__(self) -> None:
        self._tags: dict[int, bytes] = {}  # by their hashes
        self._hashes = np.empty(0, np.int64)  # sorted
        self._rows = ExpectedRows([])  # two a tag, in the hashes' order: followed by a separator, and not

    def of(self, data: Bytes, start: Ints, end: Ints, suggested: Ints) -> Ints:
        """The hash of TAGS in the properties in [start, end) of `data`, 0 without: int64, shape (n,).

        One producer's messages usually have TAGS at the same place of their properties: the place found in one message
        is tried in all remaining ones.
        """
        hashes = np.zeros(len(start), np.int64)
        left = (~_without_tags(data, start, end, suggested == 0)).nonzero()[0]
        self._learn(data, start, end, suggested, left)
        for _ in range(_PLACES_TRIED if self._tags else 0):
            if not len(left):
                return hashes
            first = left[0]
            place = tags_place(data[start[first] : end[first]].tobytes())
            if place is not None:
                right = self._have(data, start[left] + place, end[left], suggested[left])
                if place:
                    right &= data[np.minimum(start[left] + place, end[left]) - 1] == _SEPARATOR[0]
                hashes[left[right]] = suggested[left[right]]
                left = left[~right]
            if len(left) and left[0] == first:
                hashes[first] = tag_hash(data[start[first] : end[first]].tobytes())
                left = left[1:]
        for i in left.tolist():
            hashes[i] = tag_hash(data[start[i] : end[i]].tobytes())
        return hashes

    def _have(self, data: Bytes, at: Ints, end: Ints, suggested: Ints) -> Mask:
        """Which messages have TAGS at that place with the suggested value, a known tag."""
        suggested = one_for_all(suggested)
        tag = np.minimum(self._hashes.searchsorted(suggested), len(self._hashes) - 1)
        at, which = np.minimum(at, end), 2 * tag
        value_end = at + self._rows.lengths.take(which) - 1
        last = value_end == end  # no separator follows: 4.x writes none
        if np.count_nonzero(last):
            which = which + last
        differ = self._rows.differ(data, at, which) | (value_end > end) | (self._hashes[tag] != suggested)
        have: Mask = ~differ
        return have

    def _learn(self, data: Bytes, start: Ints, end: Ints, suggested: Ints, left: Ints) -> None:
        """Hash the tags of suggested codes that are new, each where it is suggested first."""
        codes = one_for_all(suggested[left]) if len(left) else left
        misses = 0
        while len(self._tags) <= _MOST_TAGS and misses < _MOST_MISSES and len(codes):
            place = np.minimum(self._hashes.searchsorted(codes), len(self._hashes) - 1)
            new = (self._hashes[place] != codes).nonzero()[0] if self._tags else np.arange(len(codes))
            if not len(new):
                return
            i, code = left[new[0]], int(codes[new[0]])
            tag = tag_of(data[start[i] : end[i]].tobytes())
            if 0 < len(tag) <= _LONGEST_TAG and (value := _hash(tag)) not in self._tags:
                self._tags[value] = tag
                tags = [self._tags[known] for known in sorted(self._tags)]
                self._hashes = np.array(sorted(self._tags), np.int64)
                self._rows = ExpectedRows([_NAME + tag + after for tag in tags for after in (_SEPARATOR, b"")])
            if code not in self._tags:
                misses += 1
                left, codes = left[: len(codes)][codes != code], codes[codes != code]


def _without_tags(data: Bytes, start: Ints, end: Ints, asked: Mask) -> Mask:
    """Which of these messages have short properties, in which "TAGS" stands nowhere: bool, shape (n,)."""
    without: Mask = asked & (end - start <= _LOOKED_THROUGH)
    if np.count_nonzero(without):
        begin, stop = start[without], end[without]
        rows = rows_at(data, f"V{_LOOKED_THROUGH}", begin)
        places = _LOOKED_THROUGH - 3
        met = np.ndarray((len(begin), places), "=u4", rows.data, 0, (_LOOKED_THROUGH, 1)) == _NAME_START
        without[without] = ~(met & (np.arange(places) < (stop - begin)[:, None])).any(axis=1)
    return without


def tag_hash(properties: bytes) -> int:
    """The hash of TAGS in a message's properties, 0 without."""
    return _hash(tag_of(properties))


def _hash(tag: bytes) -> int:
    return string_hash(tag.decode("utf-8", "replace"))


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
