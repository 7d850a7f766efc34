# ruff: noqa: E501 - one row a behaviour
"""Every behaviour that a prediction can name: its Kafka source, and a recorded run that shows it.

The runs are scenarios of tests/startup and docs/startup.md (kafka-4.3.1 unless they name a version).
"""

from __future__ import annotations

from typing import NamedTuple


class Behaviour(NamedTuple):
    """`name` is what a row's field `rule` holds."""

    name: str
    source: str
    run: str
    text: str


def _list(*rows: tuple[str, str, str, str]) -> dict[str, Behaviour]:
    return {row[0]: Behaviour(*row) for row in rows}


BEHAVIOURS = _list(
    ("meta-missing", "MetaPropertiesEnsemble.verify", "clean-meta-missing", "A log dir without a readable meta.properties: the broker refuses. 2.8.2 writes a new one."),
    ("meta-no-node", "MetaPropertiesEnsemble.verify", "clean-meta-version-0", "A meta.properties of version 0 without broker.id: the broker refuses."),
    ("meta-other-node", "MetaPropertiesEnsemble.verify", "clean-meta-wrong-node", "Another node id than the one that the cluster's metadata has for this log dir: the broker refuses."),
    ("meta-other-cluster", "MetaPropertiesEnsemble.verify", "clean-two-dirs-other-cluster", "Log dirs of two clusters: the broker refuses."),
    ("meta-cluster-id-not-generated", "KafkaServer.startup", "2.8.2: clean-meta-cluster-some", "With ZooKeeper the stored cluster.id must be ZooKeeper's, which is a random UUID."),
    ("meta-reserved-directory", "MetaPropertiesEnsemble.verify", "clean-meta-reserved-directory-id", "A directory.id that Kafka reserves: the broker refuses."),
    ("meta-same-directory", "MetaPropertiesEnsemble.verify", "clean-two-dirs-same-directory-id", "Two log dirs with one directory.id: the broker refuses."),
    ("meta-other-directory", "BrokerLifecycleManager", "clean-meta-other-directory-id", "The metadata knows the log dir by another directory.id: the logs are loaded, and no partition gets a leader."),
    ("log-dir-is-no-directory", "LogManager.createAndValidateLogDirs", "clean-two-dirs-second-is-a-file", "A log dir that is a file goes offline."),
    ("metadata-elsewhere", "KafkaRaftServer.initializeLogDirs", "not recorded", "__cluster_metadata-0 in two log dirs: the broker refuses."),
    ("metadata-missing", "KafkaRaftServer", "clean-metadata-log-missing", "Without __cluster_metadata-0 a node that is its own controller begins an empty cluster from bootstrap.checkpoint."),
    ("metadata-recovered", "KafkaMetadataLog", "clean-as-it-was", "The metadata log is never clean: it is recovered at each start."),
    ("metadata-snapshot-corrupt", "RecordsSnapshotReader", "clean-metadata-snapshot-corrupt", "The newest metadata snapshot has a wrong CRC or is torn: the broker refuses."),
    ("metadata-dropped", "KafkaMetadataLog.truncateToLatestSnapshot", "clean-metadata-log-lost-snapshots-there", "The metadata log ends before its newest snapshot: it is deleted and restarts at the snapshot."),
    ("quorum-state-unusable", "FileQuorumStateStore", "clean-quorum-state-malformed", "A quorum-state that is empty or no JSON: the broker refuses."),
    ("clean-mark", "LogManager.loadLogs", "clean-as-it-was", "The mark of a clean stop is deleted, and no log of this log dir is recovered. A start that then refuses has used it up."),
    ("no-clean-mark", "LogManager.loadLogs", "clean-mark-missing", "Without the mark the segments from the recovery point on are recovered."),
    ("checkpoint-unreadable", "CheckpointFileWithFailureHandler", "clean-recovery-point-garbage", "A checkpoint file with bytes that are no text, or of a wrong shape, takes the log dir offline."),
    ("checkpoint-ignored", "LogManager.loadLogs", "killed-recovery-point-malformed-line", "A number in a checkpoint that is no number: the entire file counts as absent."),
    ("recovery-points-absent", "LogManager.loadLogs", "killed-recovery-point-missing", "Without recovery points every segment is recovered after a crash."),
    ("log-starts-absent", "LogManager.loadLogs", "clean-rich-log-start-missing", "Without log start offsets each log starts at its first segment: deleted records are served again."),
    ("directory-name", "UnifiedLog.parseTopicPartitionName", "clean-directory-lost-and-found", "A directory that is not named as a partition: the broker refuses. 2.8.2 does not know -stray."),
    ("duplicate-partition", "LogManager.loadLog", "clean-two-dirs-same-partition", "A partition in two log dirs: the broker refuses."),
    ("future-beside-current", "LogManager.recoverAbandonedFutureLogs", "clean-future-directory", "A -future directory in the log dir of its partition: the broker refuses."),
    ("future-promoted", "LogManager.recoverAbandonedFutureLogs", "clean-future-directory-alone", "A -future directory takes the place of its partition. 2.8.2 fails to rename it."),
    ("future-catches-up", "ReplicaAlterLogDirsThread", "clean-two-dirs-future-in-the-other", "A -future directory in another log dir is caught up and takes the partition's place."),
    ("delete-directory", "LogManager.loadLog", "clean-delete-directory", "A -delete directory is loaded with a log end of 0 and deleted after file.delete.delay.ms."),
    ("stray-directory", "LogManager.loadLog", "clean-stray-directory", "A -stray directory is loaded and left alone."),
    ("stray", "LogManager.isStrayKraftReplica", "clean-stray-topic", "A partition that the metadata does not have under this topic id and on this broker is renamed -stray."),
    ("remade-empty", "ReplicaManager.applyDelta", "clean-partition-metadata-missing", "A partition that the metadata has and no log dir holds is created again and serves [0, 0)."),
    ("leader-epochs-malformed", "LeaderEpochCheckpointFile", "clean-leader-epoch-malformed", "A leader-epoch-checkpoint with text instead of a number: the broker refuses, even with other log dirs."),
    ("leader-epochs-unreadable", "CheckpointFileWithFailureHandler", "clean-leader-epoch-wrong-count", "A leader-epoch-checkpoint of a wrong version or count takes the log dir offline."),
    ("partition-metadata-unreadable", "PartitionMetadataFile", "clean-partition-metadata-malformed", "A malformed partition.metadata, or one with the zero id, takes the log dir offline."),
    ("partition-metadata-empty", "PartitionMetadataFile", "clean-partition-metadata-empty", "An empty partition.metadata: the broker refuses."),
    ("file-name", "LogFileUtils.offsetFromFileName", "clean-name-not-a-number", "A .log or index whose name is no offset: the broker refuses."),
    ("left-over", "LogLoader.removeTempFilesAndCollectSwapFiles", "clean-deleted-files", "Files that end in .deleted or .cleaned are deleted."),
    ("swap-dropped", "LogLoader.removeTempFilesAndCollectSwapFiles", "clean-swap-after-cleaned", "A .swap at or above the smallest .cleaned is deleted, the originals stay."),
    ("swap-replaces", "LogLoader.load", "clean-swap-originals-there", "A .swap takes the place of the segments in its offset range, whatever state it is in."),
    ("orphaned-index", "LogLoader.loadSegmentFiles", "clean-older-log-missing", "An index without its .log is deleted; nothing reports the hole."),
    ("index-missing", "LogSegment.sanityCheck", "clean-older-index-missing", "A segment without an offset index is read, and its indexes are built from the log."),
    ("time-index-missing", "LogSegment.sanityCheck", "clean-older-timeindex-missing", "A missing time index is made empty, not rebuilt."),
    ("transaction-index-corrupt", "TransactionIndex.sanityCheck", "clean-txnindex-wrong-offset", "A transaction index with an offset below the segment's base: the segment is read, its indexes are rebuilt."),
    ("name-not-20-digits", "LogSegment.open", "clean-name-not-20-digits", "A .log whose name has fewer than 20 digits: an empty segment of that base takes its place."),
    ("recovered", "LogSegment.recover", "killed-as-it-was", "A segment at or above the recovery point is read, its CRCs are checked, its indexes are rebuilt."),
    ("cut", "LogSegment.recover", "killed-unflushed-wrong-crc", "Recovery cuts a segment at its first bad batch."),
    ("later-segments-dropped", "LogLoader.recoverLog", "killed-unflushed-wrong-crc", "After a cut every later segment is renamed .deleted, however whole it is."),
    ("offsets-go-back", "LogLoader.recoverLog", "killed-active-offset-goes-back", "Offsets that go back where an index entry is due: the whole segment is cut to 0 bytes."),
    ("overflow-split", "LogLoader.retryOnOffsetOverflow", "killed-active-offset-overflow", "A segment with an offset more than 2147483647 past its base is split, and recovery begins again."),
    ("overflow-refused", "LocalLog.splitOverflowedSegment", "seed 2: killed-unflushed-base-name-too-high", "An offset below the segment's base, met in recovery: the broker refuses."),
    ("log-end-unreadable", "LogSegment.readNextOffset", "clean-active-zero-tail", "Bytes that are no batch in the active segment of a clean log: the broker refuses."),
    ("log-end-falls", "LogSegment.readNextOffset", "clean-active-lost-tail", "The log end is found from the offset index's last entry; where that leads nowhere, the log ends at the segment's base."),
    ("torn-not-seen", "LogSegment.readNextOffset", "2.8.2: clean-active-torn-tail", "A torn batch at the end of a clean log is not cut, and later appends go behind it."),
    ("ends-below-recovery-point", "LogLoader.recoverLog", "clean-active-log-missing", "The recovery point is lowered to the log end: what was flushed and is gone is not reported."),
    ("partition-missing", "ReplicaManager.applyDelta", "clean-partition-missing", "A partition of the recovery point checkpoint without a directory: created again, it serves [0, 0) without an error."),
    ("log-start-ahead", "LogLoader.deleteSegmentsIfLogStartGreaterThanLogEnd", "clean-log-start-ahead-of-end", "A log start offset past the log end: all segments are renamed .deleted, an empty log begins there."),
    ("empty-log", "LogLoader.recoverLog", "clean-all-logs-missing", "A partition without a .log gets an empty segment at its log start offset."),
    ("snapshot-stray", "ProducerStateManager.removeStraySnapshots", "clean-snapshot-orphaned", "A producer snapshot at an offset that is no segment's base and not the newest is deleted."),
    ("snapshot-out-of-range", "ProducerStateManager.truncateAndReload", "clean-snapshot-past-end", "A producer snapshot past the log end, or at or below the log start, is deleted."),
    ("snapshot-corrupt", "ProducerStateManager.loadFromSnapshot", "clean-snapshot-last-corrupt", "A producer snapshot with a wrong CRC is deleted, and the one before it is loaded."),
    ("snapshot-written", "UnifiedLog.rebuildProducerState", "clean-snapshot-last-missing", "Producer state is read from the log after the newest snapshot, and written at the log end."),
)  # fmt: skip
