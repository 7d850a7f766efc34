"""A new log dir from replicas: partition after partition, then the files that make a broker take it as it is.

The report of each finished partition is kept in the log dir, so that an interrupted run goes on where it was.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from kidx import __version__
from kidx.errors import CannotRead, Refused, UsageError
from kidx.evidence import from_bytes, is_uri, open_evidence, read_file
from kidx.logdir import Cluster, LogDir
from kidx.logdir.log_dir import (
    CLEAN_SHUTDOWN_MARK,
    CLEANED_TO,
    HIGH_WATERMARKS,
    LOG_STARTS,
    META_PROPERTIES,
    METADATA_TOPIC,
    RECOVERY_POINTS,
    RESERVED_DIRECTORY_IDS,
    why_no_id,
)
from kidx.logdir.tree import Partition
from kidx.recovery.partition_files import PartitionWriter, write_new_file
from kidx.recovery.plan import LEFT_OUT, PartitionPlan, ReportRow
from kidx.recovery.sources import Recoverable, Sources, find_sources
from kidx.state.metadata import cluster_of
from kidx.surgery.index_interval import Interval, interval_of
from kidx.surgery.new_file import flush_directory, refusing, write_all
from kidx.surgery.output import refuse_overlap, refuse_place
from kidx.surgery.state_files import checkpoint_bytes
from kidx.surgery.workplace import locked, open_directory

JOURNAL = ".kidx-recovery.jsonl"
SCHEMA = "kidx.recovery_journal.v1"
_PART = ".kidx-part"
_BOOTSTRAP = "bootstrap.checkpoint"
_JOURNAL_BYTES = 1 << 30


class Identity(NamedTuple):
    """What meta.properties of the new log dir says; None for what is unknown."""

    cluster_id: str | None
    node_id: int | None
    directory_id: str | None
    version: int


class Options(NamedTuple):
    """What the user asked for."""

    cluster_id: str | None = None
    node_id: int | None = None
    topic_ids: Mapping[str, str] = {}


class PartitionResult(NamedTuple):
    """The report on one partition. `first_base` is None in a dry run."""

    name: str
    rows: list[ReportRow]
    complete: bool
    unread: list[str]
    first_base: int | None
    log_start_offset: int
    end_offset: int
    cleaned_to: int | None


class Recovery:
    """Recovering the partitions of some replicas into one new log dir."""

    def __init__(self, paths: Sequence[str], options: Options, complain: Callable[[str], None]) -> None:
        """Raises CannotRead for a path that is not there, UsageError for options that do not fit the replicas."""
        self.paths, self.options, self._complain = list(paths), options, complain
        self.sources: Sources = find_sources(paths)
        if not self.sources.partitions:
            raise CannotRead(f"{', '.join(paths)}: no directory of a partition in or below it")
        self.cluster: Cluster = cluster_of(list(self.sources.log_dirs))
        self._check_topic_ids()
        self.identity, self._home = self._find_identity()
        self.left_out = [ReportRow(e.partition, LEFT_OUT, source=e.path, why=e.why) for e in self.sources.left_out]
        self.partitions = [p for p in self.sources.partitions if self._wanted(p)]

    # ---- identity

    def _check_topic_ids(self) -> None:
        topics = {p.topic for p in self.sources.partitions}
        for topic, topic_id in self.options.topic_ids.items():
            if why := why_no_id(topic_id):
                raise UsageError(f"--topic-id {topic}={topic_id}: {why}")
            if topic not in topics:
                raise UsageError(f"--topic-id {topic}={topic_id}: none of the replicas is of a topic {topic}")

    def _find_identity(self) -> tuple[Identity, LogDir | None]:
        """Whose log dir this becomes: the options, else the first replica's, and its own log dir if there is one."""
        asked = self.options
        known = [d for d in self.sources.log_dirs if d.identity.node_id is not None and _is_id(d.identity.cluster_id)]
        if asked.cluster_id is not None and not _is_id(asked.cluster_id):
            raise UsageError(f"--cluster-id {asked.cluster_id!r}: no cluster has such an id")
        cluster_ids = sorted({d.identity.cluster_id or "" for d in known})
        if len(cluster_ids) > 1 and asked.cluster_id is None:
            raise UsageError(f"the replicas belong to clusters {' and '.join(cluster_ids)}; choose one by --cluster-id")
        cluster_id = asked.cluster_id or (cluster_ids[0] if cluster_ids else None)
        same = [d for d in known if d.identity.cluster_id == cluster_id]
        node_id = asked.node_id if asked.node_id is not None else (same[0].identity.node_id if same else None)
        own = [d for d in same if d.identity.node_id == node_id]
        nodes = sorted({d.identity.node_id or 0 for d in same})
        if asked.node_id is None and len(nodes) > 1:
            names = ", ".join(map(str, nodes))
            self._complain(f"the replicas are of nodes {names}; the result is for node {node_id} (--node-id)")
        home = own[0] if own else None
        directory_id = home.identity.directory_id if home is not None else None
        if cluster_id in cluster_ids and self.cluster.metadata is not None:
            brokers = self.cluster.metadata.brokers
            owner = next((node for node, ids in brokers.items() if directory_id in ids), None)
            if asked.node_id is None and owner is not None:
                node_id = owner  # what the controllers know counts, not a meta.properties that says otherwise
            registered = brokers.get(-1 if node_id is None else node_id, ())
            if directory_id not in registered:
                directory_id = registered[0] if len(registered) == 1 else directory_id
        if directory_id is not None and why_no_id(directory_id, RESERVED_DIRECTORY_IDS):
            directory_id = None
        version = 0 if known and known[0].identity.version == 0 else 1
        return Identity(cluster_id, node_id, directory_id, version), home

    def _wanted(self, recoverable: Recoverable) -> bool:
        """The metadata log belongs to its node, every other partition to the topic."""
        if recoverable.topic != METADATA_TOPIC or self._own(recoverable) is not None:
            return True
        why = f"node {self.identity.node_id} has no replica of the metadata log here"
        sources = [directory.directory for directory in recoverable.directories]
        self.left_out += [ReportRow(recoverable.name, LEFT_OUT, source=source, why=why) for source in sources]
        return False

    def _own(self, recoverable: Recoverable) -> Partition | None:
        home = None if self._home is None else os.path.normpath(self._home.directory)
        for directory in recoverable.directories:
            if (os.path.dirname(os.path.normpath(directory.directory)) or ".") == home:
                return directory
        return None

    def topic_id(self, recoverable: Recoverable) -> str | None:
        """The topic id for partition.metadata, None where nothing tells it."""
        if recoverable.topic in self.options.topic_ids:
            return self.options.topic_ids[recoverable.topic]
        topic = self.cluster.topic(recoverable.topic)
        return recoverable.topic_id or (topic.topic_id if topic is not None else None)

    # ---- reading and writing

    def plan(self) -> Iterator[PartitionResult]:
        """Read everything and write nothing."""
        for recoverable in self.partitions:
            plan = PartitionPlan(recoverable, self.cluster)
            first_base = None
            for segment in plan.segments():
                first_base = segment.base_offset if first_base is None else first_base
            yield self._result(plan, None, max(first_base or 0, plan.log_start_offset))

    def write(self, output: str) -> Iterator[PartitionResult]:
        """Write the log dir, and give each partition's report when its directory is there.

        Raises Refused where the output is not empty or of another recovery, or the system declines.
        """
        if is_uri(output):
            raise UsageError(f"{output}: the result is written to a local directory")
        journal = os.path.join(output, JOURNAL)
        lines = _journal_lines(journal) if os.path.isfile(journal) else []
        resumed = bool(lines)
        sources = [d.directory for p in self.sources.partitions for d in p.directories]
        (refuse_overlap if resumed else refuse_place)(output, [*self.paths, *sources])
        with refusing(output):
            os.makedirs(output, exist_ok=True)
            if not resumed and set(os.listdir(output)) - {JOURNAL}:
                raise Refused(f"{output}: it is not empty; name a new directory")
        with locked(output):
            done = self._begin(journal, lines)
            if not done.complete:
                self._clear_parts(output)
            results = []
            for recoverable in self.partitions:
                result = done.results.get(recoverable.name)
                if result is None:
                    result = self._write_partition(recoverable, output)
                    _append(journal, {"result": {**result._asdict(), "rows": [r._asdict() for r in result.rows]}})
                results.append(result)
                yield result
            if not done.complete:
                self._finish(output, results)
                _append(journal, {"complete": True})

    def _begin(self, journal: str, lines: Sequence[Mapping[str, Any]]) -> _Done:
        """Begin the journal, or take from it what is done. Raises Refused where it is of another recovery."""
        fingerprint = self._fingerprint()
        if not lines:
            _append(journal, {"schema": SCHEMA, "kidx": __version__, "plan": fingerprint})
            return _Done({}, False)
        if lines[0].get("schema") != SCHEMA or lines[0].get("plan") != fingerprint:
            raise Refused(
                f"{os.path.dirname(journal)}: it has the recovery of other replicas, or by other options; "
                "name a new directory"
            )
        try:
            results = [_result_of(line["result"]) for line in lines if "result" in line]
        except (KeyError, TypeError):
            raise Refused(f"{journal}: it is not as kidx wrote it; name a new directory") from None
        return _Done({r.name: r for r in results}, any(line.get("complete") for line in lines))

    def _fingerprint(self) -> str:
        """What a recovery depends on: the options, and names, sizes and times of the replicas' files."""
        digest = hashlib.sha256(repr((__version__, self.options, self.identity)).encode())
        for recoverable in self.sources.partitions:
            for directory in recoverable.directories:
                for file in directory.files:
                    digest.update(repr((os.path.abspath(file.path), *_size_and_time(file.path))).encode())
        return digest.hexdigest()

    @staticmethod
    def _clear_parts(output: str) -> None:
        """Remove what an interrupted run has left of a partition."""
        with refusing(output):
            for entry in os.scandir(output):
                if entry.name.endswith(_PART) and entry.is_dir(follow_symlinks=False):
                    for file in os.scandir(entry.path):
                        os.unlink(file.path)
                    os.rmdir(entry.path)

    def _write_partition(self, recoverable: Recoverable, output: str) -> PartitionResult:
        target = os.path.join(output, recoverable.name)
        part = target + _PART
        with refusing(part):
            os.mkdir(part)
        plan = PartitionPlan(recoverable, self.cluster)
        interval = self._interval(recoverable)
        writer = PartitionWriter(plan, part, interval.bytes)
        written = writer.write(self.topic_id(recoverable), self._own(recoverable))
        with refusing(target), open_directory(output) as place:
            os.rename(part, target)
            flush_directory(place, output)
        return self._result(plan, written.first_base, written.log_start_offset, interval.unread)

    def _interval(self, recoverable: Recoverable) -> Interval:
        """index.interval.bytes, by the topic's configuration or the spacing of a replica's entries."""
        found = [interval_of(directory, self.cluster) for directory in recoverable.directories[:1]]
        for directory in recoverable.directories[1:]:
            if not found[-1].guessed or found[-1].source.startswith("the spacing"):
                break
            found.append(interval_of(directory, self.cluster))
        return found[-1]

    @staticmethod
    def _result(
        plan: PartitionPlan, first_base: int | None, log_start: int, unread: Sequence[str] = ()
    ) -> PartitionResult:
        name, said = plan.recoverable.name, list(dict.fromkeys([*plan.unread, *unread]))
        return PartitionResult(
            name, plan.rows, plan.complete, said, first_base, log_start, plan.end_offset, plan.cleaned_to()
        )

    # ---- the files of the log dir

    def _finish(self, output: str, results: Sequence[PartitionResult]) -> None:
        for name, data in self._root_files(results):
            path = os.path.join(output, name)
            with refusing(path):
                if os.path.lexists(path):  # of a run that was interrupted here
                    os.unlink(path)
            write_new_file(output, name, from_bytes(data, path))
        with refusing(output), open_directory(output) as place:
            flush_directory(place, output)

    def _root_files(self, results: Sequence[PartitionResult]) -> Iterator[tuple[str, bytes]]:
        """The checkpoints, the mark of a clean stop, and last meta.properties, without which no broker starts."""
        data = [r for r in results if not r.name.startswith(f"{METADATA_TOPIC}-")]
        key = {r.name: (r.name.rpartition("-")[0], int(r.name.rpartition("-")[2])) for r in data}
        ends = {key[r.name]: r.end_offset for r in data}
        yield RECOVERY_POINTS, checkpoint_bytes(ends)
        yield HIGH_WATERMARKS, checkpoint_bytes(ends)
        moved = {key[r.name]: r.log_start_offset for r in data if r.log_start_offset > (r.first_base or 0)}
        yield LOG_STARTS, checkpoint_bytes(moved)
        cleaned = {key[r.name]: min(r.cleaned_to, r.end_offset) for r in data if r.cleaned_to is not None}
        yield CLEANED_TO, checkpoint_bytes(cleaned)
        yield CLEAN_SHUTDOWN_MARK, b'{"version":0,"brokerEpoch":-1}'
        if self._home is not None and any(r.name.startswith(f"{METADATA_TOPIC}-") for r in results):
            path = os.path.join(self._home.directory, _BOOTSTRAP)
            if os.path.isfile(path):
                yield _BOOTSTRAP, read_file(path)
        if self.identity.cluster_id is not None and self.identity.node_id is not None:
            yield META_PROPERTIES, meta_properties_bytes(self.identity)

    def remarks(self) -> Iterator[str]:
        """What stands between the result and a broker that serves it."""
        if self.identity.cluster_id is None or self.identity.node_id is None:
            yield "no meta.properties: no replica tells cluster and node; give --cluster-id and --node-id"
        elif self.identity.version == 1 and self.identity.directory_id is None:
            yield (
                "meta.properties has no directory.id: nothing here tells it; move the partitions into the log dir of a "
                "broker that knows their topics"
            )
        for topic in sorted({p.topic for p in self.partitions} - {METADATA_TOPIC}):
            yield from self._topic_remarks(topic)
        without = sorted({p.topic for p in self.partitions if self.topic_id(p) is None})
        if without and self.identity.version == 1:
            names = ", ".join(without[:10])
            yield f"no topic id is known of {names}: a broker takes its partitions for stray; give --topic-id"

    def _topic_remarks(self, topic: str) -> Iterator[str]:
        """Where the cluster's metadata, found next to the replicas, does not know a topic as this one."""
        if self.cluster.metadata is None or topic in self.options.topic_ids or self.options.cluster_id is not None:
            return
        known = self.cluster.topic(topic)
        here = next(p.topic_id for p in self.partitions if p.topic == topic)
        if known is None:
            yield f"{topic}: the cluster's metadata has no such topic; a broker takes its partitions for stray"
        elif here is not None and here != known.topic_id:
            yield (
                f"{topic}: its replicas have the topic id {here}, the cluster's metadata {known.topic_id}; a broker "
                f"takes its partitions for stray; if it is the same topic, give --topic-id {topic}={known.topic_id}"
            )


