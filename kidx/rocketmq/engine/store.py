"""Checks a complete store: series, queues, commit log, units, ext, batches, index, checkpoint, abort."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from kidx.errors import CannotRead
from kidx.findings import Coverage, Finding, Skipped, limited
from kidx.rocketmq.checkpoint import Checkpoint
from kidx.rocketmq.commit_log import CommitLog
from kidx.rocketmq.config import StoreConfig, common_size
from kidx.rocketmq.engine.log import LogScan, scan_log
from kidx.rocketmq.ext_units import ExtFiles
from kidx.rocketmq.files import OpenFiles
from kidx.rocketmq.formats import BATCH_UNIT
from kidx.rocketmq.layout import Layout, StoreFile
from kidx.rocketmq.registry import findings_of
from kidx.rocketmq.subjects.log_file import Undispatched
from kidx.rocketmq.subjects.log_units import LogUnits, ScannedUnits
from kidx.rocketmq.subjects.queue import Queue
from kidx.rocketmq.subjects.queue_file import QueueFile, QueueUnits
from kidx.rocketmq.subjects.series import IndexNames, Series
from kidx.rocketmq.subjects.whole_store import WholeStore

if TYPE_CHECKING:
    from kidx.rocketmq.subjects.queue_file import Ints


class Checked:
    """Findings, coverage, and one sentence for everything that could not be read."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.coverage = Coverage()
        self.unread: list[str] = []

    def add(self, other: Checked) -> None:
        """Add another store's."""
        self.findings += other.findings
        self.coverage.add(other.coverage)
        self.unread += other.unread

    def cannot_read(self, error: CannotRead) -> None:
        """Note what could not be read."""
        self.unread.append(str(error))
        self.coverage.unreadable += 1


