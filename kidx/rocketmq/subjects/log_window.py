"""Messages of a commit-log file in memory, many at once, decoded into columns.

Source: org.apache.rocketmq.common.message.MessageDecoder.
"""

from __future__ import annotations

import struct
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kidx.formats.checksums import crc32
from kidx.rocketmq.formats import BORN_V6, MAGIC_V1, MAGIC_V2, MESSAGE_HEAD, STORE_V6
from kidx.rocketmq.messages import Message, decode
from kidx.rocketmq.subjects.byte_rows import ExpectedRows, one_for_all, rows_at

if TYPE_CHECKING:
    import numpy.typing as npt

    from kidx.rocketmq.subjects.byte_rows import Bytes, Ints, Mask
    from kidx.rocketmq.subjects.log_units import LogUnits

_BODY_AT = 88  # where both hosts have 4-byte addresses
_WIDE = BORN_V6 | STORE_V6
HEAD = np.dtype(
    {
        "names": [f.name for f in MESSAGE_HEAD.fields] + ["store_timestamp", "body_length"],
        "formats": [MESSAGE_HEAD.dtype[f.name] for f in MESSAGE_HEAD.fields] + [">i8", ">i4"],
        "offsets": [MESSAGE_HEAD.field_span(f.name)[0] for f in MESSAGE_HEAD.fields] + [56, _BODY_AT - 4],
        "itemsize": _BODY_AT,
    }
)  # the last two lie elsewhere where a host has a 16-byte address
_CRC_SIGN = np.uint32(0x7FFFFFFF)  # a broker drops a CRC's highest bit


class WrongBody(NamedTuple):
    """A message whose body does not have the CRC that the message states; `position` is the message's in its file."""

    position: int
    size: int
    stored: int
    found: int


class Parts(NamedTuple):
    """Where the parts of messages lie in a buffer, int64, shape (n,). `whole`: their sizes add up."""

    body: Ints
    body_end: Ints
    topic: Ints
    topic_end: Ints
    store_timestamp: Ints
    whole: Mask

    @property
    def properties(self) -> Ints:
        """Where the properties begin; they reach to the message's end."""
        return self.topic_end + 2


def heads_at(data: Bytes, start: Ints) -> tuple[npt.NDArray[np.void], Mask]:
    """The heads at these places, and which have a message's magic."""
    head = rows_at(data, HEAD, start)
    magic: Mask = head["magic"] == MAGIC_V1
    if not magic.all():
        magic |= head["magic"] == MAGIC_V2
    return head, magic


def parts_of(data: Bytes, start: Ints, size: Ints, head: npt.NDArray[np.void]) -> Parts:
    """Where the parts of messages of that size lie. Places of a message that is not whole lie within it, too."""
    end = start + size
    body, stored = start + _BODY_AT, start + 56
    if np.count_nonzero(head["sys_flag"] & _WIDE):
        flags = head["sys_flag"].astype(np.int64)
        stored = start + np.where(flags & BORN_V6, 68, 56)
        body = stored + 8 + np.where(flags & STORE_V6, 20, 8) + 16
    whole = body + 3 <= end  # a topic length and a properties length at least
    body_end = body + np.maximum(_number(data, ">i4", np.minimum(body, end) - 4), 0)
    whole &= body_end + 3 <= end
    body_end = np.minimum(body_end, end - 3)
    topic_length, topic = _number(data, ">i1", body_end), body_end + 1
    if np.count_nonzero(head["magic"] == MAGIC_V2):
        second = head["magic"] == MAGIC_V2
        topic_length, topic = np.where(second, _number(data, ">i2", body_end), topic_length), topic + second
    topic_end = topic + np.maximum(topic_length, 0)
    whole &= (topic_length >= 0) & (topic_end + 2 <= end)
    topic_end = np.minimum(topic_end, end - 2)
    whole &= topic_end + 2 + np.maximum(_number(data, ">i2", topic_end), 0) == end
    return Parts(body, body_end, topic, topic_end, _number(data, ">i8", np.minimum(stored, end - 8)), whole)


def _number(data: Bytes, dtype: str, at: Ints) -> Ints:
    return rows_at(data, dtype, at).astype(np.int64)


