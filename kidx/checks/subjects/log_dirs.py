"""Log dirs as their rules see them, and as witnesses of what a partition in them lacks.

A log dir is listed on first use, and its partitions one by one, by names alone, until the question is answered.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from functools import cached_property
from typing import Any, NamedTuple

from kidx.errors import CannotRead, KidxError
from kidx.evidence import absolute, exists
from kidx.formats.schemas.topics import TRANSACTION
from kidx.logdir.cluster import Cluster, ClusterMetadata
from kidx.logdir.log_dir import (
    CLEANED_TO,
    META_PROPERTIES,
    METADATA_TOPIC,
    RECOVERY_POINTS,
    LogDir,
    PartitionIdentity,
    partition_identity,
    sibling_log_dirs,
)
from kidx.logdir.names import LOG
from kidx.logdir.tree import Partition
from kidx.state.metadata import read_cluster_metadata
from kidx.state.replay import Moment, state_at

_TRANSACTION_STATE = "__transaction_state"
_GRACE_MS = 3_600_000
_MOST_STATE_BYTES = 64 << 20
_MOST_ASKED = 1000  # partitions of a log dir that are listed for one question


class CoordinatedTransaction(NamedTuple):
    """What __transaction_state says about a producer.

    `overdue`: by the coordinator's clock its transaction should have ended more than an hour before the newest change
    of any transaction there.
    """

    transactional_id: str
    overdue: bool


class Witness:
    """A log dir that shows what its living partitions have."""

    def __init__(self, log_dir: LogDir) -> None:
        self.log_dir = log_dir
        self._kinds: dict[str, frozenset[str]] = {}

    def others_have(self, partition: Partition, kind: str) -> bool:
        """Whether another partition has a file of this kind (kidx.logdir.names), its segments' or its own.

        KRaft's metadata partition does not count: it is not loaded as the others are.
        """
        return any(kind in self._kinds_in(other) for other in self._others(partition))

    def same_topic(self, partition: Partition) -> Iterator[Partition]:
        """The other partitions of the same topic."""
        name = partition.name
        return (o for o in self._others(partition) if name is not None and o.name and o.name.topic == name.topic)

    def _others(self, partition: Partition) -> Iterator[Partition]:
        own = os.path.basename(absolute(partition.directory))
        for other in self.log_dir.partitions[:_MOST_ASKED]:
            if os.path.basename(other.directory) != own and other.name and other.name.topic != METADATA_TOPIC:
                yield other

    def _kinds_in(self, partition: Partition) -> frozenset[str]:
        kinds = self._kinds.get(partition.directory)
        if kinds is None:
            try:
                kinds = frozenset(f.kind for f in Partition(partition.directory).files if not f.name.state)
            except KidxError:
                kinds = frozenset()
            self._kinds[partition.directory] = kinds
        return kinds


class LogDirs:
    """The log dirs of a run: each is listed once, and the metadata log of each cluster is replayed once."""

    def __init__(self) -> None:
        self._log_dirs: dict[str, LogDir] = {}
        self._witnesses: dict[str, Witness | None] = {}
        self._metadata: dict[str, ClusterMetadata] = {}
        self._clusters: dict[str, Cluster] = {}
        self._transactions: dict[str, dict[int, CoordinatedTransaction]] = {}

    def witness_of(self, partition: Partition) -> Witness | None:
        """The log dir of a partition; None where the directory above does not look like one."""
        if partition.name is None:
            return None
        path = partition.log_dir
        if path not in self._witnesses:
            log_dir = self._above(partition)
            try:
                known = log_dir.looks_like_one
            except KidxError:
                known = False
            self._witnesses[path] = Witness(log_dir) if known else None
        return self._witnesses[path]

    def cleaned_to(self, partition: Partition) -> Mapping[tuple[str, int], int]:
        """The cleaner's checkpoint in the directory above a partition's; empty where there is none."""
        try:
            return self._above(partition).checkpoint(CLEANED_TO).offsets
        except KidxError:
            return {}

    def _above(self, partition: Partition) -> LogDir:
        return self._log_dirs.setdefault(partition.log_dir, LogDir(partition.log_dir))

    def cluster_of(self, log_dir: LogDir) -> Cluster:
        """The cluster of a log dir: from its own metadata log if it has one, else from that of another disk of its
        broker.
        """
        key = absolute(log_dir.directory)
        if key not in self._clusters:
            near = [] if log_dir.metadata_partition else sibling_log_dirs(log_dir)
            near.sort(key=lambda other: other.identity.node_id != log_dir.identity.node_id)
            self._clusters[key] = Cluster([log_dir, *near], self._replay)
        return self._clusters[key]

    def setting_of(self, partition: Partition, name: str) -> str | None:
        """A value of a topic's configuration by the cluster's metadata; None if it is unknown."""
        witness = self.witness_of(partition)
        if witness is None or partition.name is None:
            return None
        node_id = witness.log_dir.identity.node_id
        setting = self.cluster_of(witness.log_dir).setting(partition.name.topic, name, node_id)
        return None if setting is None else setting.value

    def coordinated(self, partition: Partition, producer_id: int) -> CoordinatedTransaction | None:
        """What the transaction state in the partition's log dir, or in those next to it, says about a producer."""
        witness = self.witness_of(partition)
        if witness is None:
            return None
        key = absolute(witness.log_dir.directory)
        if key not in self._transactions:
            self._transactions[key] = known = {}
            for log_dir in (witness.log_dir, *sibling_log_dirs(witness.log_dir)):
                for state in log_dir.partitions:
                    if state.name is not None and state.name.topic == _TRANSACTION_STATE:
                        known.update(_transactions_in(state))
        return self._transactions[key].get(producer_id)

    def _replay(self, partition: Partition) -> ClusterMetadata:
        key = absolute(partition.directory)
        if key not in self._metadata:
            self._metadata[key] = read_cluster_metadata(partition)
        return self._metadata[key]


