"""Check one directory: the function that `kidx verify` calls for each directory and the Spark scan in each task.

It returns findings and coverage, prints nothing and sets no exit status.
"""

from __future__ import annotations

import os
import time
from functools import cached_property, partial

from kidx.checks.engine.discovery import findings_about
from kidx.checks.engine.history import check_history
from kidx.checks.engine.index_file import check_lone_index
from kidx.checks.engine.options import DEEP, Options
from kidx.checks.engine.partition_context import PartitionContext
from kidx.checks.engine.producer_history import ProducerHistory
from kidx.checks.engine.remote import RemoteDirectoryCheck, holds_copies
from kidx.checks.engine.result import CheckResult
from kidx.checks.engine.segment import check_segment
from kidx.checks.engine.small_files import SMALL_KINDS, SmallFiles
from kidx.checks.engine.targets import Target
from kidx.checks.subjects.log_dirs import LogDirs
from kidx.checks.subjects.logs import LogFacts
from kidx.checks.subjects.partitions import CheckedSegment, CheckedSegments, Listing, LogStart
from kidx.errors import CannotRead, UsageError
from kidx.evidence import is_directory, list_directory, must_exist, system_failures
from kidx.findings import NOT_HELD, NOTE, limited
from kidx.formats.object_names import parse_object_name
from kidx.logdir.log_dir import INDEX_CACHE, LOG_STARTS, PARTITION
from kidx.logdir.names import (
    INDEX_OF_KIND,
    LOG,
    METADATA_SNAPSHOT,
    PRODUCER_SNAPSHOT,
    FileName,
    base_offset_of,
    parse_file_name,
)
from kidx.logdir.tree import DataFile, Partition, Segment
from kidx.tiered.metadata import TOPIC as REMOTE_LOG_METADATA
from kidx.tiered.objects import copies_in

FUTURE_MS = 86_400_000  # a timestamp further ahead than a day comes from no clock that is merely wrong
_COMPACTED_TOPICS = ("__consumer_offsets", "__transaction_state", "__share_group_state")
_MARKS = ("clean_shutdown_mark", "lock")  # nothing is in them to check


def check_target(target: Target, options: Options, log_dirs: LogDirs | None = None) -> CheckResult:
    """Check the target of a path argument. No file content raises; what cannot be read is in `unread`.

    `log_dirs` are those of the run, so that each is listed once.
    """
    with system_failures() as failures:
        done = _check_target(target, options, log_dirs or LogDirs())
    done.failed(failures)
    return done


def _check_target(target: Target, options: Options, log_dirs: LogDirs) -> CheckResult:
    try:
        partition = Partition(target.directory, list_directory(target.directory or "."))
    except CannotRead as e:
        if target.names is None:
            done = CheckResult()
            done.cannot(target.directory, str(e))
            return done
        partition = Partition(target.directory, [])  # its files may be readable all the same
    return _check_partition(partition, options, log_dirs, target.names)


def _check_partition(
    partition: Partition, options: Options, log_dirs: LogDirs, names: dict[str, str] | None
) -> CheckResult:
    """Check a directory's files, or those of `names` (file name: path as given), with the other files as context."""
    if holds_copies(partition):
        done = _remote(partition, options, log_dirs, names)
    elif names is not None:
        done = _only(partition, options, log_dirs, names)
    else:
        done = _PartitionCheck(partition, options, log_dirs).everything()
    done.findings = [f for f in done.findings if options.wants(f)]
    if partition.name is not None and partition.name.state == "delete":  # a broker reads nothing of it any more
        done.findings = [f._replace(severity=NOTE) for f in done.findings]
    return done


def _remote(partition: Partition, options: Options, log_dirs: LogDirs, names: dict[str, str] | None) -> CheckResult:
    """Check the copies of segments in a directory of a tier, or those that `names` belong to.

    An object that is asked for by name stands for its copy: its bytes mean something only together with the others.
    """
    done = CheckResult()
    wanted = None if names is None else {parse_object_name(name) for name in names}
    entries = list_directory(partition.directory or ".")
    copies = [
        copy
        for copy in copies_in(partition.directory, entries)
        if wanted is None or any(name and name.segment_id == copy.segment_id for name in wanted)
    ]
    if names is not None and (others := {n: p for n, p in names.items() if parse_object_name(n) is None}):
        done.add(_only(partition, options, log_dirs, others))
    remote = RemoteDirectoryCheck(partition.directory, copies, options, done)
    segments: list[CheckedSegment] = []
    for part in remote.partitions():
        check = _PartitionCheck(part, options, log_dirs)
        done.add(check.everything())
        segments += check.segments
    remote.finish(segments)
    return done


