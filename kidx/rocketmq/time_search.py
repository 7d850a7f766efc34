"""Which queue offset a broker returns for a time: classic search (4.4 to 5.1.0), current search, batch queues.

Sources: ConsumeQueue.getOffsetInQueueByTime and MappedFileQueue.getMappedFileByTime of 4.9.8; ConsumeQueue.
binarySearchInQueueByTime and getConsumeQueueMappedFileByTime of 5.5.1; BatchConsumeQueue.getOffsetInQueueByTime.
"""

from __future__ import annotations

from typing import NamedTuple

from kidx.rocketmq.batch_queues import WIDTH as BATCH_WIDTH
from kidx.rocketmq.batch_queues import BatchConsumeQueue
from kidx.rocketmq.commit_log import CommitLog
from kidx.rocketmq.files import MappedFile
from kidx.rocketmq.formats import UNIT
from kidx.rocketmq.java import JavaThrows, divide
from kidx.rocketmq.queues import ConsumeQueue

LOWER, UPPER = "lower", "upper"
FILES, SEARCH = "files", "search"
WIDTH = UNIT.size
_READ = 12  # bytes of a unit that a probe reads: offset and size


class Probe(NamedTuple):
    """One unit examined. `phase` is FILES while a file is chosen (by the first search only; it is cached) or SEARCH.

    `timestamp` is from the commit log, -1 if it has no such message, None if it was not read; `message` is the (file,
    position) read there.
    """

    phase: str
    file: MappedFile
    position: int
    commit_log_offset: int
    timestamp: int | None
    message: tuple[MappedFile, int] | None


class Search:
    """Searches in one loaded queue. `probes` are those of the last search."""

    def __init__(self, queue: ConsumeQueue, log: CommitLog, *, checks_end: bool) -> None:
        self._queue, self._log, self._checks_end = queue, log, checks_end
        self.probes: list[Probe] = []
        self._spans: dict[int, tuple[int, int]] | None = None
        self._span_probes: list[Probe] = []

    def classic(self, time: int, *, clamp: bool) -> int:
        """The answer of 4.4 to 5.1.0; `clamp` (5.0 on) keeps it within the queue. Raises JavaThrows."""
        self.probes = []
        found = self._classic(time)
        return self._clamped(found) if clamp else found

    def current(self, time: int, boundary: str) -> int:
        """The answer of 5.1.1 on. Raises JavaThrows."""
        self.probes = []
        return self._clamped(self._current(time, boundary))

    def _clamped(self, found: int) -> int:
        return min(max(found, self._queue.min_offset), self._queue.max_offset)

    def _classic(self, time: int) -> int:
        file = self._file_by_mtime(time)
        if file is None or not file.wrote:
            return 0
        low, high = max(0, self._queue.min_logic - file.base), file.wrote - WIDTH
        hit = left = right = -1
        left_time = right_time = -1
        while high >= low:
            middle = (low + high) // (2 * WIDTH) * WIDTH
            stored = self._probe(SEARCH, file, middle, file.wrote, expired_unread=True)
            if stored is None:
                low, left = middle + WIDTH, middle
            elif stored < 0:
                return 0
            elif stored == time:
                hit = middle
                break
            elif stored > time:
                high, right, right_time = middle - WIDTH, middle, stored
            else:
                low, left, left_time = middle + WIDTH, middle, stored
        if hit >= 0:
            position = hit
        elif left_time == -1:
            position = right
        elif right_time == -1:
            position = left
        else:
            position = right if abs(time - left_time) > abs(time - right_time) else left
        return divide(file.base + position, WIDTH)

    def _file_by_mtime(self, time: int) -> MappedFile | None:
        for file in self._queue.files:
            if file.mtime_ms is not None and file.mtime_ms >= time:
                return file
        return self._queue.files[-1] if self._queue.files else None

    def _current(self, time: int, boundary: str) -> int:
        file = self._file_by_content(time, boundary)
        if file is None or not file.wrote:
            return 0
        limit, floor = file.wrote, max(0, self._queue.min_logic - file.base)
        ceiling = limit - WIDTH
        if (self._probe(SEARCH, file, ceiling, limit) or 0) < time:
            return (file.base + ceiling + (WIDTH if boundary == LOWER else 0)) // WIDTH
        if (self._probe(SEARCH, file, floor, limit) or 0) > time:
            return file.base // WIDTH if boundary == LOWER else 0
        low, high, left, right = floor, ceiling, -1, -1
        while high >= low:
            middle = (low + high) // (2 * WIDTH) * WIDTH
            stored = self._probe(SEARCH, file, middle, limit, expired_unread=True)
            if stored is None:
                low, left = middle + WIDTH, middle
            elif stored < 0:
                return 0
            elif stored == time:
                return (file.base + self._last_equal(file, middle, time, boundary, floor, ceiling)) // WIDTH
            elif stored > time:
                high, right = middle - WIDTH, middle
            else:
                low, left = middle + WIDTH, middle
        return divide(file.base + (right if boundary == LOWER else left), WIDTH)

    def _last_equal(self, file: MappedFile, hit: int, time: int, boundary: str, floor: int, ceiling: int) -> int:
        """The first (LOWER) or last (UPPER) of the units around a hit that share its time, stepping one by one."""
        step = -WIDTH if boundary == LOWER else WIDTH
        while floor <= hit + step <= ceiling and self._probe(SEARCH, file, hit + step, file.wrote) == time:
            hit += step
        return hit

    def _file_by_content(self, time: int, boundary: str) -> MappedFile | None:
        """The file by the store times of its first and last unit; these are read by the first search only."""
        files = self._queue.files
        if self._spans is None:
            newest_first = range(len(files) - 1, -1, -1)
            self._spans = {i: self._span(files[i], newest=i == len(files) - 1) for i in newest_first}
            self._span_probes, self.probes = self.probes, []
        self.probes = [*self._span_probes, *self.probes]
        if boundary == LOWER:
            return next(
                (f for i, f in enumerate(files[:-1]) if self._spans[i][1] >= time), files[-1] if files else None
            )
        return next((files[i] for i in range(len(files) - 1, -1, -1) if self._spans[i][0] <= time), None)

    def _span(self, file: MappedFile, newest: bool) -> tuple[int, int]:
        start = stop = -1
        if file.wrote >= WIDTH:
            start = self._probe(FILES, file, 0, file.wrote) or 0
        if not newest and file.wrote == file.size:
            stop = self._probe(FILES, file, file.size - WIDTH, file.wrote) or 0
        return start if start > 0 else -1, stop if stop > 0 else -1

    def _probe(
        self, phase: str, file: MappedFile, position: int, limit: int, expired_unread: bool = False
    ) -> int | None:
        """The store time of a unit's message; None if the search skips an expired unit without reading."""
        if position > limit or position < 0:
            raise JavaThrows("IllegalArgumentException", f"the min offset lies past what file {file.base:020d} holds")
        if position + _READ > limit:
            raise JavaThrows("BufferUnderflowException", f"the min offset is the end of file {file.base:020d}")
        offset, size, _ = self._queue.unit(file, position)
        if expired_unread and offset < self._log.first_offset:
            self.probes.append(Probe(phase, file, position, offset, None, None))
            return None
        try:
            stored, message = self._log.store_timestamp(offset, size, self._checks_end)
        except JavaThrows:
            self.probes.append(Probe(phase, file, position, offset, None, None))
            raise
        self.probes.append(Probe(phase, file, position, offset, stored, message))
        return stored


