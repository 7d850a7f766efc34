"""One log dir of a broker: its entries, its identity, its checkpoints, and whether the broker stopped cleanly.

Sources: org.apache.kafka.metadata.properties.MetaProperties (meta.properties), PartitionMetadataFile,
CleanShutdownFileHandler, and LogManager.loadLogs, which decides which directories are partitions.

Files are opened only when their content is used. A damaged file is a Problem, never an exception: only a directory
that cannot be listed raises CannotRead.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cached_property
from typing import NamedTuple

from kidx.errors import KidxError, WrongFormat
from kidx.evidence import Entry, absolute, list_directory, read_file
from kidx.formats.checkpoints import parse_offset_checkpoint, parse_partition_metadata, parse_properties
from kidx.logdir.names import PartitionName, parse_file_name, parse_partition_name
from kidx.logdir.tree import Partition

META_PROPERTIES, PARTITION_METADATA = "meta.properties", "partition.metadata"
CLEAN_SHUTDOWN_MARK, LOCK = ".kafka_cleanshutdown", ".lock"
RECOVERY_POINTS, HIGH_WATERMARKS = "recovery-point-offset-checkpoint", "replication-offset-checkpoint"
LOG_STARTS, CLEANED_TO = "log-start-offset-checkpoint", "cleaner-offset-checkpoint"
METADATA_TOPIC = "__cluster_metadata"

# What an entry of a log dir is.
PARTITION, DELETED, FUTURE, STRAY = "partition", "delete", "future", "stray"
LOST_FOUND, INDEX_CACHE, OTHER_DIRECTORY = "lost+found", "remote-log-index-cache", "directory"
KNOWN_FILE, OTHER_FILE = "known_file", "file"

_LARGEST_PARTITION = 2**31 - 1
_ID_BYTES = 16
RESERVED_DIRECTORY_IDS = 100  # DirectoryId.reserved: the ids with so small a number


class Problem(NamedTuple):
    """What is wrong with a file or directory: its path and one phrase. `unread`: it could not be read."""

    path: str
    why: str
    unread: bool = False


class LogDirEntry(NamedTuple):
    """A name in a log dir. `kind` is PARTITION ... OTHER_FILE; `partition` is the parsed name, None for other kinds."""

    name: str
    path: str
    kind: str
    partition: PartitionName | None = None


class Identity(NamedTuple):
    """The content of meta.properties; None for missing properties. `version` is 0 with ZooKeeper, 1 with KRaft.

    `node_id` is node.id, or broker.id in version 0. `cluster_id` and `directory_id` are as written, valid or not.
    """

    cluster_id: str | None = None
    node_id: int | None = None
    directory_id: str | None = None
    version: int | None = None
    problems: tuple[Problem, ...] = ()


class PartitionIdentity(NamedTuple):
    """The content of partition.metadata: `topic_id` as Kafka writes it (base64, 22 characters), None if missing."""

    topic_id: str | None = None
    version: int | None = None
    problems: tuple[Problem, ...] = ()


class CleanShutdown(NamedTuple):
    """The mark of a clean stop. `broker_epoch` is None if the mark is empty, as before KIP-966."""

    broker_epoch: int | None = None
    problems: tuple[Problem, ...] = ()


class Checkpoint(NamedTuple):
    """An offset checkpoint: offsets by (topic, partition); empty where the file is missing, empty or unreadable."""

    offsets: dict[tuple[str, int], int]
    problems: tuple[Problem, ...] = ()


class LogDir:
    """A broker's log dir by its path; listed once, on first use."""

    def __init__(self, directory: str, entries: Iterable[Entry] | None = None) -> None:
        """`entries` is the directory's listing, if the caller already has it."""
        self.directory = directory
        self._listing = entries

    def __repr__(self) -> str:
        return f"<log dir {self.directory}>"

    @cached_property
    def entries(self) -> list[LogDirEntry]:
        """Everything in the directory, by name. Raises CannotRead if it cannot be listed."""
        listing = self._listing if self._listing is not None else list_directory(self.directory or ".")
        return [self._classified(entry) for entry in listing]

    def _classified(self, entry: Entry) -> LogDirEntry:
        path = os.path.join(self.directory, entry.name)
        if not entry.is_dir():
            return LogDirEntry(entry.name, path, KNOWN_FILE if parse_file_name(entry.name) else OTHER_FILE)
        if entry.name in (LOST_FOUND, INDEX_CACHE):
            return LogDirEntry(entry.name, path, entry.name)
        name = parse_partition_name(entry.name)
        if name is None or name.partition > _LARGEST_PARTITION:
            return LogDirEntry(entry.name, path, OTHER_DIRECTORY)
        return LogDirEntry(entry.name, path, name.state or PARTITION, name)

    def of_kind(self, *kinds: str) -> list[LogDirEntry]:
        """The entries of these kinds, by name."""
        return [entry for entry in self.entries if entry.kind in kinds]

    @property
    def looks_like_one(self) -> bool:
        """Whether it has a file that exists only in brokers' log dirs."""
        marks = (META_PROPERTIES, RECOVERY_POINTS, HIGH_WATERMARKS)
        return any(entry.name in marks for entry in self.entries)

    @cached_property
    def partitions(self) -> list[Partition]:
        """The live partitions, by name; their directories are not listed yet."""
        return [Partition(entry.path) for entry in self.of_kind(PARTITION)]

    def partition(self, topic: str, number: int) -> Partition | None:
        """A live partition by topic and number, None if this log dir does not have it."""
        return self._by_name.get((topic, number))

    @cached_property
    def _by_name(self) -> dict[tuple[str, int], Partition]:
        return {p.name[:2]: p for p in self.partitions if p.name is not None}

    @property
    def metadata_partition(self) -> Partition | None:
        """The partition of the cluster's metadata (KRaft), None if this log dir does not have it."""
        return self.partition(METADATA_TOPIC, 0)

    @cached_property
    def identity(self) -> Identity:
        """The cluster, node and directory ids in meta.properties."""
        path = os.path.join(self.directory, META_PROPERTIES)
        data, problems = self._content(META_PROPERTIES)
        if data is None:
            return Identity(problems=problems)
        properties = parse_properties(data)
        version, wrong = _integer(properties, "version", path)
        name = "broker.id" if version == 0 else "node.id"
        node_id, wrong_node = _integer(properties, name, path)
        found = [*wrong, *wrong_node]
        cluster_id, directory_id = properties.get("cluster.id"), properties.get("directory.id")
        if cluster_id is not None and cluster_id.startswith("Some("):  # any other text may be a cluster's id
            found.append(
                Problem(path, f"cluster.id={cluster_id[:100]}: a known image wrote Scala's Some() around the id")
            )
        if directory_id is not None and (why := why_no_id(directory_id, RESERVED_DIRECTORY_IDS)):
            found.append(Problem(path, f"directory.id={directory_id[:100]}: {why}"))
        return Identity(cluster_id, node_id, directory_id, version, tuple(found))

    @cached_property
    def clean_shutdown(self) -> CleanShutdown | None:
        """The mark of a clean stop, None without one: the broker runs, or did not stop cleanly."""
        data, problems = self._content(CLEAN_SHUTDOWN_MARK)
        if data is None:
            return CleanShutdown(None, problems) if problems else None
        if not data:
            return CleanShutdown()
        import json

        try:
            epoch = json.loads(data)["brokerEpoch"]
        except (ValueError, KeyError, TypeError, RecursionError):
            epoch = None
        if isinstance(epoch, int) and not isinstance(epoch, bool):
            return CleanShutdown(epoch)
        path = os.path.join(self.directory, CLEAN_SHUTDOWN_MARK)
        return CleanShutdown(None, (Problem(path, "it has no broker epoch; its presence alone is the mark"),))

    @property
    def locked(self) -> bool:
        """Whether there is a .lock file. A stopped broker leaves it, so it does not prove that a broker runs."""
        return any(entry.name == LOCK for entry in self.entries)

    def checkpoint(self, name: str) -> Checkpoint:
        """An offset checkpoint by its file's name (RECOVERY_POINTS, ...), read once."""
        if name not in self._checkpoints:
            data, problems = self._content(name)
            lines, wrong = parse_offset_checkpoint(data or b"")
            path = os.path.join(self.directory, name)
            found = (Problem(path, f"line {p.line}: {p.why}" if p.line else p.why) for p in wrong)
            offsets = {(line.topic, line.partition): line.offset for line in lines}
            self._checkpoints[name] = Checkpoint(offsets, (*problems, *found))
        return self._checkpoints[name]

    @cached_property
    def _checkpoints(self) -> dict[str, Checkpoint]:
        return {}

    def _content(self, name: str) -> tuple[bytes | None, tuple[Problem, ...]]:
        """A file's bytes, None if it is missing or cannot be read; the latter is a problem."""
        if not any(entry.name == name for entry in self.entries):
            return None, ()
        return _read(os.path.join(self.directory, name))