def _only(partition: Partition, options: Options, log_dirs: LogDirs, names: dict[str, str]) -> CheckResult:
    """Check some files of a directory: their segments are checked, and the findings about these files are kept."""
    done = CheckResult()
    known = {os.path.basename(file.path): file for file in partition.files}
    for name, path in names.items():
        file = known.get(name)
        if file is None:
            parsed = parse_file_name(name) or (FileName(options.kind, None, "") if options.kind else None)
            if parsed is None:
                done.cannot(path, _unknown(path))
                continue
            file = DataFile(path, parsed)
        part = _PartitionCheck(partition, options, log_dirs, path).one(DataFile(path, file.name))
        part.findings = [f for f in part.findings if f.file == path]
        done.add(part)
    return done


class _PartitionCheck:
    """The checks of one directory: first the files that others are compared with, then segment after segment."""

    def __init__(self, partition: Partition, options: Options, log_dirs: LogDirs, only: str | None = None) -> None:
        self.partition, self.options = partition, options
        self.context = PartitionContext(partition, log_dirs)
        self.done = CheckResult(only=only)
        self.small_files = SmallFiles(options, self.done)
        self.segments: list[CheckedSegment] = []
        self.compacted = self._has_a_cleaner()  # or a log turns out to have been compacted: missing offsets are no loss

    def everything(self) -> CheckResult:
        """Check every file. If the system fails, the findings and coverage up to then are kept."""
        try:
            self._everything()
        except CannotRead as e:
            self.done.cannot(self.partition.directory, str(e))
        return self.done

    def _everything(self) -> None:
        if not self.partition.files:
            store = is_directory(os.path.join(self.partition.directory, "commitlog"))
            hint = "; RocketMQ's are: kidx rocketmq verify" if store else ""
            self.done.skip(self.partition.directory, f"none of Kafka's data files is in it{hint}")
        for file in self.partition.files:
            if file.kind in SMALL_KINDS:
                self.small_files.check(file)
            elif file.name.base_offset is None and file.kind not in _MARKS:
                self._loose(file)
        for segment in self.partition.all_segments:
            if any(kind in segment.files for kind in (*INDEX_OF_KIND, LOG, METADATA_SNAPSHOT)):
                self._segment(segment)
        self._between_segments()
        self.done.findings += check_history(
            self._living(),
            self.small_files.snapshots,
            self._producers,
            compacted=self.compacted,
            live=self.options.live,
            partition=self.partition,
            log_dirs=self.context.log_dirs,
        )
        self.done.findings += limited(findings_about(Listing(self.partition, self.options.live, self.context.witness)))
        self.done.findings += limited(findings_about(self._log_start()))

    def one(self, file: DataFile) -> CheckResult:
        """Check one file, with the others of its segment."""
        try:
            self._one(file)
        except CannotRead as e:
            self.done.cannot(file.path, str(e))
        return self.done

    def _one(self, file: DataFile) -> None:
        if file.kind in SMALL_KINDS:
            self.small_files.check(file)
            if file.kind in (PRODUCER_SNAPSHOT, "leader_epochs"):
                self.done.skip(file.path, f"asked for alone, so it was {NOT_HELD} the log; name its directory")
        elif file.kind in _MARKS:
            self.done.skip(file.path, "it is a mark; nothing is in it to check")
        elif file.name.base_offset is None:
            self._loose(file)
        else:
            key = (file.name.base_offset, file.name.state, file.name.tag)
            siblings = (s for s in self.partition.all_segments if (s.base_offset, s.state, s.tag) == key)
            segment = next(siblings, None) or Segment(self.partition.directory, *key)
            segment.files[file.kind] = file
            self._segment(segment)
            self._between_segments()

    def _loose(self, file: DataFile) -> None:
        """A file of a segment whose name has no base offset."""
        base = 0 if file.kind == METADATA_SNAPSHOT else self.options.base_offset
        if base is None:
            self.done.cannot(file.path, _without_base(file.path))
        elif file.kind in INDEX_OF_KIND:
            check_lone_index(file, self.context.index_facts(file, self.options), self.options, self.done)
        else:
            segment = Segment(self.partition.directory, base, file.name.state)
            segment.files[file.kind] = file
            self._segment(segment)

    def _segment(self, segment: Segment) -> None:
        file = segment.file(LOG)
        next_base = None if file is None or segment.state else self.context.next_base_offset(segment.base_offset)
        # The batches of a KRaft snapshot were written when it was made, in the epoch of that time.
        epochs = self.small_files.epochs if file is not None and not segment.state else []
        facts = LogFacts(
            base_offset=segment.base_offset if file is not None else 0,  # a KRaft snapshot's records start at 0
            next_base_offset=next_base,
            epochs=tuple(zip(*epochs, strict=True)) if epochs else (),
            wanted=self.small_files.last_offsets(segment.base_offset, next_base),
            snapshots=self.small_files.named_producers(segment.base_offset, next_base),
            producers=self.small_files.producer_ids,
            future_ms=int(time.time() * 1000) + FUTURE_MS,
            deep=self.options.level == DEEP,
        )
        checked = check_segment(segment, self.context, self.options, facts, self.done)
        self.segments.append(checked)
        if checked.log is not None:
            self.compacted |= checked.log.compacted
        if file is not None and not segment.state:
            self._producers.take(file.path, segment.base_offset, checked.log, compacted=self.compacted)

    @cached_property
    def _producers(self) -> ProducerHistory:
        return ProducerHistory(self.small_files.named_producers(), self.small_files.producer_ids)

    def _has_a_cleaner(self) -> bool:
        """Whether a cleaner has been at work here, as far as is known without reading the logs."""
        name = self.partition.name
        if name is None:
            return False
        return name.topic in _COMPACTED_TOPICS or name[:2] in self.context.log_dirs.cleaned_to(self.partition)

    def _living(self) -> list[CheckedSegment]:
        return [s for s in self.segments if s.is_living]

    def _log_start(self) -> LogStart:
        witness, name = self.context.witness, self.partition.name
        start = None
        if witness is not None and name is not None and not name.state:
            start = witness.log_dir.checkpoint(LOG_STARTS).offsets.get(name[:2])
        log_start = LogStart(self.partition.directory, start, self._living(), self.context.clean_start)
        first = next((s.segment.base_offset for s in log_start.living), 0)
        if start is None or start >= first or not self._may_be_tiered():
            return log_start
        if not self.options.remote:
            why = f"offsets {start} to {first - 1} are in the remote tier, which was not checked; --remote names it"
            self.done.skip(self.partition.directory, why)
        return log_start._replace(tiered=True)

    def _may_be_tiered(self) -> bool:
        """Whether the topic has tiered storage; where its settings are not at hand, whether the log dir has."""
        setting = self.context.log_dirs.setting_of(self.partition, "remote.storage.enable")
        witness = self.context.witness
        if setting is not None or witness is None:
            return setting == "true"
        names = {entry.partition.topic for entry in witness.log_dir.of_kind(PARTITION) if entry.partition}
        return bool(witness.log_dir.of_kind(INDEX_CACHE)) or REMOTE_LOG_METADATA in names

    def _between_segments(self) -> None:
        setting = partial(self.context.log_dirs.setting_of, self.partition)
        segments = CheckedSegments(self.segments, self.compacted, self._producers.breaks, setting)
        self.done.findings += limited(findings_about(segments))


def _unknown(path: str) -> str:
    """Why a file that was given by name is not checked."""
    return _if_there(path) or f"{path}: none of Kafka's data files by its name, so not checked; --kind says what it is"


def _without_base(path: str) -> str:
    """Why a file with a kind is not checked."""
    try:
        base_offset_of(path)
    except UsageError as e:
        return _if_there(path) or str(e)
    raise AssertionError(f"{path} has a base offset")


def _if_there(path: str) -> str:
    """What is wrong with a path regardless of its name, or an empty text."""
    try:
        must_exist(path)
    except CannotRead as e:
        return str(e)
    return ""
