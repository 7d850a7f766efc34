"""Walking a commit-log file record by record where no queue's unit points."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kidx.evidence import Evidence
from kidx.rocketmq.layout import StoreFile
from kidx.rocketmq.messages import MAX_MESSAGE_BYTES, Blank, Broken, Message, decode
from kidx.rocketmq.subjects.log_file import Gap, LogFile, Stray

if TYPE_CHECKING:
    from kidx.rocketmq.subjects.queue_file import Ints


class Walk:
    """The walk through one file, noting in `facts` how it ends and what is damaged.

    `at` are the commit-log offsets of the messages found, `size` their bytes: int64, shape (n,).
    """

    def __init__(
        self, evidence: Evidence, file: StoreFile, facts: LogFile, delay_levels_ms: tuple[int, ...] | None
    ) -> None:
        self._evidence, self._file, self._facts, self._delay_levels_ms = evidence, file, facts, delay_levels_ms
        self.strays: list[Stray] = []
        self._found: list[tuple[int, int]] = []

    def between(self, starts: Ints, ends: Ints) -> int:
        """Walk the bytes between known messages, whose positions ascend; returns where the messages end."""
        size, position = self._facts.size, 0
        before = np.concatenate([np.zeros(1, np.int64), np.maximum.accumulate(ends)])
        for i in (np.concatenate([starts, [size]]) > before).nonzero()[0].tolist():
            stop = int(starts[i]) if i < len(starts) else size
            position = self._walk(int(before[i]), stop, final=i == len(starts))
        if len(starts) and int(before[-1]) >= size:
            position = size
        found = np.array(self._found, np.int64).reshape(-1, 2)
        self.at, self.size = found[:, 0] + self._facts.base, found[:, 1]
        return position

    def _walk(self, position: int, stop: int, *, final: bool) -> int:
        """Go record by record from a position to the next known message; where the walk ended."""
        facts, total = self._facts, self._facts.size
        while position < stop:
            head = self._evidence.read(position, 8)
            size = int.from_bytes(head[:4], signed=True)
            fits = 8 <= size <= stop - position
            found = decode(
                self._evidence.read(position, min(size, MAX_MESSAGE_BYTES)) if fits else head, total - position
            )
            if isinstance(found, Message) and found.size != found.parts_size:
                found = Broken(found.size, f"its parts need {found.parts_size} bytes and its size says {found.size}")
            if isinstance(found, Message) and found.size <= stop - position:
                self._found.append((position, found.size))
                if found.has_unit:
                    self.strays.append(self._stray(found, position))
                position += found.size
                continue
            if isinstance(found, Blank) and final and not facts.closed:
                facts.closed = True
                return position
            if isinstance(found, Broken) and final and (found.end or facts.last):
                facts.torn_at = None if found.end else position
                return position
            reason = found.reason if isinstance(found, Broken) else "a blank record before the file's last message"
            if isinstance(found, Message):
                reason = f"its size {found.size} goes past the next message, which a unit leads to"
            facts.gaps.append(Gap(position, stop, reason))
            return stop
        return position

    def _stray(self, message: Message, position: int) -> Stray:
        place = self._file.path, position, message.size, self._facts.base + position
        queue = message.topic, message.queue_id, message.queue_offset
        tag_code = message.tag_code(self._delay_levels_ms)
        return Stray(*place, *queue, message.store_timestamp, tag_code, message.batch())
