"""What __remote_log_metadata says, replayed from the log dirs at hand.

A partition's segments are all in one partition of that topic (RemoteLogMetadataTopicPartitioner): where a broker does
not have it, nothing is known about them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from kidx.errors import KidxError
from kidx.formats.object_names import is_id
from kidx.logdir.log_dir import LogDir
from kidx.logdir.tree import Partition
from kidx.state.remote_log import SEGMENT_KIND, EpochIndexes, RemoteLogState
from kidx.state.replay import Moment, replay_remote_log
from kidx.tiered.lineage import CopyFacts

TOPIC = "__remote_log_metadata"
_MASK = 0xFFFFFFFF


class ListedSegment(NamedTuple):
    """A segment as the metadata lists it. `value` has its other fields (kidx.state.remote_log); `file` is the directory
    of the metadata topic's partition.
    """

    topic: str
    topic_id: str
    partition: int
    segment_id: str
    state: str
    value: Mapping[str, Any]
    file: str

    @property
    def facts(self) -> CopyFacts:
        """What the segment holds by the metadata."""
        v = self.value
        epochs = {int(epoch): start for epoch, start in v["segmentLeaderEpochs"].items()}
        return CopyFacts(self.segment_id, v["startOffset"], v["endOffset"], epochs, v["maxTimestampMs"])


class RemoteLogMetadata:
    """The metadata topic of some log dirs. `segments` are by id; `problems` are sentences about what is missing.

    `deleted` are the ids of segments whose deletion was finished; `indexes` are by topic id and partition.
    """

    def __init__(self) -> None:
        self.segments: dict[str, ListedSegment] = {}
        self.indexes: dict[tuple[str, int], EpochIndexes] = {}
        self.deleted: set[str] = set()
        self.problems: list[str] = []
        self._read: set[int] = set()
        self._count: int | None = None

    def knows(self, topic_id: str, partition: int) -> bool:
        """Whether the partition of the metadata topic was read that a partition's segments are in."""
        return self._count is not None and metadata_partition(topic_id, partition, self._count) in self._read

    def _take(self, number: int, directory: str, state: RemoteLogState) -> None:
        self._read.add(number)
        self.deleted |= state.deleted
        self.indexes.update(state.indexes)
        for fact in state.facts.of_kind(SEGMENT_KIND):
            k = fact.key
            self.segments[k["segment"]] = ListedSegment(
                k["topic"], k["topicId"], k["partition"], k["segment"], fact.value["state"], fact.value, directory
            )

    def _settle(self, count: int | None, placed: Iterable[tuple[str, int, int]]) -> None:
        """Fix the number of the topic's partitions: as given, else as many as make all keys lie where they are."""
        known = max(self._read, default=-1) + 1
        keys = list(placed)
        self._count = count or (known if all(metadata_partition(t, p, known) == n for t, p, n in keys) else None)


def read_remote_log_metadata(log_dirs: Iterable[LogDir], count: int | None = None) -> RemoteLogMetadata | None:
    """Replay the topic's partitions in the log dirs, of several replicas the one that is furthest; None without any.

    `count` is the number of the topic's partitions, None where it is not known. What cannot be read is a problem.
    """
    found: dict[int, list[Partition]] = {}
    for log_dir in log_dirs:
        for partition in log_dir.partitions:
            if partition.name is not None and partition.name.topic == TOPIC:
                found.setdefault(partition.name.partition, []).append(partition)
    if not found:
        return None
    metadata = RemoteLogMetadata()
    placed = []
    for number, replicas in sorted(found.items()):
        states = []
        for replica in replicas:
            try:
                state, records = replay_remote_log(replica, Moment(), metadata.problems)
            except KidxError as e:
                metadata.problems.append(str(e))
                continue
            if state.undecoded:
                metadata.problems.append(f"{replica.directory}: {state.undecoded} records could not be understood")
            states.append((records, replica.directory, state))
        if states:
            _, directory, state = max(states, key=lambda item: item[0])
            metadata._take(number, directory, state)
            placed += [(topic_id, partition, number) for topic_id, partition in state.indexes]
    metadata._settle(count, placed)
    return metadata


def metadata_partition(topic_id: str, partition: int, count: int) -> int:
    """The partition of the metadata topic that a partition's segments are in, of `count`; -1 for what is no id.

    murmur2 of the four bytes of Objects.hash(low half of the topic id, high half, partition).
    """
    if not is_id(topic_id) or count < 1:
        return -1
    from base64 import urlsafe_b64decode

    data = urlsafe_b64decode(topic_id + "==")
    high, low = int.from_bytes(data[:8], "big"), int.from_bytes(data[8:], "big")
    hashed = 1
    for part in (low ^ low >> 32, high ^ high >> 32, partition):
        hashed = (31 * hashed + (part & _MASK)) & _MASK
    return _murmur2(hashed.to_bytes(4, "big")) % count


def _murmur2(data: bytes) -> int:
    """org.apache.kafka.common.utils.Utils.murmur2 of four bytes, made positive."""
    m = 0x5BD1E995
    k = int.from_bytes(data, "little") * m & _MASK
    k = (k ^ k >> 24) * m & _MASK
    h = (0x9747B28C ^ len(data)) * m & _MASK ^ k
    h = (h ^ h >> 13) * m & _MASK
    return (h ^ h >> 15) & 0x7FFFFFFF
