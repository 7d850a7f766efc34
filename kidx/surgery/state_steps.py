"""The steps that rebuild leader epochs, producer snapshots and checkpoints. Nothing is written here."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from kidx.errors import CannotRead, KidxError
from kidx.evidence import absolute, from_bytes, is_directory
from kidx.logdir import Cluster, LogDir
from kidx.logdir.names import LOG
from kidx.logdir.tree import Partition, partitions_below
from kidx.surgery.journal import is_of_log_dir, new_run
from kidx.surgery.output import refuse_place
from kidx.surgery.replace import Change, carry_out, create_apart, open_current
from kidx.surgery.state_files import (
    CHECKPOINTS,
    RebuiltState,
    checkpoint_is_sound,
    is_sound,
    is_state_file,
    log_dirs_below,
    rebuild_checkpoints,
    rebuild_state,
)
from kidx.surgery.steps import SOUND, Step


class StateSteps:
    """The steps for the state files at or below some paths.

    They are written below `output`, or in place where it is None; then sound ones stay as they are unless `every`.
    What cannot be rebuilt does not stop the others: its error is passed to `on_failure`.
    """

    def __init__(
        self,
        output: str | None,
        on_failure: Callable[[KidxError], None],
        cluster_of: Callable[[list[LogDir]], Cluster],
        *,
        every: bool,
        now_ms: int | None = None,
    ) -> None:
        self._output, self._on_failure, self._cluster_of, self._every = output, on_failure, cluster_of, every
        self._now_ms = time.time_ns() // 1_000_000 if now_ms is None else now_ms
        self._run = new_run()
        self._states: dict[str, RebuiltState | None] = {}  # by directory

    def steps(self, paths: Iterable[str], *, below_directories: bool) -> Iterator[Step]:
        """The steps for each path: a state file, a partition, or a tree with log dirs. Other files are passed over."""
        for path in paths:
            try:
                if is_directory(path):
                    yield from self._below(path) if below_directories else ()
                elif not is_state_file(path):
                    continue
                elif is_of_log_dir(path):
                    yield from self._checkpoints(LogDir(os.path.dirname(path) or "."), "", os.path.basename(path))
                else:
                    directory = os.path.dirname(path) or "."
                    below = os.path.basename(absolute(directory))
                    yield from self._partition(Partition(directory), below, os.path.basename(path))
            except KidxError as e:
                self._on_failure(e)

    def _below(self, path: str) -> Iterator[Step]:
        for partition in partitions_below(path):
            inside = os.path.relpath(partition.directory, path)
            below = os.path.basename(absolute(path)) if inside == "." else inside
            yield from self._partition(partition, below, None)
        for log_dir in log_dirs_below(path):
            yield from self._checkpoints(log_dir, os.path.relpath(log_dir.directory, path), None)

    def _partition(self, partition: Partition, below: str, only: str | None) -> Iterator[Step]:
        state = self._state(partition)
        if state is None:
            return
        if only is not None and only not in state.files:
            raise CannotRead(f"{os.path.join(partition.directory, only)}: a broker's recovery leaves no such snapshot")
        log = partition.segments[0].files[LOG].path
        for name, data in state.files.items():
            if only in (None, name):
                path = os.path.join(partition.directory, name)
                yield self._step(path, below, data, is_sound(path, data), log, state.said)

    def _checkpoints(self, log_dir: LogDir, below: str, only: str | None) -> Iterator[Step]:
        states = [self._state(partition) for partition in log_dir.partitions]
        known = [state for state in states if state is not None]
        cluster = self._cluster_of([log_dir])
        names = CHECKPOINTS if only is None else (only,)
        for name, data in rebuild_checkpoints(log_dir, known, cluster, names):
            sound = checkpoint_is_sound(name, log_dir, data)
            yield self._step(os.path.join(log_dir.directory, name), below, data, sound, None, "")

    def _state(self, partition: Partition) -> RebuiltState | None:
        """A partition's state, worked out once; None where it cannot be."""
        if partition.directory not in self._states:
            self._states[partition.directory] = None
            try:
                self._states[partition.directory] = rebuild_state(partition, self._now_ms)
            except KidxError as e:
                self._on_failure(e)
        return self._states[partition.directory]

    def _step(self, path: str, below: str, data: bytes, sound: bool, like: str | None, said: str) -> Step:
        if self._output is not None:
            refuse_place(self._output, [os.path.dirname(path) or "."])
            target = os.path.normpath(os.path.join(self._output, below, os.path.basename(path)))
            content = from_bytes(data, target)
            return Step(Change(target, "rebuild", None, content), None, partial(create_apart, target, content), said)
        before = open_current(path)
        keep = before is not None and sound and not self._every
        change = Change(path, "rebuild", before, before if keep else from_bytes(data, path))
        note = "; ".join(filter(None, (said, SOUND if keep else "")))
        return Step(change, None, partial(carry_out, change, self._run, like=like), note)