class BatchSearch:
    """Searches in one loaded BatchConsumeQueue: its units hold the times, so the commit log is not read."""

    def __init__(self, queue: BatchConsumeQueue) -> None:
        self._queue = queue
        self.probes: list[Probe] = []

    def current(self, time: int, boundary: str) -> int:
        """The answer, within the queue's offsets. Raises JavaThrows."""
        self.probes = []
        return min(max(self._search(time, boundary), self._queue.min_offset), self._queue.max_offset)

    def _search(self, time: int, boundary: str) -> int:
        file = self._file(time)
        if file is None or file.wrote < BATCH_WIDTH:
            return -1
        right = file.wrote - BATCH_WIDTH
        if time >= self._time(SEARCH, file, right):
            return self._queue.unit(file, right).base_offset
        left = 0
        while left <= right:
            middle = (left + right) // 2 // BATCH_WIDTH * BATCH_WIDTH
            stored = self._time(SEARCH, file, middle)
            if middle == right:
                return self._queue.unit(file, middle).base_offset if stored >= time else -1
            if middle == left:
                if stored >= time:
                    return self._queue.unit(file, middle).base_offset
                left = middle + BATCH_WIDTH
            elif boundary == LOWER:
                left, right = (middle + BATCH_WIDTH, right) if stored < time else (left, middle)
            else:
                left, right = (middle, right) if stored <= time else (left, middle - BATCH_WIDTH)
        return -1

    def _file(self, time: int) -> MappedFile | None:
        """The last file if it starts by then, else that with the greatest first time by then, else the first file."""
        files = self._queue.files
        if not files:
            raise JavaThrows("NullPointerException", "a batch queue without files cannot be searched")
        if files[-1].wrote >= BATCH_WIDTH and self._time(FILES, files[-1], 0) <= time:
            return files[-1]
        best, best_time = files[0], None
        for file in files:
            if file.wrote >= BATCH_WIDTH:
                first = self._time(FILES, file, 0)
                if first <= time and (best_time is None or first >= best_time):
                    best, best_time = file, first
        return best

    def _time(self, phase: str, file: MappedFile, position: int) -> int:
        unit = self._queue.unit(file, position)
        self.probes.append(Probe(phase, file, position, unit.commit_log_offset, unit.store_timestamp, None))
        return unit.store_timestamp
