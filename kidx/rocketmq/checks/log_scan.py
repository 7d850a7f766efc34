"""The commit log held against itself and against every queue's units, each message once.

Units are sorted starting points, so that messages are decoded in arrays; only what no unit leads to is walked record by
record: prepared and rolled-back messages, blanks, messages the queues do not know, and damage.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Generator, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kidx.evidence import Evidence
from kidx.execution import run_parallel
from kidx.findings import WARNING, Finding
from kidx.rocketmq.checks.lanes import GOOD, NO_MESSAGE, NOT_WHOLE, OTHER_SIZE, SOUND, Lanes
from kidx.rocketmq.checks.making import finding
from kidx.rocketmq.checks.quiet import QuietLog, Times, times_of
from kidx.rocketmq.files import OpenFiles
from kidx.rocketmq.formats import MESSAGE_HEAD
from kidx.rocketmq.layout import StoreFile
from kidx.rocketmq.messages import Blank, Broken, Message, decode

if TYPE_CHECKING:
    from kidx.rocketmq.checks import window
    from kidx.rocketmq.checks.units import Ints

# Small enough to stay in the processor's cache between the passes over it; and numpy asks for huge pages from 4 MiB on,
# for which the system may first have to make room.
WINDOW_BYTES = 3 << 20


class Stray(NamedTuple):
    """A message that the dispatch gives a unit, and no ConsumeQueue's unit leads to. `at` is its commit-log offset."""

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


class LogScan:
    """What the scan learned. `starts` are the offsets of all messages, piece by piece; `end` is where the log ends.

    `torn_at` is the position of an incomplete last message in the last file. `light` are lanes of queues to which the
    message was dispatched besides its own.
    """

    def __init__(self) -> None:
        self.end = 0
        self.messages = 0
        self.bytes = 0
        self.last_timestamp = 0
        self.starts: list[Ints] = []
        self.strays: list[Stray] = []
        self.light: set[int] = set()
        self.torn_at: int | None = None


def scan_log(
    opened: OpenFiles, files: list[StoreFile], lanes: Lanes, scan: LogScan, *, crcs: bool, jobs: int = 1
) -> Iterator[Finding]:
    """Check every file of the commit log, `jobs` processes a file; fills `scan` and the lanes' states."""
    used = max((i for i, file in enumerate(files) if any(opened.get(file.path).read(0, 8))), default=-1)
    for number, file in enumerate(files[: used + 1]):
        one = _FileScan(opened, file, lanes, scan, crcs=crcs, jobs=jobs, last=number == used)
        yield from one.run()
    for file in files[used + 1 :]:
        scan.bytes += file.size
        yield from _left_over(opened, file, 0)
    if used < 0 and files:
        scan.end = files[0].base or 0


def without_unit(scan: LogScan, known: set[int], unclean: bool) -> Iterator[Finding]:
    """Messages that no queue has a unit of, though the dispatch gives them one; `known` are offsets found elsewhere."""
    for stray in scan.strays:
        if stray.at < scan.end and stray.at not in known:
            said = f"{stray.topic}/{stray.queue_id} has no unit {stray.queue_offset} that leads here"
            span = stray.position, stray.position + stray.size
            yield finding("KXR207", stray.path, said, span=span, severity=WARNING if unclean else None)


def _left_over(opened: OpenFiles, file: StoreFile, start: int) -> Iterator[Finding]:
    """Bytes other than zero from a position to the file's end."""
    evidence, buffer = opened.get(file.path), np.empty(WINDOW_BYTES, np.uint8)
    position = _skip_hole(evidence, start)
    while position < file.size:
        chunk = buffer[: evidence.read_into(position, buffer.data)]
        if chunk.any():
            first = position + int(np.argmax(chunk != 0))
            said = f"the commit log ends at byte {start} of this file, and byte {first} is not zero"
            yield finding("KXR208", file.path, said, span=(first, file.size))
            return
        position = _skip_hole(evidence, position + len(chunk))


def _skip_hole(evidence: Evidence, position: int) -> int:
    """Where data begins at or after a position: a preallocated file is a hole there, whose zeros need no reading."""
    try:
        return os.lseek(evidence.fileno(), position, os.SEEK_DATA)
    except OSError as e:
        return evidence.size if e.errno == errno.ENXIO else position  # ENXIO: nothing but a hole up to the end