def partition_identity(partition: Partition) -> PartitionIdentity:
    """Which topic a partition's directory belongs to, by its partition.metadata, if there is one."""
    path = os.path.join(partition.directory, PARTITION_METADATA)
    if not any(os.path.basename(file.path) == PARTITION_METADATA for file in partition.files):
        return PartitionIdentity()
    data, problems = _read(path)
    if data is None:
        return PartitionIdentity(problems=problems)
    try:
        properties = parse_partition_metadata(data)
    except WrongFormat as e:
        return PartitionIdentity(problems=(Problem(path, str(e)),))
    version, found = _integer(properties, "version", path)
    topic_id = properties.get("topic_id")
    why = "it has no topic_id" if topic_id is None else why_no_id(topic_id)
    if why:
        found.append(Problem(path, why if topic_id is None else f"topic_id {topic_id[:100]}: {why}"))
    return PartitionIdentity(topic_id, version, tuple(found))


def sibling_log_dirs(log_dir: LogDir, most: int = 256) -> list[LogDir]:
    """Log dirs next to this one that have its cluster.id: other disks of the broker, or other brokers in a copy.

    At most `most` directories are examined. Empty for a log dir without a cluster.id.
    """
    cluster_id = log_dir.identity.cluster_id
    here = absolute(log_dir.directory)
    if cluster_id is None:
        return []
    try:
        names = [e.name for e in list_directory(os.path.dirname(here)) if e.is_dir()]
    except KidxError:
        return []
    found = []
    for name in [n for n in names if n != os.path.basename(here)][:most]:
        other = LogDir(os.path.join(os.path.dirname(log_dir.directory.rstrip("/")), name))
        try:
            if other.looks_like_one and other.identity.cluster_id == cluster_id:
                found.append(other)
        except KidxError:
            continue
    return found


def _read(path: str) -> tuple[bytes | None, tuple[Problem, ...]]:
    try:
        return read_file(path), ()
    except KidxError as e:
        return None, (Problem(path, str(e).removeprefix(f"{path}: "), unread=True),)


def _integer(properties: dict[str, str], key: str, path: str) -> tuple[int | None, list[Problem]]:
    text = properties.get(key)
    if text is None:
        return None, [Problem(path, f"it has no {key}")]
    digits = text.removeprefix("-")
    if digits.isascii() and digits.isdigit() and len(digits) <= 10:
        return int(text), []
    return None, [Problem(path, f"{key}={text[:100]} is no number")]


def why_no_id(text: str, reserved: int = 1) -> str:
    """Why a text is not an id as Kafka creates them, or an empty text; numbers below `reserved` are never assigned."""
    import binascii

    try:
        data = binascii.a2b_base64(text.replace("-", "+").replace("_", "/") + "==")
    except ValueError:
        data = b""
    if len(data) != _ID_BYTES or len(text) != 22 or "+" in text or "/" in text:
        return "not an id as Kafka makes them (22 characters of base64)"
    return "an id that Kafka reserves" if int.from_bytes(data) < reserved else ""
