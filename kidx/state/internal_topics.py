"""Kafka's own topics in log dirs: which partitions have the answer to a question, and what else is known of it.

Sources: GroupCoordinatorService.partitionFor and TransactionStateManager.partitionFor (hashing);
kafka-consumer-groups for lag: the log's end minus the committed offset.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from kidx.errors import CannotRead, KidxError, UsageError
from kidx.formats.schemas.topics import FAMILY_OF_TOPIC, GROUP, SHARE, TRANSACTION
from kidx.logdir.cluster import Cluster, Topic
from kidx.logdir.tree import Partition, partitions_below
from kidx.lookup.partition import PartitionReader
from kidx.state.facts import Fact
from kidx.state.metadata import cluster_of
from kidx.state.replay import family_of
from kidx.text.java import positive_hash

BEFORE_START, AFTER_END = "before_start", "after_end"


class Question(NamedTuple):
    """Which facts are wanted: of a group, of a transactional id, of a topic; None: of all."""

    group: str | None = None
    transactional_id: str | None = None
    topic: str | None = None

    @property
    def families(self) -> set[str]:
        """The families of topics that can have such facts."""
        if self.group is not None:
            return {GROUP, SHARE}
        return {TRANSACTION} if self.transactional_id is not None else {*FAMILY_OF_TOPIC.values()}

    def wants(self, fact: Fact) -> bool:
        """Whether a fact is part of the answer. Topics are known by their names (LogDirs.named)."""
        key, value = fact.key, fact.value
        if self.group is not None and self.group not in (key.get("group"), key.get("groupId")):
            return False
        if self.transactional_id is not None and self.transactional_id != key.get("transactionalId"):
            return False
        if self.topic is None:
            return True
        configured = key.get("resourceName") if key.get("resourceType") == "topic" else None
        listed = [part.get("topic") for part in value.get("transactionPartitions") or ()]
        return self.topic in (key.get("topic"), configured, *listed)


class Lag(NamedTuple):
    """How far a committed offset is behind the log: bounds as offsets, `lag` in offsets, None below the log's start.

    `out_of_range` is BEFORE_START, AFTER_END or None.
    """

    log_start_offset: int
    log_end_offset: int
    lag: int | None
    out_of_range: str | None


class LogDirs:
    """The partitions at or below some paths, replicas included, and the cluster that they belong to."""

    def __init__(self, paths: Iterable[str]) -> None:
        """Lists the directories. Raises CannotRead for one that cannot be listed."""
        self.partitions = [p for path in paths for p in (list(partitions_below(path)) or [Partition(path)])]
        self._bounds: dict[tuple[str, int], tuple[int, int] | None] = {}

    def partitions_for(self, question: Question, family: str | None = None) -> list[tuple[Partition, str]]:
        """The partitions to replay, each with its family, by name; of several replicas the one that ends last.

        `family` is that of every partition. Raises UsageError where no directory is one of Kafka's own topics,
        CannotRead where the partition that a group or a transactional id belongs to is not among the directories.
        """
        if family is not None or len(self.partitions) == 1:
            return [(partition, family_of(partition, family)) for partition in self.partitions]
        wanted: dict[tuple[str, int], list[Partition]] = {}
        for partition in self.partitions:
            name = partition.name
            if name and not name.state and FAMILY_OF_TOPIC.get(name.topic) in question.families:
                wanted.setdefault(name[:2], []).append(partition)
        if not wanted:
            topics = sorted(topic for topic, its in FAMILY_OF_TOPIC.items() if its in question.families)
            raise UsageError(f"no partition of {' or '.join(topics)} is in or below the paths")
        self._keep_the_right_one(wanted, question)
        return [(_furthest(wanted[name]), FAMILY_OF_TOPIC[name[0]]) for name in sorted(wanted)]

    def _keep_the_right_one(self, wanted: dict[tuple[str, int], list[Partition]], question: Question) -> None:
        """Drop the partitions that a group or transactional id does not belong to, if the number of them is known."""
        for topic, key in (("__consumer_offsets", question.group), ("__transaction_state", question.transactional_id)):
            described = self._cluster.topic(topic) if key is not None else None
            if key is None or described is None or not described.assignments:
                continue
            right = (topic, positive_hash(key) % len(described.assignments))
            if right not in wanted:
                raise CannotRead(f"{key} belongs to {topic}-{right[1]}, which is not among these directories")
            for name in [name for name in wanted if name[0] == topic and name != right]:
                del wanted[name]

    def lag(self, fact: Fact) -> Lag | None:
        """How far a committed offset is behind; None for other facts, and where the log is not in these directories."""
        if fact.kind != "committed_offset":
            return None
        bounds = self._bounds_of(fact.key["topic"], fact.key["partition"])
        if bounds is None:
            return None
        (start, end), committed = bounds, fact.value["offset"]
        where = BEFORE_START if committed < start else AFTER_END if committed > end else None
        return Lag(start, end, None if committed < start else end - committed, where)

    def _bounds_of(self, topic: str, partition: int) -> tuple[int, int] | None:
        """A log's start and end offsets, of several replicas the one that ends last; None where none can be read."""
        name = topic, partition
        if name not in self._bounds:
            replicas = [p for p in self.partitions if p.name and p.name == (topic, partition, "")]
            try:
                reader = PartitionReader(_furthest(replicas)) if replicas else None
                self._bounds[name] = (reader.start_offset, reader.end_offset) if reader else None
            except KidxError:  # the checks report it
                self._bounds[name] = None
        return self._bounds[name]

    def named(self, fact: Fact) -> Fact:
        """The fact with the topic's name before each topic id that the cluster's metadata knows."""
        if "topic" in fact.key:
            return fact
        return fact._replace(key=self._with_names(fact.key), value=self._with_names(fact.value))

    def _with_names(self, data: Any) -> Any:
        if isinstance(data, list):
            return [self._with_names(each) for each in data]
        if not isinstance(data, dict):
            return data
        topic = self._topics.get(data["topicId"]) if isinstance(data.get("topicId"), str) else None
        named = {} if topic is None or "topic" in data else {"topic": topic.name}
        return named | {name: self._with_names(value) for name, value in data.items()}

    @cached_property
    def _topics(self) -> dict[str, Topic]:
        return self._cluster.topics

    @cached_property
    def _cluster(self) -> Cluster:
        return cluster_of(dict.fromkeys(partition.log_dir for partition in self.partitions))


def _furthest(replicas: Sequence[Partition]) -> Partition:
    """The replica with the largest end offset: it is, or is closest to, the leader. Unreadable ones come last."""
    if len(replicas) == 1:
        return replicas[0]
    return max(replicas, key=_end_offset)


def _end_offset(partition: Partition) -> int:
    try:
        return PartitionReader(partition).end_offset
    except KidxError:
        return -1
