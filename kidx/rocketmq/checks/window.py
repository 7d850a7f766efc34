"""A stretch of the commit log in memory: many messages decoded and checked at once, their starts known from units."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kidx.formats.checksums import crc32
from kidx.rocketmq.checks.quiet_tags import tags_place
from kidx.rocketmq.formats import BORN_V6, MAGIC_V1, MAGIC_V2, MESSAGE_HEAD, STORE_V6
from kidx.rocketmq.java import string_hash
from kidx.rocketmq.messages import CRC_PROPERTY_BYTES

if TYPE_CHECKING:
    import numpy.typing as npt

    from kidx.rocketmq.checks.units import Ints

    Bytes = npt.NDArray[np.uint8]
    Mask = npt.NDArray[np.bool_]

_TAGS, _SEPARATOR = np.frombuffer(b"TAGS\x01", np.uint8), 2
_PLACES_TRIED, _SHORT_TAG = 16, 24
_CRC_PROPERTY = np.frombuffer(b"__CRC32#\x01", np.uint8)


class Parts(NamedTuple):
    """Where the parts of messages lie in a window, one element a message. `whole`: their sizes add up."""

    start: Ints
    size: Ints
    head: npt.NDArray[np.void]
    body: Ints
    body_end: Ints
    topic: Ints
    topic_end: Ints
    properties: Ints
    whole: Mask
    store_timestamp: Ints


def is_head(data: Bytes, start: Ints) -> tuple[npt.NDArray[np.void], Mask]:
    """The heads at these places, and which of them have a message's magic. Every place has a head's bytes after it."""
    spread = np.ndarray(max(0, len(data) - MESSAGE_HEAD.size + 1), f"V{MESSAGE_HEAD.size}", data.data, 0, (1,))
    head = spread[start].view(MESSAGE_HEAD.dtype)
    magic: Mask = np.isin(head["magic"], (MAGIC_V1, MAGIC_V2))
    return head, magic


def parts_of(data: Bytes, start: Ints, size: Ints, head: npt.NDArray[np.void]) -> Parts:
    """Where the parts lie, for heads whose size is `size`, all of it within the window."""
    flags = head["sys_flag"].astype(np.int64)
    end = start + size
    stored = start + np.where(flags & BORN_V6, 68, 56)
    body = stored + 8 + np.where(flags & STORE_V6, 20, 8) + 16
    whole = body + 3 <= end  # a topic length and a properties length at least
    body_length = _number(data, np.minimum(body, end) - 4, 4)
    body_end = body + np.maximum(body_length, 0)
    whole &= body_end + 3 <= end
    body_end = np.minimum(body_end, end - 3)
    second = head["magic"] == MAGIC_V2
    topic_length = np.where(second, _number(data, body_end, 2), _number(data, body_end, 1))
    topic = body_end + np.where(second, 2, 1)
    topic_end = topic + np.maximum(topic_length, 0)
    whole &= (topic_length >= 0) & (topic_end + 2 <= end)
    topic_end = np.minimum(topic_end, end - 2)
    properties_length = _number(data, topic_end, 2)
    whole &= topic_end + 2 + np.maximum(properties_length, 0) == end
    times = _number(data, np.minimum(stored, end - 8), 8)
    return Parts(start, size, head, body, body_end, topic, topic_end, topic_end + 2, whole, times)


def same_topic(data: Bytes, parts: Parts, chosen: Ints, topic: bytes) -> Mask:
    """Which of the chosen messages have that topic."""
    same: Mask = parts.topic_end[chosen] - parts.topic[chosen] == len(topic)
    fits = chosen[same]
    wanted = np.frombuffer(topic, np.uint8)
    same[same] = (data[parts.topic[fits][:, None] + np.arange(len(topic))] == wanted).all(axis=1)
    return same


def tag_hashes(data: Bytes, parts: Parts) -> Ints:
    """The Java hash of each message's TAGS, 0 without.

    One producer's messages have TAGS at the same place of their properties: the place found in one is tried in all that
    are left, a few times over; what is still left is searched message by message.
    """
    hashes = np.zeros(len(parts.start), np.int64)
    left = np.arange(len(parts.start))
    end = parts.start + parts.size
    for _ in range(_PLACES_TRIED):
        if not len(left):
            return hashes
        place = tags_place(bytes(data[parts.properties[left[0]] : end[left[0]]]))
        if place is None:
            left = left[1:]
            continue
        at = parts.properties[left] + place
        fits = at + len(_TAGS) <= end[left]
        fits[fits] = (data[at[fits][:, None] + np.arange(len(_TAGS))] == _TAGS).all(axis=1)
        if place:
            fits[fits] = data[at[fits] - 1] == _SEPARATOR
        left = np.roll(_hash_short(data, at[fits] + len(_TAGS), end, left, fits, hashes), -1)
    for i in left.tolist():
        properties = bytes(data[parts.properties[i] : end[i]])
        place = tags_place(properties)
        if place is not None:
            hashes[i] = _hash(properties[place + len(_TAGS) :].partition(b"\x02")[0])
    return hashes


def _hash_short(data: Bytes, at: Ints, end: Ints, left: Ints, fits: Mask, hashes: Ints) -> Ints:
    """Hash the short ASCII tags at these places of the messages left[fits], in arrays; who is left after that."""
    chosen = left[fits]
    reach = np.minimum(at[:, None] + np.arange(_SHORT_TAG), len(data) - 1)
    text = data[reach].astype(np.int64)
    text[reach >= end[chosen][:, None]] = _SEPARATOR
    ended = text == _SEPARATOR
    length = np.where(ended.any(axis=1), ended.argmax(axis=1), _SHORT_TAG)
    inside = np.arange(_SHORT_TAG) < length[:, None]
    easy = (length < _SHORT_TAG) & ~((text >= 128) & inside).any(axis=1)
    value = np.zeros(len(chosen), np.int64)
    for column in range(_SHORT_TAG):
        value = np.where(inside[:, column], (value * 31 + text[:, column]) & 0xFFFFFFFF, value)
    hashes[chosen[easy]] = ((value + 2**31) % 2**32 - 2**31)[easy]
    done = np.zeros(len(hashes), bool)
    done[chosen[easy]] = True
    return left[~done[left]]


def wrong_bodies(data: Bytes, parts: Parts) -> Iterator[tuple[int, int]]:
    """(message, CRC found) of each message whose body has not the CRC it says."""
    view = data.data
    bodies = zip(parts.body.tolist(), parts.body_end.tolist(), strict=True)
    found = np.array([crc32(view[begin:end]) for begin, end in bodies], np.int64) & 0x7FFFFFFF
    for i in np.flatnonzero((found != parts.head["body_crc"]) & (parts.body_end > parts.body)).tolist():
        yield i, int(found[i])


def wrong_property_crcs(data: Bytes, parts: Parts) -> Iterator[tuple[int, int, int]]:
    """(message, CRC stored, CRC found) where the CRC property of 5.2+ is wrong; those without one are passed over."""
    tail = parts.start + parts.size - CRC_PROPERTY_BYTES
    may = np.flatnonzero((tail >= parts.properties) & parts.whole)
    if not len(may):
        return
    has = (data[tail[may][:, None] + np.arange(len(_CRC_PROPERTY))] == _CRC_PROPERTY).all(axis=1)
    view = data.data
    for i in may[has].tolist():
        begin, at = int(parts.start[i]), int(tail[i])
        digits = bytes(view[at + len(_CRC_PROPERTY) : at + CRC_PROPERTY_BYTES - 1])
        stored = int(digits[::-1]) if digits.isdigit() else -1
        found = crc32(view[begin:at]) & 0x7FFFFFFF
        if stored != found:
            yield i, stored, found


def _number(data: Bytes, at: Ints, width: int) -> Ints:
    """Big-endian signed integers at these places."""
    value = data[at].astype(np.int8).astype(np.int64)
    for i in range(1, width):
        value = (value << 8) | data[at + i]
    return value


def _hash(raw: bytes) -> int:
    return string_hash(raw.decode("utf-8", "replace"))
