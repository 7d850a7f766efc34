"""Writing a partition's directory as a broker leaves it after a clean stop: logs, indexes and the small files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import NamedTuple

from kidx.errors import KidxError, Refused, WrongFormat
from kidx.evidence import Evidence, from_bytes, open_evidence, read_file
from kidx.formats.checkpoints import parse_quorum_state
from kidx.formats.producer_snapshot import ProducerState, parse_snapshot
from kidx.logdir.log_dir import METADATA_TOPIC, PARTITION_METADATA
from kidx.logdir.names import METADATA_SNAPSHOT, SEGMENT_SUFFIX
from kidx.logdir.tree import Partition
from kidx.lookup.producers import ProducerStates
from kidx.recovery.plan import PartitionPlan, Piece, PlannedSegment
from kidx.segments.scan import scan
from kidx.surgery.batch_facts import read_facts
from kidx.surgery.content import Joined
from kidx.surgery.new_file import flush_directory, refusing, state_for_new_file, write_file
from kidx.surgery.recovered_transactions import RecoveredTransactions
from kidx.surgery.recovery import recover
from kidx.surgery.state_files import LEADER_EPOCHS, leader_epoch_bytes

_SNAPSHOT_BYTES = 1 << 30


class WrittenPartition(NamedTuple):
    """What the log dir's checkpoints say of a partition that was written."""

    first_base: int
    log_start_offset: int
    end_offset: int


class PartitionWriter:
    """Writes the files of one partition into a new directory. Raises Refused where the system declines."""

    def __init__(self, plan: PartitionPlan, directory: str, interval_bytes: int) -> None:
        self._plan, self._directory, self._interval = plan, directory, interval_bytes
        self._producers: ProducerStates | None = None

    def write(self, topic_id: str | None, own: Partition | None) -> WrittenPartition:
        """Write everything; `own` is the directory whose controller state is copied, None without one."""
        plan = self._plan
        epochs: list[tuple[int, int]] = []
        first_base = end = None
        for segment in plan.segments():
            base = segment.base_offset
            if self._producers is None:
                first_base = base
                self._producers = ProducerStates(_producers_before(plan, base))
            else:
                self._snapshot(base)
            self._segment(segment)
            epochs += segment.epochs
            end = segment.end_offset
        assert first_base is not None and end is not None
        if end > first_base:
            self._snapshot(end)
        log_start = max(first_base, plan.log_start_offset)
        self._bytes(LEADER_EPOCHS, leader_epoch_bytes(epochs, log_start))
        if topic_id is not None:
            self._bytes(PARTITION_METADATA, f"version: 0\ntopic_id: {topic_id}".encode())
        if own is not None and plan.recoverable.topic == METADATA_TOPIC:
            for name, content in _controller_files(own):
                self._bytes(name, content)
        with refusing(self._directory):
            place = os.open(self._directory, os.O_RDONLY | os.O_DIRECTORY)
            try:
                flush_directory(place, self._directory)
            finally:
                os.close(place)
        return WrittenPartition(first_base, log_start, end)

    def _segment(self, segment: PlannedSegment) -> None:
        name = f"{segment.base_offset:020d}.log"
        with ExitStack() as stack:
            content, mtime_ns = _joined(segment.pieces, name, stack)
            self._file(name, content, mtime_ns)
        path = os.path.join(self._directory, name)
        assert self._producers is not None
        with open_evidence(path) as log:
            transactions = RecoveredTransactions(self._producers.open_transactions)
            made = recover(read_facts(log, segment.base_offset, self._interval), self._interval, transactions)
            if made.broken is not None:
                raise Refused(f"{path}: byte {made.valid_bytes}: {made.broken}; a replica changed while it was read")
            for window in scan(log, check_crc=False):
                self._producers.take(window, log)
        stem = name.removesuffix(".log")
        for kind, data in (
            ("offset_index", made.offset_index),
            ("time_index", made.time_index),
            ("transaction_index", made.transaction_index),
        ):
            if data or kind != "transaction_index":
                self._bytes(stem + SEGMENT_SUFFIX[kind], data)

    def _snapshot(self, offset: int) -> None:
        if offset <= self._plan.log_start_offset:  # a broker deletes such a one at its start
            return
        name = f"{offset:020d}.snapshot"
        if self._producers is not None and not os.path.exists(os.path.join(self._directory, name)):
            self._bytes(name, self._producers.snapshot())

    def _bytes(self, name: str, data: bytes) -> None:
        self._file(name, from_bytes(data, name), None)

    def _file(self, name: str, content: Evidence, mtime_ns: int | None) -> None:
        write_new_file(self._directory, name, content, mtime_ns)


def write_new_file(directory: str, name: str, content: Evidence, mtime_ns: int | None = None) -> None:
    """Write one file that is not there yet, flushed. Raises Refused."""
    with refusing(os.path.join(directory, name)):
        place = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            write_file(place, name, content, state_for_new_file(place, None), mtime_ns=mtime_ns)
        finally:
            os.close(place)


def _joined(pieces: Sequence[Piece], name: str, stack: ExitStack) -> tuple[Evidence, int | None]:
    """The pieces as one file, and the latest modification time of those that they come from."""
    opened: dict[str, Evidence] = {}
    for piece in pieces:
        if piece.path not in opened:
            opened[piece.path] = stack.enter_context(open_evidence(piece.path))
    content = Joined(name, *((opened[piece.path], piece.start, piece.end) for piece in pieces))
    return content, max((evidence.mtime_ns for evidence in opened.values()), default=None)


def _producers_before(plan: PartitionPlan, base_offset: int) -> list[ProducerState]:
    """The producers at the first offset, where a log does not begin with 0: by a snapshot of a replica."""
    if base_offset == 0:
        return []
    for directory in plan.recoverable.directories:
        path = os.path.join(directory.directory, f"{base_offset:020d}.snapshot")
        if any(file.path == path for file in directory.files):
            try:
                snapshot = parse_snapshot(read_file(path))
            except (KidxError, WrongFormat):
                continue
            if snapshot.crc_ok:
                return snapshot.producers
    return []


def _controller_files(own: Partition) -> Iterator[tuple[str, bytes]]:
    """A controller's own files, those that are sound: its vote, and the snapshots of the metadata log."""
    for file in own.files:
        try:
            if file.kind == "quorum_state":
                parse_quorum_state(data := read_file(file.path))
            elif file.kind == METADATA_SNAPSHOT and not file.name.state:
                with file.open() as snapshot:
                    windows = scan(snapshot)
                    if any(window.bad_crc for window in windows) or windows.position != snapshot.size:
                        continue
                    data = snapshot.read_all(_SNAPSHOT_BYTES)
            else:
                continue
        except KidxError:
            continue
        yield os.path.basename(file.path), data
