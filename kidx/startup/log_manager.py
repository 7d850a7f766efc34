"""All log dirs of one broker at a start. Source: kafka.log.LogManager, ReplicaManager, KafkaRaftServer."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from kidx.errors import CannotRead
from kidx.evidence import exists, file_size, list_directory, read_file, system_failures
from kidx.formats.indexes import DEFAULT_INDEX_INTERVAL_BYTES
from kidx.logdir import Cluster, LogDir
from kidx.logdir.cluster import Assignment, ClusterMetadata
from kidx.logdir.log_dir import (
    CLEAN_SHUTDOWN_MARK,
    CLEANED_TO,
    HIGH_WATERMARKS,
    INDEX_CACHE,
    LOG_STARTS,
    METADATA_TOPIC,
    PARTITION_METADATA,
    RECOVERY_POINTS,
)
from kidx.startup import identity, metadata_log
from kidx.startup.behaviours import BEHAVIOURS
from kidx.startup.checkpoint_file import CheckpointContent, read_checkpoint
from kidx.startup.kafka_names import DELETE, FUTURE, STRAY, partition_of
from kidx.startup.log_loader import LoadedLog, LogSettings, load_log
from kidx.startup.outcome import CREATE as CREATE_ACTION
from kidx.startup.outcome import DELETE as DELETE_ACTION
from kidx.startup.outcome import (
    IGNORE,
    OFFLINE,
    REFUSE,
    RENAME,
    TRUNCATE,
    Action,
    BrokerRefuses,
    LogDirFails,
    PartitionStart,
    Prediction,
    StartFailure,
)
from kidx.startup.versions import BrokerVersion, nearest_version

_BOOTSTRAP = "bootstrap.checkpoint"
_ZERO_ID = "AAAAAAAAAAAAAAAAAAAAAA"
_UNIQUE = "<uuid>"


class _Replica(NamedTuple):
    """A loaded directory: what its name says, its topic id, and the log."""

    directory: str
    name: str
    topic: str
    partition: int
    state: str
    topic_id: str | None
    log: LoadedLog


def predict(log_dirs: Sequence[str], version: str) -> Prediction:
    """What a broker of that version (or the nearest known) does when it starts on all these log dirs.

    Raises UsageError for a version that is none, CannotRead for a log dir that cannot be listed.
    """
    with system_failures() as failures:
        prediction = _Start(log_dirs, nearest_version(version)).run()
    return prediction._replace(unread=tuple(dict.fromkeys((*prediction.unread, *failures))))


class _Start:
    def __init__(self, log_dirs: Sequence[str], version: BrokerVersion) -> None:
        self.version = version
        self.offline: list[str] = []
        self.actions: list[Action] = []
        self.partitions: list[PartitionStart] = []
        self.replicas: list[_Replica] = []
        self.unread: list[str] = []
        self.remarks: list[str] = []
        self.failures: list[StartFailure] = []
        self.metadata: ClusterMetadata | None = None
        self.flushed: dict[
            tuple[str, int], tuple[str, int]
        ] = {}  # log dir and records of its checkpoints, by partition
        self.all_dirs = list(log_dirs)
        self.log_dirs = [LogDir(path) for path in log_dirs if identity.is_log_dir(path)]
        for path in log_dirs:
            if path not in {d.directory for d in self.log_dirs}:
                self._take_offline(
                    path,
                    LogDirFails(
                        BEHAVIOURS["log-dir-is-no-directory"],
                        f"java.nio.file.FileSystemException: {path}: Not a directory",
                        path,
                    ),
                )
        for log_dir in self.log_dirs:
            _ = log_dir.entries

    def run(self) -> Prediction:
        """The start, step by step; a failure that ends the broker ends it here, too."""
        try:
            self._start()
        except BrokerRefuses as e:
            self.failures.insert(0, e)
        refusals = [f for f in self.failures if isinstance(f, BrokerRefuses)]
        reason = None
        if refusals:
            reason = refusals[0].message
            for refusal in refusals:
                where = self._log_dir_of(refusal.file)
                self.actions.append(Action(REFUSE, refusal.behaviour, refusal.message, where, file=refusal.file))
        elif len(self.offline) == len(self.all_dirs):
            first = next(f for f in self.failures if isinstance(f, LogDirFails))
            reason = f"Shutdown broker because all log dirs in {', '.join(self.offline)} have failed: {first.message}"
            self.actions.append(Action(REFUSE, first.behaviour, reason, self.all_dirs[0], file=first.file))
        return Prediction(
            self.version.name,
            reason is None,
            reason,
            () if reason is not None else tuple(self.offline),
            tuple(self.partitions),
            tuple(self.actions),
            tuple(self.unread),
            tuple(self.remarks),
        )

    def _start(self) -> None:
        meta = identity.read_meta_properties(self.log_dirs, self.version)
        if self.version.kraft:
            self._start_metadata(meta)
        self._check_names()
        for log_dir in self.log_dirs:
            self._load(log_dir)
        if any(isinstance(f, BrokerRefuses) for f in self.failures):
            return
        self._sort_out_replicas()
        if self.version.kraft and self.metadata is not None:
            self._note_unknown_directories(meta)
        self._read_later_checkpoints()

    # ---- metadata

    def _start_metadata(self, meta: Sequence[identity.MetaProperties]) -> None:
        homes = [d for d in self.log_dirs if d.metadata_partition is not None]
        if len(homes) > 1:
            path = os.path.join(homes[1].directory, metadata_log.NAME)
            message = (
                f"org.apache.kafka.common.KafkaException: Found unexpected metadata location in data directory `{path}`"
            )
            raise BrokerRefuses(BEHAVIOURS["metadata-elsewhere"], message, path)
        if homes:
            started = metadata_log.start_metadata_log(homes[0], self.version)
            self._add(started.log)
            nothing_known = started.metadata.problems and not started.metadata.topics
            self.metadata = None if nothing_known else started.metadata
            for problem in started.metadata.problems:
                self.remarks.append(f"{problem.path}: {problem.why}")
            identity.check_node(meta, started.metadata, started.voters)
        elif any(entry.name == _BOOTSTRAP for d in self.log_dirs for entry in d.entries):
            home = next(d for d in self.log_dirs if any(e.name == _BOOTSTRAP for e in d.entries))
            self.metadata = ClusterMetadata(home.directory)
            why = "the node begins an empty cluster, in which no partition is known"
            path = os.path.join(home.directory, metadata_log.NAME)
            self.actions.append(
                Action(CREATE_ACTION, BEHAVIOURS["metadata-missing"], why, home.directory, metadata_log.NAME, file=path)
            )
            self.remarks.append("the metadata log is missing; a broker with controllers elsewhere gets it from them")
        else:
            self.remarks.append("no log dir given holds the cluster's metadata: stray partitions cannot be told")

    def _note_unknown_directories(self, meta: Sequence[identity.MetaProperties]) -> None:
        assert self.metadata is not None
        for each in identity.unknown_to_metadata(meta, self.metadata):
            why = "the metadata knows this log dir by another directory.id: its partitions get no leader"
            self.actions.append(Action(OFFLINE, BEHAVIOURS["meta-other-directory"], why, each.log_dir))
        node = meta[0].node_id
        registered = self.metadata.brokers.get(node if node is not None else -1, ())
        if len(registered) > len(self.all_dirs):
            self.remarks.append(
                f"broker {node} has {len(registered)} log dirs, and {len(self.all_dirs)} were given; give all of them"
            )

    # ---- log dirs

    def _check_names(self) -> None:
        """LogManager.loadLogs looks at the names of a log dir's directories before it loads one of them."""
        for log_dir in self.log_dirs:
            for name in _directories(log_dir):
                try:
                    partition_of(name, log_dir.directory, stray_is_known=self.version.finds_strays)
                except BrokerRefuses:
                    if self.version.kraft:
                        self._use_up_mark(log_dir)
                    raise

    def _use_up_mark(self, log_dir: LogDir) -> bool:
        mark = next((entry for entry in log_dir.entries if entry.name == CLEAN_SHUTDOWN_MARK), None)
        if mark is None:
            return False
        why = "deleted; no log of this log dir is recovered"
        self.actions.append(Action(DELETE_ACTION, BEHAVIOURS["clean-mark"], why, log_dir.directory, file=mark.path))
        return True

    def _load(self, log_dir: LogDir) -> None:
        clean = self._use_up_mark(log_dir)
        if not clean:
            why = "no mark of a clean stop: its logs are recovered from their recovery points on"
            self.actions.append(Action(IGNORE, BEHAVIOURS["no-clean-mark"], why, log_dir.directory))
        try:
            recovery_points = self._checkpoint(log_dir, RECOVERY_POINTS, "recovery-points-absent", needed=not clean)
            log_starts = self._checkpoint(log_dir, LOG_STARTS, "log-starts-absent", needed=True)
        except LogDirFails as e:
            self._take_offline(log_dir.directory, e)
            return
        for flushed, offset in recovery_points.items():
            self.flushed[flushed] = log_dir.directory, max(0, offset - log_starts.get(flushed, 0))
        cluster = Cluster([log_dir], lambda _: self.metadata or ClusterMetadata(log_dir.directory))
        intervals: dict[str, int] = {}
        loaded: list[_Replica] = []
        for name in _directories(log_dir):
            topic, partition, state = partition_of(name, log_dir.directory, stray_is_known=self.version.finds_strays)
            if topic == METADATA_TOPIC:
                continue
            if topic not in intervals:
                setting = cluster.number(topic, "index.interval.bytes") if self.metadata is not None else None
                intervals[topic] = DEFAULT_INDEX_INTERVAL_BYTES if setting is None else setting
            key = (topic, partition)
            settings = LogSettings(
                clean, recovery_points.get(key, 0), log_starts.get(key, 0), intervals[topic], state == DELETE
            )
            try:
                loaded.append(self._load_partition(log_dir.directory, name, (topic, partition, state), settings))
            except LogDirFails as e:
                self._take_offline(log_dir.directory, e)
                return
            except BrokerRefuses as e:
                self.failures.append(e)
            except CannotRead as e:
                self.unread.append(str(e))
        self.replicas += loaded

    def _load_partition(self, log_dir: str, name: str, key: tuple[str, int, str], settings: LogSettings) -> _Replica:
        directory = os.path.join(log_dir, name)
        entries = list_directory(directory)
        names = {entry.name for entry in entries}
        if metadata_log.LEADER_EPOCHS in names:
            self._check_leader_epochs(os.path.join(directory, metadata_log.LEADER_EPOCHS))
        log = load_log(log_dir, name, entries, settings, self.version)
        topic_id = None
        if PARTITION_METADATA in names:
            topic_id = self._topic_id(os.path.join(directory, PARTITION_METADATA))
        return _Replica(log_dir, name, *key, topic_id, log)

    def _check_leader_epochs(self, path: str) -> None:
        content = self._read_checkpoint(path, 0)
        if content.io_error:
            if content.io_error.startswith("java.io.IOException: Malformed") and self.version.malformed_is_io_error:
                raise BrokerRefuses(BEHAVIOURS["leader-epochs-malformed"], content.io_error, path)
            raise LogDirFails(BEHAVIOURS["leader-epochs-unreadable"], content.io_error, path)
        if content.number_error:
            raise BrokerRefuses(BEHAVIOURS["leader-epochs-malformed"], content.number_error, path)

    def _topic_id(self, path: str) -> str | None:
        """PartitionMetadataFile.read: a version of at least 0, and the id."""
        lines = [*read_file(path).decode("utf-8", "replace").splitlines(), None, None]
        for at, line in enumerate(lines[:2]):
            if line is None:
                message = f"java.lang.NullPointerException: {path} has {at} lines"
                raise BrokerRefuses(BEHAVIOURS["partition-metadata-empty"], message, path)
            _, colon, value = line.partition(": ")
            if not colon or (at == 0 and not value.strip().isdecimal()):
                message = f"java.io.IOException: Malformed line in checkpoint file [{path}]: {line}"
                raise self._metadata_failure(message, path)
            topic_id = value.strip()
        if topic_id == _ZERO_ID:
            message = f"java.io.IOException: Invalid topic ID in partition metadata file ({path})"
            raise self._metadata_failure(message, path)
        return topic_id

    def _metadata_failure(self, message: str, path: str) -> StartFailure:
        """2.8 lets the storage exception end the broker."""
        kind = LogDirFails if self.version.kraft else BrokerRefuses
        return kind(BEHAVIOURS["partition-metadata-unreadable"], message, path)

    def _checkpoint(self, log_dir: LogDir, name: str, absent: str, *, needed: bool) -> dict[tuple[str, int], int]:
        path = os.path.join(log_dir.directory, name)
        if not any(entry.name == name for entry in log_dir.entries):
            if needed:
                why = f"{name} is missing: as if every offset in it were 0"
                self.actions.append(Action(IGNORE, BEHAVIOURS[absent], why, log_dir.directory, file=path))
            return {}
        content = self._read_checkpoint(path, 1)
        if content.io_error:
            raise LogDirFails(BEHAVIOURS["checkpoint-unreadable"], content.io_error, path)
        if content.number_error:
            why = f"{content.number_error}: the file counts as absent"
            self.actions.append(Action(IGNORE, BEHAVIOURS["checkpoint-ignored"], why, log_dir.directory, file=path))
        return {(topic, int(partition)): int(offset) for topic, partition, offset in content.rows}

    def _read_checkpoint(self, path: str, numbers_from: int) -> CheckpointContent:
        data = read_file(path)
        return read_checkpoint(data, path, numbers_from, malformed_is_io_error=self.version.malformed_is_io_error)

    def _read_later_checkpoints(self) -> None:
        """The high watermarks are read when replicas get a role, the cleaner's points when the cleaner looks."""
        for log_dir in self.log_dirs:
            if log_dir.directory in self.offline:
                continue
            for name in (HIGH_WATERMARKS, CLEANED_TO):
                path = os.path.join(log_dir.directory, name)
                if any(entry.name == name for entry in log_dir.entries):
                    message = self._read_checkpoint(path, 1).io_error
                    if message:
                        self._take_offline(
                            log_dir.directory, LogDirFails(BEHAVIOURS["checkpoint-unreadable"], message, path)
                        )
                        break

    # ---- replicas

    def _sort_out_replicas(self) -> None:
        current: dict[tuple[str, int, bool], _Replica] = {}
        strays: list[_Replica] = []
        for replica in self.replicas:
            if replica.state == STRAY:
                self._add(replica.log)
                self._act(IGNORE, "stray-directory", "loaded and left alone", replica)
            elif replica.state == DELETE:
                self._add(replica.log)
                self._act(DELETE_ACTION, "delete-directory", "deleted some time after the start", replica)
            elif self._is_stray(replica):
                strays.append(replica)
            else:
                self._add(replica.log)
                other = current.setdefault((replica.topic, replica.partition, replica.state == FUTURE), replica)
                if other is not replica:
                    raise _duplicate(replica, other)
        for replica in strays:
            self._rename_stray(replica)
        self._make_missing()
        for (topic, partition, is_future), replica in current.items():
            if is_future:
                self._promote(replica, current.get((topic, partition, False)))

    def _make_missing(self) -> None:
        """Partitions that a checkpoint names, that the cluster has, and that have no directory in any log dir."""
        present = {(replica.topic, replica.partition) for replica in self.replicas}
        for (name, number), (log_dir, records) in self.flushed.items():
            if (name, number) in present or self.offline or self.unread or not records:
                continue
            replicas: tuple[int, ...] = ()
            if self.metadata is not None:
                topic = self.metadata.topics.get(name)
                if topic is None or number not in topic.assignments:
                    continue
                replicas = topic.assignments[number].replicas
            why = "its directory is missing: created again, empty"
            if len(replicas) > 1:
                why, records = f"{why}, and filled from another replica", 0
            action = Action(CREATE_ACTION, BEHAVIOURS["partition-missing"], why, log_dir, f"{name}-{number}")
            self.actions.append(action._replace(file=os.path.join(log_dir, f"{name}-{number}"), records_lost=records))

    def _assignment(self, replica: _Replica) -> Assignment | None:
        topic = self.metadata.topics.get(replica.topic) if self.metadata else None
        if topic is None or topic.topic_id != replica.topic_id:
            return None
        return topic.assignments.get(replica.partition)

    def _is_stray(self, replica: _Replica) -> bool:
        if not self.version.finds_strays or self.metadata is None:
            return False
        assignment = self._assignment(replica)
        node = self._node()
        return assignment is None or (node is not None and node not in assignment.replicas)

    def _node(self) -> int | None:
        return self.log_dirs[0].identity.node_id if self.log_dirs else None

    def _rename_stray(self, replica: _Replica) -> None:
        start = replica.log.start
        new_name = f"{replica.topic}-{replica.partition}.{_UNIQUE}{STRAY}"
        self._add(replica.log)
        count = start.log_end_offset - start.log_start_offset
        why = f"becomes {new_name}: the metadata has no such partition with its topic id on this broker"
        self._act(RENAME, "stray", why, replica, lost=count)
        topic = self.metadata.topics.get(replica.topic) if self.metadata else None
        if topic is not None and replica.partition in topic.assignments and replica.state != FUTURE:
            self._act(CREATE_ACTION, "remade-empty", "created again, and serves [0, 0) without an error", replica)
            for action in _emptied_logs(replica):
                self.actions.append(action)

    def _promote(self, future: _Replica, current: _Replica | None) -> None:
        here = current is not None and current.directory == future.directory
        target = os.path.join(future.directory, f"{future.topic}-{future.partition}")
        if here or (current is None and not self.version.kraft):
            message = (
                f"java.nio.file.FileSystemException: {future.directory}/{future.name} -> {target}: Directory not empty"
            )
            failure = BrokerRefuses if self.version.kraft else LogDirFails
            error: StartFailure = failure(BEHAVIOURS["future-beside-current"], message, target)
            if isinstance(error, BrokerRefuses):
                raise error
            self._take_offline(future.directory, error)
        elif current is None:
            self._act(RENAME, "future-promoted", f"becomes {target}", future)
        else:
            self._act(RENAME, "future-catches-up", f"becomes {target} once it has caught up", future)

    def _act(self, action: str, behaviour: str, why: str, replica: _Replica, lost: int | None = 0) -> None:
        path = os.path.join(replica.directory, replica.name)
        self.actions.append(
            Action(action, BEHAVIOURS[behaviour], why, replica.directory, replica.name, file=path, records_lost=lost)
        )

    def _add(self, log: LoadedLog) -> None:
        self.partitions.append(log.start)
        self.actions += log.actions

    def _take_offline(self, log_dir: str, failure: StartFailure) -> None:
        self.failures.append(failure)
        self.offline.append(log_dir)
        self.actions.append(Action(OFFLINE, failure.behaviour, failure.message, log_dir, file=failure.file))

    def _log_dir_of(self, file: str | None) -> str:
        return next((d for d in self.all_dirs if file and file.startswith(d)), self.all_dirs[0])


def _emptied_logs(replica: _Replica) -> Iterable[Action]:
    """The first segment's file is there again, and empty."""
    path = os.path.join(replica.directory, replica.name, f"{0:020d}.log")
    size = file_size(path) if exists(path) else 0
    if size:
        why = f"an empty log takes its place: {size:,} to 0 bytes"
        yield Action(TRUNCATE, BEHAVIOURS["remade-empty"], why, replica.directory, replica.name, 0, path, size, 0)


def _duplicate(replica: _Replica, other: _Replica) -> BrokerRefuses:
    path, earlier = (os.path.join(r.directory, r.name) for r in (replica, other))
    message = (
        f"java.lang.IllegalStateException: Duplicate log directories for {replica.topic}-{replica.partition} are "
        f"found in both {path} and {earlier}."
    )
    return BrokerRefuses(BEHAVIOURS["duplicate-partition"], message, path)


def _directories(log_dir: LogDir) -> list[str]:
    """The names of the directories that LogManager takes for partitions."""
    kinds = ("file", "known_file")
    return [e.name for e in log_dir.entries if e.kind not in kinds and e.name not in (INDEX_CACHE, metadata_log.NAME)]