def _transactions_in(partition: Partition) -> dict[int, CoordinatedTransaction]:
    """The transactional ids of a partition of __transaction_state, by producer id; empty if it is too large."""
    try:
        size = sum(segment.files[LOG].size() for segment in partition.segments)
        if not 0 < size <= _MOST_STATE_BYTES:
            return {}
        facts = state_at(partition, TRANSACTION, Moment()).facts.of_kind("transaction")
    except KidxError:
        return {}
    newest = max((fact.value["transactionLastUpdateTimestampMs"] for fact in facts), default=0)
    return {
        fact.value["producerId"]: CoordinatedTransaction(fact.key["transactionalId"], _overdue(fact.value, newest))
        for fact in facts
    }


def _overdue(transaction: Mapping[str, Any], newest_ms: int) -> bool:
    started = int(transaction["transactionStartTimestampMs"])
    ends = started + int(transaction["transactionTimeoutMs"]) + _GRACE_MS
    return transaction["state"] == "Ongoing" and started > 0 and ends < newest_ms


def is_log_dir(directory: str) -> bool:
    """Whether a directory is checked as a log dir: only a broker's has one of these files."""
    return any(exists(os.path.join(directory, name)) for name in (META_PROPERTIES, RECOVERY_POINTS))


class JudgedLogDir:
    """A log dir, with what its cluster's metadata says. `live`: directories may come and go while it is checked."""

    def __init__(self, log_dir: LogDir, cluster: Cluster, damaged: AbstractSet[str], *, live: bool) -> None:
        """`damaged` are the directories, as absolute paths, in whose files an error was found."""
        self.log_dir, self.cluster, self.live = log_dir, cluster, live
        self._damaged = damaged

    @cached_property
    def above(self) -> str:
        """The absolute path of the directory above."""
        return os.path.dirname(absolute(self.log_dir.directory))

    @property
    def meta_properties(self) -> str:
        """The path of meta.properties."""
        return os.path.join(self.log_dir.directory, META_PROPERTIES)

    @property
    def has_meta_properties(self) -> bool:
        """Whether meta.properties is there."""
        return any(entry.name == META_PROPERTIES for entry in self.log_dir.entries)

    @cached_property
    def metadata(self) -> ClusterMetadata | None:
        """The cluster's metadata where all of it could be read and nothing in its files is damaged."""
        metadata = self.cluster.metadata
        if metadata is None or metadata.problems or absolute(metadata.directory) in self._damaged:
            return None
        return metadata if metadata.topics else None

    @cached_property
    def on_other_disks(self) -> frozenset[tuple[str, int]]:
        """Topics and numbers of the living partitions in the other log dirs of the same broker."""
        own = self.log_dir.identity.node_id
        others = (other for other in sibling_log_dirs(self.log_dir) if other.identity.node_id == own)
        return frozenset(p.name[:2] for other in others for p in other.partitions if p.name is not None)

    @cached_property
    def partitions(self) -> list[Partition]:
        """The living partitions, without KRaft's metadata."""
        return [p for p in self.log_dir.partitions if p.name is not None and p.name.topic != METADATA_TOPIC]

    @cached_property
    def names(self) -> frozenset[tuple[str, int]]:
        """Topics and numbers of the living partitions, without KRaft's metadata."""
        return frozenset(p.name[:2] for p in self.partitions if p.name is not None)

    @cached_property
    def checkpointed(self) -> frozenset[tuple[str, int]]:
        """The partitions that its recovery points name."""
        return frozenset(self.log_dir.checkpoint(RECOVERY_POINTS).offsets)

    @cached_property
    def identities(self) -> list[tuple[Partition, PartitionIdentity]]:
        """The living partitions that have a sound partition.metadata, and its content."""
        found = []
        for partition in self.partitions:
            try:
                identity = partition_identity(partition)
            except CannotRead:
                continue
            if identity.topic_id is not None and not identity.problems:
                found.append((partition, identity))
        return found

    @cached_property
    def topic_ids(self) -> frozenset[str]:
        """The ids of its partitions' topics."""
        return frozenset(identity.topic_id for _, identity in self.identities if identity.topic_id is not None)


class JudgedLogDirs(NamedTuple):
    """All log dirs of the run."""

    all: Sequence[JudgedLogDir]

    def side_by_side(self) -> Iterator[list[JudgedLogDir]]:
        """Those with the same directory above and the same cluster.id: disks of a broker, or the brokers of a fleet."""
        groups: dict[tuple[str, str | None], list[JudgedLogDir]] = {}
        for judged in self.all:
            groups.setdefault((judged.above, judged.log_dir.identity.cluster_id), []).append(judged)
        return iter(groups.values())


def directory_bytes(path: str) -> int:
    """Bytes of the data files in a partition's directory; a file that is gone counts as 0."""
    total = 0
    try:
        for file in Partition(path).files:
            with suppress(KidxError):
                total += file.size()
    except KidxError:
        pass
    return total
