"""A partition's log across both tiers: which copies serve what is no longer in the local log.

Sources: UnifiedLog.fetchOffsetByTimestamp, RemoteLogManager (findOffsetByTimestamp, findHighestRemoteOffset).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property

from kidx.errors import CannotRead, UsageError
from kidx.evidence import exists, list_directory, read_file
from kidx.formats import broker_versions as versions
from kidx.formats.checkpoints import EpochStart, parse_leader_epochs
from kidx.formats.records import Record
from kidx.logdir.cluster import Cluster
from kidx.logdir.log_dir import LOG_STARTS, LogDir, partition_identity, sibling_log_dirs
from kidx.logdir.names import PartitionName
from kidx.logdir.tree import Partition, Segment
from kidx.lookup.partition import (
    EARLIEST_LOCAL,
    EARLIEST_PENDING_UPLOAD,
    LATEST_TIERED,
    Epochs,
    Listed,
    PartitionReader,
)
from kidx.lookup.segment import FoundTime, SegmentReader
from kidx.state.metadata import cluster_of
from kidx.state.remote_log import COPY_FINISHED
from kidx.tiered.lineage import CopyFacts, Served, is_within, served
from kidx.tiered.metadata import TOPIC, RemoteLogMetadata, read_remote_log_metadata
from kidx.tiered.objects import RemoteCopy, copies_below, copies_in
from kidx.tiered.partition import Chain, files_of, remote_log


class TieredLog:
    """What serves the offsets of one partition. `local` is its directory, None where there is none.

    With `metadata` that knows the partition, it decides; else the objects alone (Chain). `facts` are those of the
    copies that can be read, by segment id. `trouble` has sentences about copies that could not be examined.
    """

    def __init__(
        self,
        name: PartitionName,
        topic_id: str | None,
        copies: Iterable[RemoteCopy],
        local: Partition | None,
        metadata: RemoteLogMetadata | None,
    ) -> None:
        self.name, self.topic_id, self.local = name, topic_id, local
        self.copies = {copy.segment_id: copy for copy in copies}
        self.trouble: list[str] = []
        known = metadata is not None and topic_id is not None and metadata.knows(topic_id, name.partition)
        self.metadata = metadata if known else None
        self._local_segments = [] if local is None else local.segments

    @cached_property
    def _chain(self) -> Chain:
        chain = Chain([copy for copy in self.copies.values() if not copy.missing])
        self.trouble += [str(e) for e in chain.trouble.values()]
        return chain

    @cached_property
    def facts(self) -> dict[str, CopyFacts]:
        """The copies that a broker reads, by segment id."""
        if self.metadata is None:
            return {copy.segment_id: self._chain.facts[copy.segment_id] for copy in self._chain.copies}
        key = self.topic_id, self.name.partition
        return {
            s.segment_id: s.facts
            for s in self.metadata.segments.values()
            if (s.topic_id, s.partition) == key and s.state == COPY_FINISHED
        }

    @cached_property
    def lineage(self) -> Sequence[EpochStart]:
        """The leader epochs of the log: leader-epoch-checkpoint's, else those of the newest copy."""
        if self.local is not None:
            path = os.path.join(self.local.directory, "leader-epoch-checkpoint")
            if exists(path):
                return parse_leader_epochs(read_file(path))[0]
        return self._chain.lineage

    @cached_property
    def start_offset(self) -> int:
        """The log start offset: the checkpoint's, else the first offset of any tier."""
        if self.local is not None:
            known = LogDir(self.local.log_dir).checkpoint(LOG_STARTS).offsets.get(self.name[:2])
            if known is not None:
                return known
        firsts = [facts.start for facts in self.facts.values()]
        firsts += [segment.base_offset for segment in self._local_segments[:1]]
        return min(firsts, default=0)

    @cached_property
    def local_start(self) -> int | None:
        """Where the local log starts, None without one."""
        return max(self.start_offset, self._local_segments[0].base_offset) if self._local_segments else None

    @cached_property
    def served(self) -> list[Served]:
        """Which copies serve the offsets from the log start to the local log, or to the end of the tier."""
        end = self.local_start
        if end is None:
            end = max((facts.end for facts in self.facts.values()), default=-1) + 1
        if self.metadata is None:
            ranges = [
                s._replace(first=max(s.first, self.start_offset), last=min(s.last, end - 1)) for s in self._chain.served
            ]
            return [s for s in ranges if s.first <= s.last]
        indexes = self.metadata.indexes.get((self.topic_id or "", self.name.partition))
        return [] if indexes is None else served(indexes, self.facts, self.lineage, self.start_offset, end)

    @cached_property
    def remote_segments(self) -> list[tuple[Segment, Served]]:
        """The segments of the tier that serve offsets, in order, with what they serve; not those without objects."""
        return [(self.segment(s.segment_id), s) for s in self.served if s.segment_id and self._has(s.segment_id)]

    def _has(self, segment_id: str) -> bool:
        copy = self.copies.get(segment_id)
        return copy is not None and not copy.missing

    def segment(self, segment_id: str) -> Segment:
        """A copy as a segment. Raises CannotRead where its objects are not all there."""
        if not self._has(segment_id):
            raise CannotRead(
                f"{self.name.topic}-{self.name.partition}: the objects of segment {segment_id} are missing"
            )
        copy = self.copies[segment_id]
        segment = copy.segment()
        segment.files = {file.kind: file for file in files_of(copy)}
        return segment

    @property
    def highest_remote(self) -> int:
        """RemoteLogManager.findHighestRemoteOffset: the last offset that was copied, -1 for none."""
        if self.metadata is None:
            return max((facts.end for facts in self.facts.values()), default=-1)
        indexes = self.metadata.indexes.get((self.topic_id or "", self.name.partition))
        following: int | None = None
        for line in reversed(self.lineage):
            index = indexes.by_epoch.get(line.epoch) if indexes is not None else None
            if index is not None and index.highest is not None:
                return index.highest if following is None else min(index.highest, following - 1)
            following = line.start_offset
        return -1