def check_store(
    layout: Layout, config: StoreConfig, *, crcs: bool = True, rules: frozenset[str] | None = None, jobs: int = 1
) -> Checked:
    """Check a store; without `crcs` bodies are left out. `rules` are the codes to report, None for all.

    A commit-log file is shared out among `jobs` processes.
    """
    checked = Checked()
    opened = OpenFiles()
    try:
        for one in limited(_StoreCheck(layout, config, opened, checked, crcs=crcs, jobs=jobs).run()):
            if rules is None or one.rule in rules:
                checked.findings.append(one)
    except CannotRead as e:
        checked.cannot_read(e)
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
        self._unread = False  # whether a file is missing from what others are compared with
        self._log_files = self._readable(layout.commit_log)
        self._log_complete = not self._unread
        self._log_bytes = config.commit_log_bytes or common_size(f.size for f in layout.commit_log) or 0
        of_that_size = [f for f in self._log_files if f.size == self._log_bytes]
        self._log = CommitLog(opened, of_that_size, self._log_bytes or 1)
        self._start = next((file.base or 0 for file in _usable(layout.commit_log)), 0)

    def run(self) -> Iterator[Finding]:
        layout, scan = self._layout, LogScan(self._config.delay_levels_ms)
        for name, unread in layout.unread.items():
            self._skip(f"{layout.root}/{name}", unread.why, unread.bytes)
        yield from findings_of(Series(layout.commit_log, self._log_bytes or None))
        queues: list[QueueUnits] = []
        yield from self._queues(queues)
        if not self._log_complete:
            self._skip("queues, index and checkpoint", "not compared with the commit log, which could not be read")
            return
        units = LogUnits(queues)
        yield from scan_log(self._opened, self._log_files, units, scan, check_crcs=self._crcs, jobs=self._jobs)
        ext = ExtFiles(self._opened, {name: _usable(files) for name, files in layout.ext.items()})
        if scan.empty and len(units.at):
            self._skip(f"{len(units.at):,} queue units", "the commit log is empty, so they were compared with nothing")
        else:
            scanned = ScannedUnits(
                units,
                self._log,
                ext,
                scan.end,
                light=scan.light,
                unclean=self._unclean,
                delay_levels_ms=self._config.delay_levels_ms,
            )
            yield from findings_of(scanned)
        known: set[int] = set(units.at.tolist()) if scan.strays else set()
        yield from self._batches(scan, known)
        if not layout.rocksdb and not self._unread:
            without = [stray for stray in scan.strays if stray.at < scan.end and stray.at not in known]
            yield from findings_of(Undispatched(without, self._unclean))
        yield from self._index(scan)
        checkpoint = Checkpoint(self._opened, layout.checkpoint)
        point_into_log = len(units.at) + self._coverage.entries
        yield from findings_of(
            WholeStore(layout, checkpoint, scan.last_timestamp, scan.end, scan.empty, point_into_log)
        )
        self._coverage.entries += len(units.at)
        self._coverage.batches += scan.messages
        if not self._crcs:
            self._skip("message bodies", "--quick leaves CRCs out")

    def _queues(self, found: list[QueueUnits]) -> Iterator[Finding]:
        """Findings of the queues' own files; their units go into `found`."""
        size = self._config.queue_bytes or common_size(f.size for fs in self._layout.queues.values() for f in fs)
        for (topic, queue_id), listed in sorted(self._layout.queues.items()):
            yield from findings_of(Series(listed, size))
            files = self._readable(listed)
            before, partial = -1, False
            for number, file in enumerate(files):
                checked = QueueFile(
                    self._opened,
                    file,
                    number,
                    last=number == len(files) - 1,
                    follows_partial=partial,
                    offset_before=before,
                    log_start=self._start,
                )
                yield from findings_of(checked)
                found.append(checked.into_log(topic, queue_id))
                partial = not checked.full
                before = int(checked.real_at[-1]) if len(checked.real_at) else before
            yield from findings_of(Queue(self._opened, topic, queue_id, files, size, self._start))

    def _batches(self, scan: LogScan, known: set[int]) -> Iterator[Finding]:
        """Findings of batch queues; the commit-log offsets of messages that have their unit are added to `known`."""
        if not self._layout.batch_queues:
            return
        from kidx.rocketmq.subjects.batch_file import BatchFile

        sizes = (f.size for fs in self._layout.batch_queues.values() for f in fs)
        size = self._config.batch_queue_bytes or common_size(sizes)
        messages, log = {stray.at: stray for stray in scan.strays}, (self._start, scan.end)
        for name, listed in sorted(self._layout.batch_queues.items()):
            yield from findings_of(Series(listed, size))
            before = np.empty(0, BATCH_UNIT.dtype)
            for file in self._readable(listed):
                batches = BatchFile(self._opened, name, file, before, messages, log, unclean=self._unclean)
                yield from findings_of(batches)
                known.update(message.at for _, message in batches.with_message)
                self._coverage.entries += len(batches.with_message)
                before = batches.chain[-1:]

    def _index(self, scan: LogScan) -> Iterator[Finding]:
        if not self._layout.index:
            return
        from kidx.rocketmq.subjects.index_entries import IndexEntries

        starts: Ints = np.concatenate([np.empty(0, np.int64), *scan.starts])
        starts.sort()
        starts = starts[starts < scan.end]
        yield from findings_of(IndexNames(self._layout.index))
        named = [file for file in self._layout.index if file.base is not None]
        for file in self._readable(named, empty=True):
            index = IndexEntries(self._opened, file, self._shape(file), starts, self._log, scan.end, self._jobs)
            yield from findings_of(index)
            self._coverage.entries += len(index.entries)
            if index.left_out:
                self._skip(*index.left_out)

    def _shape(self, file: StoreFile) -> tuple[int, int] | None:
        if self._config.index_slots and self._config.index_entries:
            return self._config.index_slots, self._config.index_entries
        from kidx.rocketmq.index_file import infer_shape

        return infer_shape(self._opened, file.path)

    def _readable(self, files: list[StoreFile], *, empty: bool = False) -> list[StoreFile]:
        """The files that can be checked as data and that open; those that do not open are noted as unread."""
        good = []
        for file in files if empty else _usable(files):
            try:
                self._opened.get(file.path)
            except CannotRead as e:
                self._checked.cannot_read(e)
                self._skip(file.path, "it could not be read", file.size)
                self._unread = True
                continue
            good.append(file)
            self._coverage.files += 1
            self._coverage.bytes_checked += file.size
        return good

    def _skip(self, what: str, why: str, size: int = 0) -> None:
        self._coverage.skipped.append(Skipped(what, why))
        self._coverage.bytes_skipped += size


def _usable(files: list[StoreFile]) -> list[StoreFile]:
    """The files whose name says where they start, and that are not empty."""
    return [file for file in files if file.base is not None and file.size > 0]