class _Done(NamedTuple):
    """What the journal of an output has: reports by partition, and whether the run had come to its end."""

    results: dict[str, PartitionResult]
    complete: bool


def _is_id(text: str | None) -> bool:
    """Whether a text can stand in meta.properties as it is."""
    return text is not None and re.fullmatch(r"[\w.()+/=-]{1,200}", text, re.ASCII) is not None


def meta_properties_bytes(identity: Identity) -> bytes:
    """A meta.properties file, as kafka-storage or a broker with ZooKeeper writes it."""
    node = "broker.id" if identity.version == 0 else "node.id"
    values = {
        "cluster.id": identity.cluster_id,
        "directory.id": identity.directory_id,
        node: identity.node_id,
        "version": identity.version,
    }
    return "".join(f"{key}={value}\n" for key, value in values.items() if value is not None).encode()


def _size_and_time(path: str) -> tuple[int, int]:
    try:
        with open_evidence(path) as evidence:
            return evidence.size, evidence.mtime_ns
    except CannotRead:
        return -1, -1


def _append(journal: str, entry: Mapping[str, Any]) -> None:
    with refusing(journal):
        fd = os.open(journal, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
        try:
            # A line begins with its line end, so that one which an interruption has torn spoils no other.
            write_all(fd, b"\n" + json.dumps(entry, separators=(",", ":")).encode())
            os.fsync(fd)
        finally:
            os.close(fd)


def _journal_lines(journal: str) -> list[dict[str, Any]]:
    """The lines of the journal; torn ones are left out. Raises CannotRead."""
    with open_evidence(journal) as evidence:
        text = evidence.read_all(_JOURNAL_BYTES)
    lines = []
    for line in text.split(b"\n"):
        try:
            fields = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(fields, dict):
            lines.append(fields)
    return lines


def _result_of(fields: dict[str, Any]) -> PartitionResult:
    return PartitionResult(**{**fields, "rows": [ReportRow(**row) for row in fields["rows"]]})
