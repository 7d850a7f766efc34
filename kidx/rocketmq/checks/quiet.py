"""A stretch of the commit log in which there is nothing to tell: sound messages, one after another, told cheaply.

Nearly all of a store is like that. What is the same in all of its messages but for what their units say is compared as
rows of bytes, an expected row a message, so that nothing is taken apart: a message's head against the unit that leads
to it, its topic against the queue's, its tag against the one that has the unit's code. Whatever is not plainly as it
should be is left to kidx.rocketmq.checks.window, so this has only to be right about health. It uses nothing but numpy's
array core (kidx.light_numpy).
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kidx.formats.checksums import crc32
from kidx.rocketmq.checks.quiet_tags import QuietTags, Rows, one_for_all, row_view
from kidx.rocketmq.formats import BORN_V6, MAGIC_V1, MESSAGE_HEAD, STORE_V6
from kidx.rocketmq.messages import CRC_PROPERTY_BYTES

if TYPE_CHECKING:
    import numpy.typing as npt

    from kidx.evidence import Evidence
    from kidx.rocketmq.checks.lanes import Lanes

    Ints = npt.NDArray[np.int64]

HEAD_BYTES = 88  # up to the body, where both hosts have 4-byte addresses
LONGEST_TOPIC = 127  # its length is a signed byte
_SPARE_BYTES = 512  # behind the window, so that rows can be taken near its end
_LEAST_BYTES = HEAD_BYTES + 3  # and the lengths of the topic and the properties
_HEAD = np.dtype(
    {
        "names": [f.name for f in MESSAGE_HEAD.fields] + ["store_timestamp", "body_length"],
        "formats": [MESSAGE_HEAD.dtype[f.name] for f in MESSAGE_HEAD.fields] + [">i8", ">i4"],
        "offsets": [MESSAGE_HEAD.field_span(f.name)[0] for f in MESSAGE_HEAD.fields] + [56, 84],
        "itemsize": HEAD_BYTES,
    }
)
_CRC_PROPERTY = int.from_bytes(b"__CRC32#", "little")
_SIGN = np.uint32(0x7FFFFFFF)  # a broker drops a CRC's highest bit


class Times(NamedTuple):
    """Store times of messages in their order, epoch ms; `backwards` counts those earlier than the one before."""

    first: int
    last: int
    latest: int
    backwards: int


def times_of(times: Ints) -> Times:
    """The times of at least one message."""
    backwards = int(np.count_nonzero(times[1:] < times[:-1]))
    return Times(int(times[0]), int(times[-1]), int(np.maximum.reduce(times)), backwards)


class QuietLog:
    """One commit-log file and the lanes into it; the same buffer serves all stretches."""

    def __init__(self, evidence: Evidence, base: int, lanes: Lanes, *, crcs: bool) -> None:
        self._evidence, self._base, self._lanes, self._crcs = evidence, base, lanes, crcs
        topics = [queue.topic.encode("utf-8", "surrogateescape") for queue in lanes.queues]
        self._topics = Rows([bytes([len(topic) & 0xFF]) + topic for topic in topics])
        self._queue_ids = np.array([queue.queue_id for queue in lanes.queues], np.int64)
        self._tags = QuietTags()
        self._buffer = np.empty(0, np.uint8)

    def tell(self, part: tuple[int, int]) -> tuple[int, ...] | None:
        """The Times of the lanes' messages where all are sound and overlap nowhere; None where more may be to tell.

        They are a plain tuple, which goes from one process to another with the least ado.
        """
        lanes = slice(*part)
        at, size = self._lanes.at[lanes], self._lanes.size[lanes]
        if np.count_nonzero(size < _LEAST_BYTES) or np.count_nonzero(at[1:] - at[:-1] < size[:-1]):
            return None
        start = at - at[0]
        reach = int(start[-1] + size[-1])
        position = int(at[0]) - self._base
        if position < 0 or position + reach > self._evidence.size:
            return None
        if len(self._buffer) < reach + _SPARE_BYTES:
            self._buffer = np.zeros(reach + _SPARE_BYTES, np.uint8)
        self._evidence.read_into(position, self._buffer[:reach].data)
        rows = row_view(self._buffer, HEAD_BYTES)[start]
        head = np.ndarray(len(rows), _HEAD, rows.data)  # view() of fields asks numpy's Python side
        if not self._heads_told(head, lanes):
            return None
        body_end = start + HEAD_BYTES + head["body_length"]
        if not self._endings_sound(body_end, start + size, lanes):
            return None
        if self._crcs and not self._bodies_hold(start, body_end, head["body_crc"]):
            return None
        return tuple(times_of(head["store_timestamp"].astype(np.int64)))

    def _heads_told(self, head: npt.NDArray[np.void], lanes: slice) -> bool:
        """Whether each head has its unit's size, place, queue and queue offset, V1's magic and 4-byte addresses."""
        of, units = np.count_nonzero, self._lanes
        return not (
            of(head["magic"] != MAGIC_V1)
            or of(head["total_size"] != units.size[lanes])
            or of(head["physical_offset"] != units.at[lanes])
            or of(head["queue_id"] != self._queue_ids.take(one_for_all(units.source[lanes])))
            or of(head["queue_offset"] != units.queue_offset[lanes])
            or of(head["sys_flag"] & (BORN_V6 | STORE_V6))
        )

    def _endings_sound(self, body_end: Ints, end: Ints, lanes: slice) -> bool:
        """Whether topic and properties follow the body, fill the message, and hold the queue's topic and unit's tag."""
        source = one_for_all(self._lanes.source[lanes])
        if np.count_nonzero(self._topics.lengths.take(source) > LONGEST_TOPIC + 1):
            return False
        topic_end = body_end + self._topics.lengths.take(source)
        if np.count_nonzero(topic_end + 2 > end) or np.count_nonzero(body_end < end - self._lanes.size[lanes]):
            return False
        if np.count_nonzero(self._topics.differ(self._buffer, body_end, source)):
            return False
        properties = topic_end + 2
        length = np.ndarray(len(self._buffer) - 1, ">i2", self._buffer.data, 0, (1,))[topic_end]
        if np.count_nonzero(length != end - properties):
            return False
        tails = np.ndarray(len(self._buffer) - 7, "<u8", self._buffer.data, 0, (1,))[end - CRC_PROPERTY_BYTES]
        if np.count_nonzero(tails == _CRC_PROPERTY):
            return False
        return self._tags.hold(self._buffer, properties, end, self._lanes.tag_code[lanes])

    def _bodies_hold(self, start: Ints, body_end: Ints, stored: npt.NDArray[np.uint32]) -> bool:
        view = self._buffer.data
        bodies = zip((start + HEAD_BYTES).tolist(), body_end.tolist(), strict=True)
        found = struct.pack(f"={len(start)}I", *[crc32(view[begin:end]) for begin, end in bodies])
        return not np.count_nonzero((np.frombuffer(found, "=u4") & _SIGN) != stored)
