"""A cluster, as some of its log dirs describe it: topics by id, their configuration, and where their replicas belong.

This is in the cluster's metadata log (KRaft). Replaying the log requires packages above this one, so Cluster takes the
function that replays it as an argument: kidx.state.metadata.cluster_of supplies it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import NamedTuple

from kidx.logdir.log_dir import LogDir, Problem, sibling_log_dirs
from kidx.logdir.tree import Partition


class Assignment(NamedTuple):
    """Where a partition belongs: broker ids, and the directory id on each (none before 3.7); -1 is no leader."""

    replicas: tuple[int, ...]
    directories: tuple[str, ...]
    leader: int
    leader_epoch: int


class Topic(NamedTuple):
    """A topic in the metadata; `assignments` are by partition number."""

    name: str
    topic_id: str
    assignments: Mapping[int, Assignment]


class Setting(NamedTuple):
    """A value of a topic's configuration, and its source: "topic", "broker 1", or "cluster" (all brokers' default)."""

    value: str
    source: str


class ClusterMetadata(NamedTuple):
    """The state of a metadata log. `directory` is its partition's; `brokers` has the directory ids of each broker.

    `configurations` has the values set, by (resource type, resource name, setting). `problems` say what is missing.
    """

    directory: str
    topics: Mapping[str, Topic] = MappingProxyType({})
    brokers: Mapping[int, tuple[str, ...]] = MappingProxyType({})
    configurations: Mapping[tuple[str, str, str], str] = MappingProxyType({})
    problems: tuple[Problem, ...] = ()


# The broker's setting that a topic inherits (ServerTopicConfigSynonyms).
_BROKER_NAMES = {
    "cleanup.policy": "log.cleanup.policy",
    "compression.type": "compression.type",
    "delete.retention.ms": "log.cleaner.delete.retention.ms",
    "file.delete.delay.ms": "log.segment.delete.delay.ms",
    "flush.messages": "log.flush.interval.messages",
    "flush.ms": "log.flush.interval.ms",
    "index.interval.bytes": "log.index.interval.bytes",
    "max.compaction.lag.ms": "log.cleaner.max.compaction.lag.ms",
    "max.message.bytes": "message.max.bytes",
    "message.format.version": "log.message.format.version",
    "message.timestamp.type": "log.message.timestamp.type",
    "min.cleanable.dirty.ratio": "log.cleaner.min.cleanable.ratio",
    "min.compaction.lag.ms": "log.cleaner.min.compaction.lag.ms",
    "min.insync.replicas": "min.insync.replicas",
    "preallocate": "log.preallocate",
    "retention.bytes": "log.retention.bytes",
    "retention.ms": "log.retention.ms",
    "segment.bytes": "log.segment.bytes",
    "segment.index.bytes": "log.index.size.max.bytes",
    "segment.ms": "log.roll.ms",
}


class Cluster:
    """Log dirs that are checked together. `replay` turns a metadata partition into a ClusterMetadata.

    The metadata log is looked for in the log dirs given, then in those next to them with the same cluster.id, and is
    read when it is first needed. If there is none, every method that depends on it returns None.
    """

    def __init__(self, log_dirs: Sequence[LogDir], replay: Callable[[Partition], ClusterMetadata]) -> None:
        self.log_dirs, self._replay = list(log_dirs), replay

    @cached_property
    def metadata(self) -> ClusterMetadata | None:
        """The cluster's metadata, None if no log dir has it."""
        partition = next(filter(None, (d.metadata_partition for d in self.log_dirs)), None)
        if partition is None:
            siblings = (other for log_dir in self.log_dirs for other in sibling_log_dirs(log_dir))
            partition = next(filter(None, (d.metadata_partition for d in siblings)), None)
        return None if partition is None else self._replay(partition)

    @property
    def cluster_ids(self) -> set[str]:
        """The cluster ids of the log dirs: several if the log dirs belong to unrelated clusters."""
        return {d.identity.cluster_id for d in self.log_dirs if d.identity.cluster_id is not None}

    @property
    def topics(self) -> dict[str, Topic]:
        """The cluster's topics by id."""
        return {} if self.metadata is None else {topic.topic_id: topic for topic in self.metadata.topics.values()}

    def topic(self, name: str) -> Topic | None:
        """A topic by its name, None if the metadata does not have it."""
        return None if self.metadata is None else self.metadata.topics.get(name)

    def setting(self, topic: str, name: str, node_id: int | None = None) -> Setting | None:
        """A topic's setting by its name (index.interval.bytes): its own, a broker's, or the cluster's default.

        None if it is not set, or without metadata: log dirs do not contain server.properties.
        """
        if self.metadata is None:
            return None
        asked = [("topic", topic, name, "topic")]
        if broker_name := _BROKER_NAMES.get(name):
            if node_id is not None:
                asked.append(("broker", str(node_id), broker_name, f"broker {node_id}"))
            asked.append(("broker", "", broker_name, "cluster"))
        for kind, resource, key, source in asked:
            value = self.metadata.configurations.get((kind, resource, key))
            if value is not None:
                return Setting(value, source)
        return None

    def number(self, topic: str, name: str, node_id: int | None = None) -> int | None:
        """A setting that is a number, None if it is not set (or not a number)."""
        setting = self.setting(topic, name, node_id)
        digits = setting.value.removeprefix("-") if setting else ""
        return int(setting.value) if setting and digits.isascii() and digits.isdigit() and len(digits) <= 19 else None

    def assigned_to(self, directory_id: str) -> set[tuple[str, int]]:
        """The partitions (topic, number) that the metadata assigns to a log dir."""
        topics = self.metadata.topics.values() if self.metadata else ()
        return {(t.name, n) for t in topics for n, a in t.assignments.items() if directory_id in a.directories}
