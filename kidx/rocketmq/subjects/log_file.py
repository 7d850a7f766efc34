"""What the scan of one commit-log file found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from kidx.rocketmq.subjects.log_window import WrongBody


class Gap(NamedTuple):
    """Bytes [start, stop) of a file that are no message, though messages follow; `reason` says what is there."""

    start: int
    stop: int
    reason: str


@dataclass
class LogFile:
    """One commit-log file. Positions are bytes in it; `base` is its commit-log offset.

    `last`: no later file has messages. `closed`: a blank record ends it. `end` is where its messages end, `torn_at`
    where an incomplete last message starts. `data_after_end` is the first byte after the log's end that is not zero.
    `backwards` counts messages with a store time before that of the message before them.
    """

    path: str
    base: int
    size: int
    last: bool
    closed: bool = False
    end: int = 0
    torn_at: int | None = None
    data_after_end: int | None = None
    backwards: int = 0
    gaps: list[Gap] = field(default_factory=list)
    wrong_bodies: list[WrongBody] = field(default_factory=list)


class Stray(NamedTuple):
    """A message that the dispatch gives a unit, and that no ConsumeQueue's unit leads to.

    `at` is its commit-log offset. `batch` is its base offset and count of messages, (-1, -1) where it is no batch.
    """

    path: str
    position: int
    size: int
    at: int
    topic: str
    queue_id: int
    queue_offset: int
    store_timestamp: int
    tag_code: int
    batch: tuple[int, int]


class Undispatched(NamedTuple):
    """Messages within the commit log that neither queues nor batch queues have a unit of."""

    messages: list[Stray]
    unclean: bool