class LogWindow:
    """Whole messages of one commit-log file. `start` is where each lies in `data`, which begins at `first` of the file.

    `base` is the file's commit-log offset. `check_crcs`: bodies and CRC properties are to be checked.
    """

    def __init__(
        self,
        path: str,
        base: int,
        first: int,
        data: Bytes,
        start: Ints,
        size: Ints,
        head: npt.NDArray[np.void],
        parts: Parts,
        *,
        check_crcs: bool,
    ) -> None:
        self.path, self.base, self.first, self.data, self.check_crcs = path, base, first, data, check_crcs
        self.start, self.size, self.head, self.parts = start, size, head, parts

    @cached_property
    def at(self) -> Ints:
        """Commit-log offset of each message."""
        return self.start + (self.base + self.first)

    def span(self, i: int) -> tuple[int, int]:
        """A message's bytes in its file."""
        position = int(self.start[i]) + self.first
        return position, position + int(self.size[i])

    def message(self, i: int) -> Message | None:
        """A message decoded by itself."""
        found = decode(self.data[self.start[i] : self.start[i] + self.size[i]].tobytes())
        return found if isinstance(found, Message) else None

    @cached_property
    def wrong_bodies(self) -> list[WrongBody]:
        """Messages whose body does not have the stated CRC; none without `check_crcs`."""
        if not self.check_crcs:
            return []
        view, parts = self.data.data, self.parts
        bodies = zip(parts.body.tolist(), parts.body_end.tolist(), strict=True)
        packed = struct.pack(f"={len(self.start)}I", *[crc32(view[begin:end]) for begin, end in bodies])
        found = np.frombuffer(packed, "=u4") & _CRC_SIGN
        stored = self.head["body_crc"]
        wrong = (found != stored).nonzero()[0]
        wrong = wrong[parts.body_end[wrong] > parts.body[wrong]]
        return [WrongBody(self.span(i)[0], int(self.size[i]), int(stored[i]), int(found[i])) for i in wrong.tolist()]


class QueueTopics:
    """The topics of all queues as bytes, for comparing them with messages'."""

    def __init__(self, units: LogUnits) -> None:
        self._rows = ExpectedRows([queue.topic.encode("utf-8", "surrogateescape") for queue in units.queues])
        self._queue_ids = np.array([queue.queue_id for queue in units.queues], np.int64)

    def own(self, window: LogWindow, queue: Ints) -> Mask:
        """Which messages state the topic and the queue id of these queues: bool, shape (n,)."""
        queue, parts = one_for_all(queue), window.parts
        own: Mask = window.head["queue_id"] == self._queue_ids.take(queue)
        own &= parts.topic_end - parts.topic == self._rows.lengths.take(queue)
        own &= ~self._rows.differ(window.data, parts.topic, queue)
        return own


class UnitWindow(LogWindow):
    """Messages that units lead to: `rows` are these units, int64, `own` says which messages are of the unit's queue."""

    def __init__(self, window: LogWindow, units: LogUnits, rows: Ints, topics: QueueTopics) -> None:
        vars(self).update(vars(window))
        self.units, self.rows = units, rows
        self.own = topics.own(self, units.queue[rows])

    @cached_property
    def light(self) -> dict[int, int]:
        """Messages that name the queue of another unit as a light queue, with their offset there."""
        found: dict[int, int] = {}
        for i in (~self.own).nonzero()[0].tolist():
            message = self.message(i)
            topic = self.units.queue_of(int(self.rows[i])).topic
            offset = message.light_queues().get(topic) if message else None
            if offset is not None:
                found[i] = offset
        return found


def window_of(
    path: str, base: int, first: int, data: Bytes, start: Ints, size: Ints, *, check_crcs: bool
) -> tuple[LogWindow, Mask, Mask, Mask]:
    """The whole messages among those of that size at these places, then what each place has: bool, shape (n,).

    Whether it has a message's magic, whether its size is the given one, whether the sizes of its parts add up.
    """
    head, magic = heads_at(data, start)
    right = magic & (head["total_size"] == size)
    if not right.all():
        whole = right.copy()
        whole[right] = parts_of(data, start[right], size[right], head[right]).whole
    else:
        parts = parts_of(data, start, size, head)
        whole = parts.whole
    if not whole.all():
        start, size, head = start[whole], size[whole], head[whole]
        parts = parts_of(data, start, size, head)
    window = LogWindow(path, base, first, data, start, size, head, parts, check_crcs=check_crcs)
    return window, magic, right, whole