class _FileScan:
    """One commit-log file."""

    def __init__(
        self, opened: OpenFiles, file: StoreFile, lanes: Lanes, scan: LogScan, *, crcs: bool, jobs: int, last: bool
    ) -> None:
        self._evidence, self._opened, self._file = opened.get(file.path), opened, file
        self._evidence.spare_page_cache()
        self._lanes, self._scan, self._crcs, self._jobs, self._last = lanes, scan, crcs, jobs, last
        self._base = file.base or 0
        self._times: list[Times] = []  # of stretches of messages, in order
        # Where their messages start and end, joined where they adjoin.
        self._covered: list[tuple[Ints, Ints]] = [(np.empty(0, np.int64), np.empty(0, np.int64))]
        self._bodies: list[tuple[int, int, int, int]] = []  # position, size, CRC stored, CRC found
        self._buffer = np.empty(0, np.uint8)
        self._closed = False  # a blank record was met

    def run(self) -> Iterator[Finding]:
        """Check lanes in windows, then walk what lies between them."""
        chosen = self._lanes.within(self._base, self._base + self._file.size)
        yield from self._check_lanes(chosen)
        starts, ends = (np.concatenate(column) for column in zip(*self._covered, strict=True))
        position, extra = 0, list[int]()
        before = np.concatenate([np.zeros(1, np.int64), np.maximum.accumulate(ends)])
        for i in (np.concatenate([starts, [self._file.size]]) > before).nonzero()[0].tolist():
            position, stop = int(before[i]), int(starts[i]) if i < len(starts) else self._file.size
            position = yield from self._walk(position, stop, extra, final=i == len(starts))
        if len(starts) and int(before[-1]) >= self._file.size:
            position = self._file.size
        yield from self._report_bodies(position)
        self._scan.messages += len(extra)
        self._scan.bytes += self._file.size
        self._scan.starts.append(np.array(extra, np.int64))
        yield from self._backwards()
        yield from self._end(position)

    def _check_lanes(self, chosen: slice) -> Iterator[Finding]:
        """First quietly, side by side; then in full what may not be sound."""
        lanes, stretches = self._lanes, self._stretches(chosen)
        log = QuietLog(self._evidence, self._base, lanes, crcs=self._crcs)
        all_told = run_parallel(log.tell, stretches, self._jobs)
        for stretch in stretches:
            told = all_told[stretch]
            part = slice(*stretch)
            at, end = lanes.at[part], lanes.at[part] + lanes.size[part]
            if told is None:
                yield from self._check_stretch(part)
                good = lanes.state[part] == GOOD
                at, end = at[good], end[good]
                self._times += [times_of(lanes.store_timestamp[part][good])] if len(at) else []
            else:
                lanes.state[part] = SOUND
                self._times.append(Times(*told))
            self._scan.messages += len(at)
            self._scan.starts.append(at)
            if told is not None and not np.count_nonzero(at[1:] != end[:-1]):
                at, end = at[:1], end[-1:]
            self._covered.append((at - self._base, end - self._base))

    def _stretches(self, chosen: slice) -> list[tuple[int, int]]:
        """The lanes cut wherever another WINDOW_BYTES of the file are full."""
        at, cuts = self._lanes.at, [chosen.start]
        while cuts[-1] < chosen.stop:
            cut = int(at.searchsorted(int(at[cuts[-1]]) + WINDOW_BYTES))
            cuts.append(min(chosen.stop, cut))
        return list(pairwise(cuts))

    def _check_stretch(self, chosen: slice) -> Iterator[Finding]:
        lanes = self._lanes
        places, size = lanes.at[chosen] - self._base, lanes.size[chosen]
        fits = (size >= MESSAGE_HEAD.size) & (places + size <= self._file.size)
        lanes.state[chosen][~fits] = NO_MESSAGE
        index = np.arange(chosen.start, chosen.stop)[fits]
        at = 0
        while at < len(index):
            first = int(lanes.at[index[at]]) - self._base
            stop = max(at + 1, int(lanes.at[index].searchsorted(first + self._base + WINDOW_BYTES)))
            part = index[at:stop]
            reach = int((lanes.at[part] + lanes.size[part]).max()) - self._base
            if len(self._buffer) < reach - first:
                self._buffer = np.empty(reach - first, np.uint8)
            data = self._buffer[: reach - first]
            self._evidence.read_into(first, data.data)
            yield from self._check_window(data, first, part)
            at = stop

    def _check_window(self, data: window.Bytes, first: int, part: Ints) -> Iterator[Finding]:
        from kidx.rocketmq.checks import window

        lanes = self._lanes
        start, size = lanes.at[part] - self._base - first, lanes.size[part]
        head, magic = window.is_head(data, start)
        right = magic & (head["total_size"] == size)
        lanes.state[part[~magic]] = NO_MESSAGE
        lanes.state[part[magic & ~right]] = OTHER_SIZE
        part, start, size, head = part[right], start[right], size[right], head[right]
        parts = window.parts_of(data, start, size, head)
        lanes.state[part] = np.where(parts.whole, GOOD, NOT_WHOLE)
        keep = np.flatnonzero(parts.whole)
        if len(keep) != len(part):
            part, start, size, head = part[keep], start[keep], size[keep], head[keep]
            parts = window.parts_of(data, start, size, head)
        lanes.store_timestamp[part] = parts.store_timestamp
        lanes.tag_hash[part] = window.tag_hashes(data, parts)
        yield from self._identities(data, parts, part)
        for i in np.flatnonzero(head["physical_offset"] != lanes.at[part]).tolist():
            yield self._elsewhere(int(start[i]) + first, int(size[i]), int(head["physical_offset"][i]))
        if self._crcs:
            for i, found in window.wrong_bodies(data, parts):
                self._bodies.append((int(start[i]) + first, int(size[i]), int(head["body_crc"][i]), found))
            for i, stored, found in window.wrong_property_crcs(data, parts):
                yield self._property_crc(int(start[i]) + first, int(size[i]), stored, found)

    def _identities(self, data: window.Bytes, parts: window.Parts, part: Ints) -> Iterator[Finding]:
        """Topic, queue id and queue offset: a message's against its unit's."""
        from kidx.rocketmq.checks import window

        lanes, head = self._lanes, parts.head
        source = lanes.source[part]
        for number in np.unique(source).tolist():
            queue = lanes.queues[number]
            chosen = np.flatnonzero(source == number)
            own = window.same_topic(data, parts, chosen, queue.topic.encode("utf-8", "surrogateescape"))
            own &= head["queue_id"][chosen] == queue.queue_id
            for i in chosen[~own].tolist():
                message = decode(data[parts.start[i] : parts.start[i] + parts.size[i]].tobytes())
                light = message.light_queues().get(queue.topic) if isinstance(message, Message) else None
                if light is not None:
                    self._scan.light.add(int(part[i]))
                    if light != lanes.queue_offset[part[i]]:
                        yield self._other_offset(part[i], light)
                    continue
                topic = bytes(data[parts.topic[i] : parts.topic_end[i]]).decode("utf-8", "replace")
                found = f"{topic}/{int(head['queue_id'][i])}"
                yield self._unit(
                    "KXR126",
                    part[i],
                    f"its message is of {found}",
                    expected=f"{queue.topic}/{queue.queue_id}",
                    found=found,
                )
            chosen = chosen[own]
            for i in chosen[head["queue_offset"][chosen] != lanes.queue_offset[part[chosen]]].tolist():
                yield self._other_offset(part[i], int(head["queue_offset"][i]))

    def _other_offset(self, lane: int, found: int) -> Finding:
        own = int(self._lanes.queue_offset[lane])
        return self._unit("KXR125", lane, f"its message says queue offset {found}", expected=own, found=found)

    def _unit(self, code: str, lane: int, message: str, **more: object) -> Finding:
        queue, slot = self._lanes.queues[int(self._lanes.source[lane])], self._lanes.slot(lane)
        return finding(code, queue.path, message, span=(slot * 20, slot * 20 + 20), slot=slot, **more)  # type: ignore[arg-type]

    def _walk(self, position: int, stop: int, extra: list[int], *, final: bool) -> Generator[Finding, None, int]:
        """Go record by record from a position to the next known message; returns where the walk ended."""
        while position < stop:
            head = self._evidence.read(position, 8)
            size = int.from_bytes(head[:4], signed=True)
            fits = 8 <= size <= stop - position
            found = decode(self._evidence.read(position, size) if fits else head, self._file.size - position)
            if isinstance(found, Message) and found.size != found.parts_size:
                found = Broken(found.size, f"its parts need {found.parts_size} bytes and its size says {found.size}")
            if isinstance(found, Message) and found.size <= stop - position:
                extra.append(self._base + position)
                if found.has_unit:
                    self._scan.strays.append(self._stray(found, position))
                yield from self._message(found, position)
                position += found.size
                continue
            if isinstance(found, Blank) and final and not self._closed:
                self._closed = True
                return position
            if isinstance(found, Broken) and final and (found.end or self._last):
                self._torn(found, position)
                return position
            reason = found.reason if isinstance(found, Broken) else "a blank record before the file's last message"
            if isinstance(found, Message):
                reason = f"its size {found.size} goes past the next message, which a unit leads to"
            yield finding("KXR201", self._file.path, f"no message here: {reason}", span=(position, stop))
            return stop
        return position

    def _stray(self, message: Message, position: int) -> Stray:
        at = self._base + position
        place = self._file.path, position, message.size, at
        queue = message.topic, message.queue_id, message.queue_offset
        return Stray(*place, *queue, message.store_timestamp, message.tag_code(), message.batch())

    def _torn(self, found: Broken, position: int) -> None:
        if not found.end:
            self._scan.torn_at = position

    def _message(self, message: Message, position: int) -> Iterator[Finding]:
        """What is checked of a message that no unit leads to."""
        if message.physical_offset != self._base + position:
            yield self._elsewhere(position, message.size, message.physical_offset)
        if self._crcs and message.body and message.body_crc_found() != message.body_crc:
            self._bodies.append((position, message.size, message.body_crc, message.body_crc_found()))
        crc = message.property_crc() if self._crcs else None
        if crc is not None and crc[0] != crc[1]:
            yield self._property_crc(position, message.size, *crc)
        self._scan.last_timestamp = max(self._scan.last_timestamp, message.store_timestamp)

    def _elsewhere(self, position: int, size: int, said: int) -> Finding:
        return finding(
            "KXR205",
            self._file.path,
            f"the message at {self._base + position} says it lies at {said}",
            span=(position, position + size),
            expected=self._base + position,
            found=said,
        )

    def _property_crc(self, position: int, size: int, stored: int, found: int) -> Finding:
        said = f"the message at {self._base + position} says {stored}, its bytes give {found}"
        return finding("KXR204", self._file.path, said, span=(position, position + size), expected=stored, found=found)

    def _report_bodies(self, end: int) -> Iterator[Finding]:
        """Wrong body CRCs; that of the commit log's very last message is a torn write."""
        for position, size, stored, found in sorted(self._bodies):
            if self._last and not self._closed and position + size == end:
                self._scan.torn_at = position
                continue
            yield finding(
                "KXR203",
                self._file.path,
                f"the message at {self._base + position} says {stored}, its body gives {found}",
                span=(position, position + size),
                expected=stored,
                found=found,
            )

    def _backwards(self) -> Iterator[Finding]:
        self._scan.last_timestamp = max([self._scan.last_timestamp, *(times.latest for times in self._times)])
        back = sum(times.backwards for times in self._times)
        back += sum(after.first < before.last for before, after in pairwise(self._times))
        if back:
            said = f"{back} messages have an earlier store time than the one before them"
            yield finding("KXR209", self._file.path, said, found=back)

    def _end(self, position: int) -> Iterator[Finding]:
        if not self._last:
            if not self._closed and position < self._file.size:
                said = f"its messages end at byte {position} without a blank record, and later files hold messages"
                yield finding("KXR206", self._file.path, said, span=(position, self._file.size))
            return
        torn = self._scan.torn_at
        if torn is not None:
            said = f"the last message, at {self._base + torn}, is incomplete"
            yield finding("KXR202", self._file.path, said, span=(torn, max(torn + 1, position)))
            self._scan.end = self._base + torn
        else:
            self._scan.end = self._base + (self._file.size if self._closed else position)
            if not self._closed:
                yield from _left_over(self._opened, self._file, position)
