"""Log dirs against their tier: __remote_log_metadata, the objects and the local logs, each held against the others."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from kidx.checks.engine.discovery import findings_about
from kidx.checks.engine.options import Options
from kidx.checks.engine.result import CheckResult
from kidx.checks.subjects.log_dirs import LogDirs, is_log_dir
from kidx.checks.subjects.remote import LocalSegment, ReconciledPartition, ReconciledSegment
from kidx.errors import CannotRead, KidxError, UsageError
from kidx.evidence import absolute, open_evidence
from kidx.evidence.tiered import read_manifest
from kidx.findings import NOTE, Finding, limited
from kidx.formats.object_names import MANIFEST, parse_object_name
from kidx.logdir.cluster import Cluster
from kidx.logdir.log_dir import METADATA_TOPIC, LogDir, partition_identity
from kidx.logdir.names import LOG
from kidx.logdir.tree import Partition
from kidx.lookup.partition import PartitionReader
from kidx.state.remote_log import COPY_FINISHED
from kidx.tiered.lineage import facts_of
from kidx.tiered.log import TieredLog, partitions_of
from kidx.tiered.metadata import TOPIC, RemoteLogMetadata, read_remote_log_metadata
from kidx.tiered.objects import RemoteCopy, copies_below

_Key = tuple[str, int]


def reconcile(directories: Iterable[str], options: Options, log_dirs: LogDirs, found: list[Finding]) -> CheckResult:
    """Hold the log dirs among the directories, or around them, against `options.remote`.

    The files have been checked by then, with these findings: nothing is counted as covered. Those about objects that no
    broker reads become notes. Raises UsageError where there is no log dir.
    """
    paths = list(directories)
    around = {os.path.dirname(absolute(path)): os.path.dirname(absolute(path)) for path in paths}
    given = {key: path for key, path in (around | {absolute(path): path for path in paths}).items() if is_log_dir(path)}
    if not given:
        raise UsageError("--remote holds log dirs against a tier, and none of the paths is one or lies in one")
    reconciliation = _Reconciliation([LogDir(d) for d in given.values()], options, log_dirs)
    done = reconciliation.result()
    for at, finding in enumerate(found):
        name = parse_object_name(os.path.basename(finding.file))
        if name is not None and name.segment_id in reconciliation.unread:
            found[at] = finding._replace(severity=NOTE)
    done.findings = [f for f in done.findings if options.wants(f)]
    return done


class _Reconciliation:
    def __init__(self, given: Sequence[LogDir], options: Options, log_dirs: LogDirs) -> None:
        self.given, self.options, self.done = given, options, CheckResult()
        self.unread: set[str] = set()
        self.cluster: Cluster = log_dirs.cluster_of(given[0])
        self.metadata = read_remote_log_metadata(given, partitions_of(self.cluster))
        if self.metadata is None:
            self.done.skip(TOPIC, "not in the log dirs, so the tier was held against the local logs alone")
        else:
            for problem in self.metadata.problems:
                self.done.cannot("", problem)
        self.copies: dict[str, RemoteCopy] = {}
        for tier in options.remote:
            for listed in copies_below(tier):
                if not isinstance(listed, CannotRead):  # the check of the tier has reported it
                    self.copies.update({copy.segment_id: copy for copy in listed[1]})

    def result(self) -> CheckResult:
        """Check segment by segment, then partition by partition."""
        if self.metadata is not None:
            self._segments(self.metadata)
        by_partition: dict[_Key, list[RemoteCopy]] = {}
        for copy in self.copies.values():
            if copy.place is not None:
                by_partition.setdefault((copy.place.topic_id, copy.place.partition), []).append(copy)
        for log_dir in self.given:
            for partition in log_dir.partitions:
                if partition.name is not None and partition.name.topic not in (METADATA_TOPIC, TOPIC):
                    self._partition(log_dir, partition, by_partition)
        return self.done

    def _segments(self, metadata: RemoteLogMetadata) -> None:
        for segment_id in sorted(metadata.segments.keys() | self.copies.keys()):
            listed, copy = metadata.segments.get(segment_id), self.copies.get(segment_id)
            if listed is not None:
                topic_id = listed.topic_id
            elif copy is not None and copy.place is not None and metadata.knows(*copy.place[1:]):
                topic_id = copy.place.topic_id
            else:
                self.done.skip(copy.stem if copy else "", "its partition of the metadata topic is not in the log dirs")
                continue
            segment = ReconciledSegment(
                listed, copy, self._exists(topic_id), segment_id in metadata.deleted, self.options.live
            )
            if listed is None or listed.state != COPY_FINISHED or segment.topic_exists is False:
                self.unread.add(segment_id)
            self.done.findings += limited(findings_about(self._examined(segment)))

    def _examined(self, segment: ReconciledSegment) -> ReconciledSegment:
        """Compare with the objects of a finished copy; if they cannot be read, the check of the tier reports it."""
        listed, copy = segment.listed, segment.copy
        if listed is None or copy is None or copy.missing or listed.state != COPY_FINISHED:
            return segment
        try:
            manifest = read_manifest(copy.stem + MANIFEST) if copy.has_manifest else None
            return segment._replace(manifest=manifest, facts=facts_of(copy))
        except KidxError:
            return segment

    def _exists(self, topic_id: str) -> bool | None:
        """Whether the cluster has the topic, None if its metadata is unavailable or incomplete."""
        metadata = self.cluster.metadata
        if metadata is None or metadata.problems or not metadata.topics:
            return None
        return topic_id in self.cluster.topics

    def _partition(self, log_dir: LogDir, partition: Partition, by_partition: dict[_Key, list[RemoteCopy]]) -> None:
        assert partition.name is not None
        topic_id = partition_identity(partition).topic_id
        copies = by_partition.get((topic_id or "", partition.name.partition), [])
        log = TieredLog(partition.name, topic_id, copies, partition, self.metadata)
        setting = self.cluster.setting(partition.name.topic, "remote.storage.enable", log_dir.identity.node_id)
        if not (log.facts or copies or (setting is not None and setting.value == "true")):
            return
        try:
            self.done.findings += limited(findings_about(self._reconciled(log_dir, partition, log)))
        except CannotRead as e:
            self.done.cannot(partition.directory, str(e))

    def _reconciled(self, log_dir: LogDir, partition: Partition, log: TieredLog) -> ReconciledPartition:
        assert partition.name is not None
        missing = [(s.first, s.last) for s in log.served if s.segment_id is None]
        if not log.lineage or (self.metadata is not None and log.metadata is None):
            self.done.skip(partition.directory, "without leader epochs or remote log metadata, gaps are unknown")
            missing = []
        topic, node = partition.name.topic, log_dir.identity.node_id
        not_copied = self._not_copied(partition, log)
        listed = {} if log.metadata is None else log.metadata.segments
        ids = dict.fromkeys(s.segment_id for s in log.served if s.segment_id is not None)
        sizes = {i: listed[i].value["segmentSizeInBytes"] if i in listed else self.copies[i].bytes for i in ids}
        newest = max((s.value["eventTimestampMs"] for s in listed.values() if s.state == COPY_FINISHED), default=0)
        only_local = sum(
            segment.files[LOG].size() for segment in partition.segments if segment.base_offset > log.highest_remote
        )
        return ReconciledPartition(
            log,
            partition.directory,
            missing,
            not_copied,
            newest,
            self.cluster.number(topic, "retention.ms", node),
            self.cluster.number(topic, "retention.bytes", node),
            sizes,
            only_local,
        )

    def _not_copied(self, partition: Partition, log: TieredLog) -> list[LocalSegment]:
        """Closed segments from the log start to the last stable offset that finished copies do not fully cover."""
        assert partition.name is not None
        disabled = self.cluster.setting(partition.name.topic, "remote.log.copy.disable")
        if len(partition.segments) < 2 or (disabled is not None and disabled.value == "true"):
            return []
        stable = PartitionReader(partition).last_stable_offset
        held = sorted((facts.start, facts.end) for facts in log.facts.values())
        found = []
        for segment, following in zip(partition.segments, partition.segments[1:], strict=False):
            first, end = max(segment.base_offset, log.start_offset), following.base_offset - 1
            if end < first or following.base_offset > stable or _covered(first, end, held):
                continue
            with open_evidence(segment.files[LOG].path) as evidence:
                closed_ms = evidence.mtime_ns // 1_000_000
                found.append(LocalSegment(evidence.path, segment.base_offset, end, evidence.size, closed_ms))
        return found


def _covered(first: int, last: int, ranges: Sequence[tuple[int, int]]) -> bool:
    """Whether all of `first` to `last` is in ranges that are sorted."""
    for start, end in ranges:
        if start <= first <= end:
            first = end + 1
    return first > last
