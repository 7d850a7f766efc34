"""The replicas of a partition, and what only a fleet shows: committed offsets against logs, retention over segments.

`kidx scan` makes these subjects; `kidx verify` examines one directory at a time and has none of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple


class HeldBatch(NamedTuple):
    """A batch of a replica: its log, its first byte, its size in bytes, and the header's CRC and leader epoch."""

    file: str
    position: int
    size: int
    crc: int
    leader_epoch: int

    @property
    def content(self) -> tuple[int, int, int]:
        """What is the same on every healthy replica: size, CRC, leader epoch."""
        return self.size, self.crc, self.leader_epoch


class Replica(NamedTuple):
    """One replica: its directory, and the offsets [log_start, log_end) of its batches.

    Without batches `log_start` is None and `log_end` the base offset of the last segment, 0 without segments.
    `high_watermark` is that of the log dir's checkpoint, None if it has none. `segments` are those with a log.
    """

    directory: str
    log_start: int | None
    log_end: int
    high_watermark: int | None
    segments: int


class Divergence(NamedTuple):
    """The first offset at which replicas differ, and the batch that each has there, by directory; None for none."""

    offset: int
    held: Mapping[str, HeldBatch | None]

    @property
    def _counts(self) -> Counter[tuple[int, int, int] | None]:
        return Counter(batch and batch.content for batch in self.held.values())

    @property
    def usual(self) -> HeldBatch | None:
        """The batch of the majority; None if there is no majority, or if the majority has none."""
        ((content, count), *others) = self._counts.most_common(2)
        if others and others[0][1] == count:
            return None
        return next(batch for batch in self.held.values() if (batch and batch.content) == content)

    def differing(self) -> list[str]:
        """The directories that differ from the majority; all of them if there is no majority."""
        ((content, count), *others) = self._counts.most_common(2)
        tied = bool(others) and others[0][1] == count
        return sorted(d for d, batch in self.held.items() if tied or (batch and batch.content) != content)


class ReplicaSet:
    """The replicas of one partition, as their log dirs identify it: cluster.id, topic id, topic and number.

    `live`: a broker may be writing.
    """

    def __init__(
        self,
        cluster_id: str | None,
        topic_id: str | None,
        replicas: Sequence[Replica],
        divergence: Divergence | None,
        *,
        live: bool,
    ) -> None:
        self.cluster_id, self.topic_id = cluster_id, topic_id
        self.replicas, self.divergence, self.live = replicas, divergence, live

    @property
    def identified(self) -> bool:
        """Whether more than a name says that these are replicas of one partition."""
        return self.cluster_id is not None or self.topic_id is not None

    @cached_property
    def log_end(self) -> int:
        """The largest end of all replicas."""
        return max(replica.log_end for replica in self.replicas)

    @cached_property
    def log_starts(self) -> list[int]:
        """The first offset of each replica that has batches."""
        return [replica.log_start for replica in self.replicas if replica.log_start is not None]


class CommittedOffset(NamedTuple):
    """A group's committed offset for a partition, and the bounds of the replica of it that ends last.

    `directory` is that replica's. `timestamp` is the commit record's, in ms since the epoch. `live`: see ReplicaSet.
    """

    group: str
    topic: str
    partition: int
    offset: int
    timestamp: int
    directory: str
    log_start: int
    log_end: int
    live: bool


class RetainedSegments(NamedTuple):
    """A segment whose largest timestamp is in the future, with the later ones of the partition that it retains.

    `file` is the segment's log, `held_bytes` the size of all these logs. Timestamps up to `limit_ms` may come from a
    clock that is merely wrong.
    """

    file: str
    largest_timestamp: int
    segments: int
    held_bytes: int
    limit_ms: int