class TieredPartition(Partition):
    """The segments of both tiers as one directory: those of the tier that serve offsets, then the local ones."""

    def __init__(self, log: TieredLog) -> None:
        directory = log.local.directory if log.local is not None else next(iter(log.copies.values())).directory
        super().__init__(directory, [])
        self.name = log.name
        self.log = log
        remote = {segment.tag: segment for segment, _ in log.remote_segments}.values()
        self.files = [file for segment in remote for file in segment.files.values()]
        if log.local is not None:
            self.files += log.local.files


class TieredReader(PartitionReader):
    """A partition's bounds and segments across both tiers, as a consumer sees them.

    `tiered` says whether the topic has tiered storage: a broker answers nothing about the tier where it has not.
    """

    def __init__(self, partition: TieredPartition, *, tiered: bool = True) -> None:
        super().__init__(partition)
        self.log, self._tiered = partition.log, tiered

    @cached_property
    def start_offset(self) -> int:
        """The log start offset."""
        return self.log.start_offset

    @cached_property
    def epochs(self) -> Epochs:
        """The leader epochs of the log."""
        return Epochs(self.log.lineage)

    def active(self, segment: Segment) -> bool:
        """Whether appends go to this segment."""
        return self.log.local is not None and super().active(segment)

    def segment_of_largest_time(self) -> tuple[Segment, int, int]:
        """As the broker, which does not look into the tier where there is a local log."""
        local = [segment for segment in self.segments if not segment.tag]
        return self.largest_time_of(local or self.segments)

    def each_record(self, start: int | None = None) -> Iterator[Record]:
        """Every record from an offset on, one after another."""
        following = self.start_offset if start is None else start
        for record in super().each_record(start):
            if record.offset >= following:  # copies may overlap
                following = record.offset + 1
                yield record

    def list_offsets(
        self,
        timestamp: int,
        start: int | None = None,
        isolation: str | None = None,
        watch: Callable[[SegmentReader], None] | None = None,
        broker_version: versions.Version = versions.NEWEST,
    ) -> Listed:
        """As PartitionReader.list_offsets, with the answers that only tiered storage has."""
        if timestamp in (EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
            self.must_be_known(timestamp, start, broker_version)
            offset = self._special(timestamp)
            if offset < 0:
                return Listed(None, None, 0, "nothing of this partition has been copied to the tier")
            return Listed(None, FoundTime(0, -1, offset, self.epochs.at(offset)), 0, None)
        if timestamp >= 0:
            first = max(self.start_offset, start or 0)
            segment = self._remote_segment_of_time(timestamp, first)
            if segment is not None:
                with SegmentReader(segment) as reader:
                    found = reader.find_by_timestamp(timestamp, first)
                    if watch:
                        watch(reader)
                if found.offset is not None:
                    return self.listed(segment, found, isolation)
        return super().list_offsets(timestamp, start, isolation, watch, broker_version)

    def segment_of_time(self, timestamp: int) -> Segment | None:
        """The first local segment whose largest timestamp is at least this one, or None."""
        return self.segment_of_time_in([s for s in self.segments if not s.tag], timestamp)

    def _special(self, timestamp: int) -> int:
        local, highest = self.log.local_start, self.log.highest_remote
        if timestamp == EARLIEST_LOCAL:
            return self.start_offset if local is None else local
        if not self._tiered or timestamp == LATEST_TIERED:
            return highest if self._tiered else -1
        if highest < 0:
            return self.start_offset if local == self.start_offset else -1
        return max(highest + 1, self.start_offset)

    def _remote_segment_of_time(self, timestamp: int, first: int) -> Segment | None:
        """The copy that the broker searches for a time: RemoteLogManager.findOffsetByTimestamp."""
        epoch = self.epochs.at(first)
        local = next((s.base_offset for s in self.segments if not s.tag), None)
        in_order = sorted(self.log.facts.values(), key=lambda facts: (facts.start, facts.end))
        for line in self.log.lineage:
            if epoch is None or line.epoch < epoch:
                continue
            for facts in in_order:
                if line.epoch not in facts.epochs or facts.max_timestamp < timestamp or facts.end < first:
                    continue
                if is_within(facts, self.log.lineage):
                    return None if local is not None and facts.start >= local else self.log.segment(facts.segment_id)
        return None


class Tiers:
    """Remote tiers and the log dirs that go with them: each tier is listed once, each metadata topic read once."""

    def __init__(self, remote: Sequence[str], topic_id: str | None = None) -> None:
        """With a `topic_id`, only that topic's objects are listed."""
        self._remote, self._topic_id = remote, topic_id
        self._metadata: dict[str, tuple[RemoteLogMetadata | None, Cluster]] = {}

    @cached_property
    def _copies(self) -> dict[tuple[str, int], list[RemoteCopy]]:
        found: dict[tuple[str, int], list[RemoteCopy]] = {}
        for tier in self._remote:
            for listed in copies_below(tier, self._topic_id):
                if isinstance(listed, CannotRead):
                    raise listed
                for copy in listed[1]:
                    if copy.place is not None:
                        found.setdefault((copy.place.topic_id, copy.place.partition), []).append(copy)
        return found

    def reader(self, local: Partition) -> TieredReader:
        """The log of a partition's directory and its copies in the tiers. Raises CannotRead, UsageError."""
        if local.name is None:
            raise UsageError(f"{local.directory}: its name gives no topic and partition, so its copies are unknown")
        topic_id = partition_identity(local).topic_id
        copies = [] if topic_id is None else self._copies.get((topic_id, local.name.partition), [])
        metadata, cluster = self._near(local.log_dir)
        log = TieredLog(local.name, topic_id, copies, local, metadata)
        node_id = LogDir(local.log_dir).identity.node_id
        setting = cluster.setting(local.name.topic, "remote.storage.enable", node_id)
        tiered = bool(copies) or (setting is not None and setting.value == "true")
        return TieredReader(TieredPartition(log), tiered=tiered)

    def _near(self, directory: str) -> tuple[RemoteLogMetadata | None, Cluster]:
        """The remote log metadata and the cluster of a log dir and of those next to it."""
        if directory not in self._metadata:
            log_dir = LogDir(directory)
            near = [log_dir, *sibling_log_dirs(log_dir)]
            cluster = cluster_of(near)
            self._metadata[directory] = read_remote_log_metadata(near, partitions_of(cluster)), cluster
        return self._metadata[directory]


def open_tiered(directory: str, remote: Sequence[str]) -> TieredReader:
    """The log of a partition's directory and its copies in tiers, or of a tier's own directory. Raises CannotRead."""
    own = copies_in(directory, list_directory(directory))
    if own:
        name, topic_id, *_ = remote_log(directory, own)
        return TieredReader(TieredPartition(TieredLog(name, topic_id, own, None, None)))
    local = Partition(directory)
    return Tiers(remote, partition_identity(local).topic_id).reader(local)


def partitions_of(cluster: Cluster) -> int | None:
    """How many partitions __remote_log_metadata has, None where the cluster's metadata is not at hand."""
    topic = cluster.topic(TOPIC)
    return len(topic.assignments) if topic is not None else None
