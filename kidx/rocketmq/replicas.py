"""Comparison of a slave's commit log with its master's: byte for byte the same, up to the slave's end.

HAService sends the commit log unchanged, so any difference before the slave's end is damage or another history.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kidx.rocketmq.files import MappedFile
from kidx.rocketmq.messages import MAX_MESSAGE_BYTES, Message, decode
from kidx.rocketmq.store import Store

_CHUNK_BYTES = 4 << 20


class Difference(NamedTuple):
    """One difference; `allowed` where healthy replicas may have it."""

    what: str
    where: str
    left: object
    right: object
    allowed: bool


class Comparison(NamedTuple):
    """Commit-log ends, how many bytes were compared, and the last offset up to which both agree."""

    master_end: int
    slave_end: int
    compared_bytes: int
    same_up_to: int


def compare(master: Store, slave: Store, found: list[Difference]) -> Comparison:
    """Compare the logs up to the master's end; adds differences to `found`, only the first one of bytes.

    Bytes that a damaged slave would cut off when it loads are compared, too: its end is where only zeros follow.
    """
    ends = master.end, slave.end
    starts = max(0, master.log.first_offset), max(0, slave.log.first_offset)
    if starts[0] != starts[1]:
        found.append(Difference("commit_log_start", "", starts[0], starts[1], True))
    if ends[0] != ends[1]:
        found.append(Difference("commit_log_end", "", ends[0], ends[1], ends[1] < ends[0]))
    start, end = max(starts), ends[0]
    compared = 0
    for left, right, offset, length in _common(master, slave, start, end):
        mine, theirs = left.read(offset - left.base, length), right.read(offset - right.base, length)
        if mine != theirs:
            at = offset + next(i for i, (a, b) in enumerate(zip(mine, theirs, strict=True)) if a != b)
            compared += at - offset
            if at >= ends[1] and right.zeros_from(at - right.base):
                return Comparison(*ends, compared, ends[1])  # zeros: the slave has not got that far
            found.append(_parting(master, left, right, at))
            return Comparison(*ends, compared, at)
        compared += length
    return Comparison(*ends, compared, min(ends))


def _common(master: Store, slave: Store, start: int, end: int) -> Iterator[tuple[MappedFile, MappedFile, int, int]]:
    offset = start
    while offset < end:
        left, right = master.log.find(offset), slave.log.find(offset)
        if left is None or right is None:
            return
        stop = min(end, left.base + left.size, right.base + right.size, offset + _CHUNK_BYTES)
        yield left, right, offset, stop - offset
        offset = stop


def _parting(master: Store, left: MappedFile, right: MappedFile, at: int) -> Difference:
    """Where the logs diverge: the byte, and the master's message that contains it."""
    where = f"commit-log offset {at}"
    message = message_at(master, at)
    if message is not None:
        offset, found = message
        where += (
            f", byte {at - offset} of the message at {offset} ({found.topic}/{found.queue_id} {found.queue_offset})"
        )
    mine, theirs = left.read(at - left.base, 16).hex(), right.read(at - right.base, 16).hex()
    return Difference("commit_log_bytes", where, mine, theirs, False)


def message_at(store: Store, at: int) -> tuple[int, Message] | None:
    """The message that contains a byte of the commit log, found by walking its file, or None."""
    file = store.log.find(at)
    position = 0
    while file is not None and position <= at - file.base:
        size = int.from_bytes(file.read(position, 4), signed=True)
        left = file.size - position
        found = decode(file.read(position, max(8, min(size, MAX_MESSAGE_BYTES, left))), left)
        if not isinstance(found, Message):
            return None
        if position + found.size > at - file.base:
            return file.base + position, found
        position += found.size
    return None


def queue_differences(master: Store, slave: Store) -> Iterator[Difference]:
    """Queues by their offsets, as both stores have them after loading; a slave may be behind."""
    for topic, queue_id in sorted({*master.names(), *slave.names()}):
        left, right = master.queue(topic, queue_id), slave.queue(topic, queue_id)
        mine = None if left is None else left.max_offset
        theirs = None if right is None else right.max_offset
        if mine != theirs:
            behind = mine is not None and (theirs is None or theirs < mine)
            yield Difference("queue_max_offset", f"{topic}/{queue_id}", mine, theirs, behind)
