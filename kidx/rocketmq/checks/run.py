"""A whole store checked: series, queues, commit log, units against it, ext, batches, index, checkpoint, abort."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from kidx.errors import CannotRead
from kidx.execution import keep_freed_memory
from kidx.findings import Finding, Skipped, limited
from kidx.rocketmq.checkpoint import Checkpoint
from kidx.rocketmq.checks.against_log import check_lanes
from kidx.rocketmq.checks.ext import ExtFiles
from kidx.rocketmq.checks.lanes import lanes_of
from kidx.rocketmq.checks.log_scan import LogScan, scan_log, without_unit
from kidx.rocketmq.checks.making import Checked, finding
from kidx.rocketmq.checks.points import check_points
from kidx.rocketmq.checks.series import check_series, usable
from kidx.rocketmq.checks.units import QueueUnits, check_queue
from kidx.rocketmq.commit_log import CommitLog
from kidx.rocketmq.config import StoreConfig, common_size
from kidx.rocketmq.extent import extent_of
from kidx.rocketmq.files import OpenFiles
from kidx.rocketmq.formats import PRE_BLANK_SIZE, UNIT
from kidx.rocketmq.layout import Layout, StoreFile
from kidx.rocketmq.queues import ConsumeQueue

if TYPE_CHECKING:
    from kidx.rocketmq.checks.units import Ints

_CHUNK_BYTES = UNIT.size << 10  # of a queue, whose first units mostly say all


def check_store(
    layout: Layout, config: StoreConfig, *, crcs: bool = True, rules: frozenset[str] | None = None, jobs: int = 1
) -> Checked:
    """Check a store; without `crcs` bodies are left out. `rules` are the codes to report, None for all.

    A commit-log file is shared out among `jobs` processes.
    """
    keep_freed_memory(sum(file.size for file in layout.commit_log))
    checked = Checked()
    opened = OpenFiles()
    try:
        findings = limited(_StoreCheck(layout, config, opened, checked, crcs=crcs, jobs=jobs).run())
        checked.findings = [one for one in findings if rules is None or one.rule in rules]
    except CannotRead as e:
        checked.unread.append(str(e))
        checked.coverage.unreadable += 1
    finally:
        opened.close()
    checked.findings.sort(key=lambda one: (one.file, -1 if one.byte_start is None else one.byte_start, one.rule))
    return checked


class _StoreCheck:
    def __init__(
        self, layout: Layout, config: StoreConfig, opened: OpenFiles, checked: Checked, *, crcs: bool, jobs: int
    ) -> None:
        self._layout, self._config, self._opened, self._crcs, self._jobs = layout, config, opened, crcs, jobs
        self._checked, self._coverage = checked, checked.coverage
        self._unclean = layout.abort is not None
        self._log_files = self._readable(usable(layout.commit_log))
        size = config.commit_log_bytes or common_size(f.size for f in layout.commit_log) or 0
        self._log_bytes = size
        self._log = CommitLog(opened, [f for f in self._log_files if f.size == size], size or 1)
        self._start = self._log_files[0].base or 0 if self._log_files else 0

    def run(self) -> Iterator[Finding]:
        layout, scan = self._layout, LogScan()
        yield from check_series(layout.commit_log, self._log_bytes or None)
        queues: list[QueueUnits] = []
        for one in self._queues():
            if isinstance(one, QueueUnits):
                queues.append(one)
            else:
                yield one
        lanes = lanes_of(queues)
        yield from scan_log(self._opened, self._log_files, lanes, scan, crcs=self._crcs, jobs=self._jobs)
        ext = ExtFiles(self._opened, {name: usable(files) for name, files in layout.ext.items()})
        yield from check_lanes(lanes, self._log, ext, scan, self._unclean)
        known: set[int] = set(lanes.at.tolist()) if scan.strays else set()
        yield from self._batches(scan, known)
        if layout.rocksdb:
            self._skip(f"{layout.root}/consumequeue", "the queues are in RocksDB (5.2 on), which kidx does not read")
        else:
            yield from without_unit(scan, known, self._unclean)
        yield from self._index(scan)
        checkpoint = Checkpoint(self._opened, layout.checkpoint)
        yield from check_points(layout, checkpoint, scan.last_timestamp, scan.end)
        self._account(lanes.at, scan)

    def _queues(self) -> Iterator[Finding | QueueUnits]:
        size = self._config.queue_bytes or common_size(f.size for fs in self._layout.queues.values() for f in fs)
        for (topic, queue_id), listed in sorted(self._layout.queues.items()):
            yield from check_series(listed, size)
            files = self._readable(usable(listed))
            if self._log_files:
                yield from check_queue(self._opened, topic, queue_id, files, self._start)
            if files and size and all(f.size == size for f in files):
                yield from self._min_offset(topic, queue_id, files, size)

    def _min_offset(self, topic: str, queue_id: int, files: list[StoreFile], size: int) -> Iterator[Finding]:
        """The min offsets that 4.x and 5.x compute on load, against the first unit that leads to a message."""
        first = self._first_served(files)
        computed = {}
        for line, five in (("4.x", False), ("5.x", True)):
            queue = ConsumeQueue(self._opened, topic, queue_id, files, size, five)
            last = extent_of(UNIT.size, files[-1].size, self._opened.get(files[-1].path).read)
            queue.files[-1].wrote = last.units * UNIT.size
            queue.correct_min_offset(self._start)
            computed[line] = queue.min_offset
        wrong = {line: offset for line, offset in computed.items() if first is not None and offset != first}
        if wrong:
            said = ", ".join(f"{line} computes {offset}" for line, offset in wrong.items())
            message = f"the first message it can serve is {first}; when it loads, {said}"
            yield finding("KXR127", files[0].path, message, expected=first, found=computed)

    def _first_served(self, files: list[StoreFile]) -> int | None:
        for file in files:
            evidence = self._opened.get(file.path)
            used = extent_of(UNIT.size, file.size, evidence.read).units * UNIT.size
            for start in range(0, used, _CHUNK_BYTES):
                chunk = evidence.read(start, min(_CHUNK_BYTES, used - start))
                for slot, (at, size, tag) in enumerate(UNIT.struct.iter_unpack(chunk), start // UNIT.size):
                    if at >= self._start and size > 0 and (at, size, tag) != (0, PRE_BLANK_SIZE, 0):
                        return (file.base or 0) // UNIT.size + slot
        return None

    def _batches(self, scan: LogScan, known: set[int]) -> Iterator[Finding]:
        if not self._layout.batch_queues:
            return
        from kidx.rocketmq.checks.batches import check_batch_queue

        sizes = (f.size for fs in self._layout.batch_queues.values() for f in fs)
        size = self._config.batch_queue_bytes or common_size(sizes)
        messages = {stray.at: stray for stray in scan.strays}
        for name, listed in sorted(self._layout.batch_queues.items()):
            yield from check_series(listed, size)
            files = self._readable(usable(listed))
            for one in check_batch_queue(self._opened, name, files, messages, (self._start, scan.end), self._unclean):
                if isinstance(one, int):
                    known.add(one)
                    self._coverage.entries += 1
                else:
                    yield one

    def _index(self, scan: LogScan) -> Iterator[Finding]:
        if not self._layout.index:
            return
        from kidx.rocketmq.checks.index import check_index

        starts = np.concatenate([np.empty(0, np.int64), *scan.starts])
        starts.sort()
        starts = starts[starts < scan.end]
        for file in self._layout.index:
            if file.base is None:
                yield finding("KXR103", file.path, f"{file.name} is no time, so this is no index file")
                continue
            for readable in self._readable([file]):
                shape = self._shape(readable)
                for one in check_index(self._opened, readable, shape, starts, self._log, scan.end, self._jobs):
                    if isinstance(one, int):
                        self._coverage.entries += one
                    elif isinstance(one, Skipped):
                        self._skip(*one)
                    else:
                        yield one

    def _shape(self, file: StoreFile) -> tuple[int, int] | None:
        if self._config.index_slots and self._config.index_entries:
            return self._config.index_slots, self._config.index_entries
        from kidx.rocketmq.index_file import infer_shape

        return infer_shape(self._opened, file.path)

    def _readable(self, files: list[StoreFile]) -> list[StoreFile]:
        """The files that open; the others are noted as unread."""
        good = []
        for file in files:
            try:
                self._opened.get(file.path)
            except CannotRead as e:
                self._checked.unread.append(str(e))
                self._coverage.unreadable += 1
                self._skip(file.path, "it could not be read", file.size)
                continue
            good.append(file)
            self._coverage.files += 1
            self._coverage.bytes_checked += file.size
        return good

    def _skip(self, what: str, why: str, size: int = 0) -> None:
        self._coverage.skipped.append(Skipped(what, why))
        self._coverage.bytes_skipped += size

    def _account(self, at: Ints, scan: LogScan) -> None:
        self._coverage.entries += len(at)
        self._coverage.batches += scan.messages
        if not self._crcs:
            self._skip("message bodies", "--quick leaves CRCs out")
