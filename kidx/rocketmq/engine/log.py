"""Checks the commit log: with every queue's units in windows, then record by record where no unit points.

Units are sorted starting points, so messages are decoded in arrays; only the bytes between them are walked: prepared
and rolled-back messages, blank records, messages that the queues do not know, and damage.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from kidx.evidence import Evidence
from kidx.execution import run_parallel
from kidx.findings import Finding
from kidx.rocketmq.engine.log_windows import WINDOW_BYTES, LogWindows, Times, WindowResult
from kidx.rocketmq.engine.walk import Walk
from kidx.rocketmq.files import OpenFiles
from kidx.rocketmq.layout import StoreFile
from kidx.rocketmq.registry import findings_of
from kidx.rocketmq.subjects.log_file import LogFile, Stray
from kidx.rocketmq.subjects.log_units import MESSAGE, LogUnits

if TYPE_CHECKING:
    from kidx.rocketmq.subjects.queue_file import Ints


class LogScan:
    """The result of the scan. `starts` are the offsets of all messages, piece by piece; `end` is where the log ends.
    `empty`: it has no file, or only zeros.

    `light` are units of queues that a message was dispatched to besides its own. `delay_levels_ms` are the broker's,
    where they are known.
    """

    def __init__(self, delay_levels_ms: tuple[int, ...] | None = None) -> None:
        self.delay_levels_ms = delay_levels_ms
        self.end = 0
        self.empty = False
        self.messages = 0
        self.last_timestamp = 0
        self.starts: list[Ints] = []
        self.strays: list[Stray] = []
        self.light: set[int] = set()


def scan_log(
    opened: OpenFiles, files: list[StoreFile], units: LogUnits, scan: LogScan, *, check_crcs: bool, jobs: int = 1
) -> Iterator[Finding]:
    """Check every file of the commit log with `jobs` processes per file; fills `scan` and `units`."""
    used = max((i for i, file in enumerate(files) if any(opened.get(file.path).read(0, 8))), default=-1)
    for number, file in enumerate(files):
        facts = LogFile(file.path, file.base or 0, file.size, last=number >= used)
        if number <= used:
            yield from _FileScan(opened.get(file.path), file, units, scan, facts).run(check_crcs=check_crcs, jobs=jobs)
        else:
            facts.data_after_end = first_data(opened.get(file.path), 0)
        yield from findings_of(facts)
    if used < 0:
        scan.end, scan.empty = files[0].base or 0 if files else 0, True


class _FileScan:
    """One commit-log file that has messages; fills its `facts`."""

    def __init__(self, evidence: Evidence, file: StoreFile, units: LogUnits, scan: LogScan, facts: LogFile) -> None:
        self._evidence, self._file, self._units, self._scan, self._facts = evidence, file, units, scan, facts
        evidence.spare_page_cache()
        self._times: list[Times] = []  # of windows of messages, in order
        # Where messages that units lead to start and end in the file, joined where they adjoin.
        self._covered: list[tuple[Ints, Ints]] = [(np.empty(0, np.int64), np.empty(0, np.int64))]

    def run(self, *, check_crcs: bool, jobs: int) -> Iterator[Finding]:
        """Check units in windows, walk what lies between them, and check the messages found there, too."""
        facts, scan, units = self._facts, self._scan, self._units
        windows = LogWindows(self._evidence, self._file, units, check_crcs=check_crcs)
        parts = windows.cut(units.at, *units.within(facts.base, facts.base + facts.size))
        results = run_parallel(windows.check_units, parts, jobs)
        for part in parts:
            yield from results[part].findings
            self._take(slice(*part), results[part])
        walk = Walk(self._evidence, self._file, facts, scan.delay_levels_ms)
        position = walk.between(*(np.concatenate(column) for column in zip(*self._covered, strict=True)))
        scan.strays += walk.strays
        scan.starts.append(walk.at)
        scan.messages += len(walk.at)
        for part in windows.cut(walk.at, 0, len(walk.at)):
            result = windows.check_messages(walk.at[slice(*part)] - facts.base, walk.size[slice(*part)])
            yield from result.findings
            facts.wrong_bodies += result.wrong_bodies
            scan.last_timestamp = max(scan.last_timestamp, result.times.latest if result.times else 0)
        self._finish(position)

    def _take(self, part: slice, result: WindowResult) -> None:
        """Store the targets of a window's units."""
        units = self._units
        at, end = units.at[part], units.at[part] + units.size[part]
        if result.columns is None:
            units.target[part], units.tag_hash[part] = MESSAGE, units.tag_code[part]
        else:
            units.target[part], units.tag_hash[part], units.store_timestamp[part] = result.columns
            messages = result.columns.target == MESSAGE
            at, end = at[messages], end[messages]
        if result.times:
            self._times.append(result.times)
            self._scan.last_timestamp = max(self._scan.last_timestamp, result.times.latest)
        self._facts.wrong_bodies += result.wrong_bodies
        self._scan.light.update(result.light)
        self._scan.messages += len(at)
        self._scan.starts.append(at)
        if len(at) and not np.count_nonzero(at[1:] != end[:-1]):
            at, end = at[:1], end[-1:]
        self._covered.append((at - self._facts.base, end - self._facts.base))

    def _finish(self, position: int) -> None:
        """Where the file's messages end, and in the last file the commit log; a wrong last body is a torn write."""
        facts = self._facts
        facts.end = position
        facts.backwards = sum(times.backwards for times in self._times)
        facts.backwards += sum(after.first < before.last for before, after in pairwise(self._times))
        if not facts.last:
            return
        if not facts.closed:
            for wrong in facts.wrong_bodies:
                if wrong.position + wrong.size == position:
                    facts.torn_at = wrong.position
        if facts.torn_at is not None:
            self._scan.end = facts.base + facts.torn_at
            return
        self._scan.end = facts.base + (facts.size if facts.closed else position)
        if not facts.closed:
            facts.data_after_end = first_data(self._evidence, position)


def first_data(evidence: Evidence, start: int) -> int | None:
    """The first byte other than zero from a position to the file's end."""
    buffer = np.empty(WINDOW_BYTES, np.uint8)
    position = _skip_hole(evidence, start)
    while position < evidence.size:
        chunk = buffer[: evidence.read_into(position, buffer.data)]
        if chunk.any():
            return position + int(np.argmax(chunk != 0))
        position = _skip_hole(evidence, position + len(chunk))
    return None


def _skip_hole(evidence: Evidence, position: int) -> int:
    """Where data begins at or after a position: a preallocated file is a hole there, whose zeros need no reading."""
    try:
        return os.lseek(evidence.fileno(), position, os.SEEK_DATA)
    except OSError as e:
        return evidence.size if e.errno == errno.ENXIO else position  # ENXIO: nothing but a hole up to the end
