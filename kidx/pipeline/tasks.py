"""The function that runs in Spark tasks: it checks units as `kidx verify` does.

Index entries and batches never pass through the JVM; only results do, which are few and small.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from typing import Any

import pyarrow as pa

from kidx.checks.engine.options import Options
from kidx.checks.engine.partition import check_target
from kidx.checks.engine.result import CheckResult
from kidx.checks.engine.run import unreadable
from kidx.checks.engine.targets import Target
from kidx.checks.subjects.log_dirs import LogDirs
from kidx.errors import KidxError
from kidx.evidence import list_directory
from kidx.execution import forked
from kidx.formats.compression import inflation_budget
from kidx.logdir.tree import Partition
from kidx.pipeline.consumer_groups import contents_of
from kidx.pipeline.frames import Row, TaskFunction, from_arrow_text
from kidx.pipeline.replicas import bucket_sums, identity_of
from kidx.pipeline.results import RESULT, result_row
from kidx.pipeline.runs import Journal
from kidx.pipeline.segment_facts import segment_facts


class CheckUnits(TaskFunction):
    """The function of the tasks that check: rows of listing.UNIT in, rows of RESULT out, which are also `stored`.

    Spark repeats a task whose process died. Then every unit gets a process of its own, and only the one that dies again
    is not checked.
    """

    def __init__(self, options: Options, now_ms: int, stored: Journal | None = None) -> None:
        super().__init__(RESULT)
        self.options, self.now_ms, self.stored = options, now_ms, stored

    def rows(self, sent: Iterator[Row]) -> Iterator[Row]:
        log_dirs, repeated = LogDirs(), _attempt() > 0
        with ExitStack() as listings:
            known: set[str] = set()
            for unit in sent:
                if unit["listing"] is not None:
                    _list_above(unit, known, listings)
                yield self.alone(unit, log_dirs) if repeated else self.check(unit, log_dirs)

    def batch(self, rows: Sequence[Row]) -> pa.RecordBatch:
        made = super().batch(rows)
        if self.stored is not None:
            self.stored.write(made)
        return made

    def check(self, unit: Row, log_dirs: LogDirs) -> Row:
        """Check one unit."""
        return check_unit(unit, self.options, log_dirs, self.now_ms)

    def alone(self, unit: Row, log_dirs: LogDirs) -> Row:
        """Check one unit in a process of its own."""
        try:
            with forked(lambda one: self.check(one, log_dirs), [unit], 1) as results:
                return next(row for _, row in results)
        except KidxError:
            why = "the process that checked it was killed twice (out of memory?)"
            return result_row(unit, not_checked(from_arrow_text(unit["directory"]), why))


def _list_above(unit: Row, known: set[str], listings: ExitStack) -> None:
    """List the directory above a unit in a store, and a log dir itself, once for all units of a task."""
    from kidx.evidence.remote import known_listings, list_remote

    path = from_arrow_text(unit["path"])
    for directory in {os.path.dirname(path), path} if unit["log_dir"] else {os.path.dirname(path)}:
        if directory not in known:
            known.add(directory)
            with suppress(KidxError):  # what needs it reports it
                listings.enter_context(known_listings({directory: list_remote(directory)}))


def _as_listed(unit: Row) -> AbstractContextManager[None]:
    """A context in which the sizes and times of a unit's files are those of the listing, if it is in a store."""
    if unit["listing"] is None or unit["log_dir"]:
        return nullcontext()
    from kidx.evidence.remote import RemoteEntry, known_listings

    path = from_arrow_text(unit["path"])
    entries = [RemoteEntry(path, n, size, mtime, is_dir=d) for n, size, mtime, d in json.loads(unit["listing"])]
    return known_listings({path: entries})


def _attempt() -> int:
    from pyspark import TaskContext

    context = TaskContext.get()
    return 0 if context is None else int(context.attemptNumber())


def check_unit(unit: Row, options: Options, log_dirs: LogDirs, now_ms: int) -> Row:
    """Check one unit. Neither the contents of a file nor a bug of kidx may end the job for the other units."""
    if unit["unlisted"] is not None:
        return result_row(unit, unreadable(from_arrow_text(unit["unlisted"])))
    directory, names = from_arrow_text(unit["path"]), json.loads(unit["names"] or "null")
    given_as = from_arrow_text(unit["directory"])
    paths = [(directory, given_as)]
    if given_as not in ("", ".") and "/" in given_as.strip("/"):  # the log dir, whose checkpoint a finding may name
        paths.append((os.path.dirname(directory), os.path.dirname(given_as)))
    if names is not None:
        paths = [(there, given) for given, there in names.values()] + paths
        names = {name: there for name, (_, there) in names.items()}
    with inflation_budget(options.max_inflate_bytes), _as_listed(unit):  # a unit's budget: executors share none
        row = _checked(Target(directory, names), unit, options, log_dirs, now_ms)
    shown = ("skipped", "findings", "unread")
    return row | {name: as_given(row[name], paths) for name in shown}


def _checked(target: Target, unit: Row, options: Options, log_dirs: LogDirs, now_ms: int) -> Row:
    try:
        checked = check_target(target, options, log_dirs)
        if target.names is not None:
            return result_row(unit, checked)
        partition = Partition(target.directory, list_directory(target.directory))
        sums = bucket_sums(partition) if unit["compared"] else None
        witness = log_dirs.witness_of(partition)
        log_dir = None if witness is None else witness.log_dir
        identity = identity_of(partition, log_dir, sparse=sums is not None and sums.sparse)
        facts = list(segment_facts(partition))
        return result_row(unit, checked, facts, sums.buckets if sums else (), contents_of(partition), identity, now_ms)
    except KidxError as e:
        return result_row(unit, unreadable(str(e)))
    except Exception as e:
        return result_row(unit, not_checked(target.directory, f"a bug in kidx itself: {type(e).__name__}: {e}"))


def as_given(value: Any, paths: Sequence[tuple[str, str]]) -> Any:
    """A value with the absolute paths in its texts replaced by those that the user gave."""
    if isinstance(value, str):
        for there, given in paths:
            if there != given:
                value = value.replace(there, given) if given else value.replace(f"{there}/", "")
        return value
    if isinstance(value, list):
        return [as_given(item, paths) for item in value]
    if isinstance(value, dict):
        return {name: as_given(item, paths) for name, item in value.items()}
    return value


def not_checked(directory: str, why: str) -> CheckResult:
    """The result of a unit that could not be checked at all."""
    return unreadable(f"{directory}: nothing in it was checked: {why}")
