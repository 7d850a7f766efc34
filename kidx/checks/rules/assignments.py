"""Partitions of a log dir against the topics and assignments of the cluster's metadata."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator

from kidx.checks.rule import check
from kidx.checks.subjects.log_dirs import JudgedLogDir, JudgedLogDirs
from kidx.findings import ERROR, NOTE, WARNING, Finding, Rule
from kidx.logdir.cluster import ClusterMetadata
from kidx.logdir.log_dir import FUTURE
from kidx.logdir.tree import Partition
from kidx.text.quantities import counted

TOPIC_ID_DIFFERS = Rule(
    code="KX521",
    name="topic-id-differs",
    severity=ERROR,
    title="partition.metadata has another topic id than the cluster",
    broker=(
        "Brokers of 3.9 to 4.3 rename the directory to ...-stray and serve an empty partition. 3.5 with KRaft answers "
        'for it with no record ("Expected partition ... to have topic id"). 2.8 with ZooKeeper serves it.'
    ),
    story=(
        "The topic was deleted and created again while this copy was away, the directory was copied from another "
        "cluster, or the file was edited. The records belong to the topic with the id in the file: to keep them, move "
        "the directory out of the log dir before the broker starts."
    ),
    repair="move the directory out of the log dir, or correct topic_id, before the broker starts",
)

STRAY_PARTITION = Rule(
    code="KX525",
    name="stray-partition",
    severity=WARNING,
    title="The cluster's metadata does not know a partition that is here",
    broker=(
        "Brokers of 3.9 to 4.3 rename the directory to ...-stray and keep it; 2.8 and 3.5 leave it as it is. After an "
        "unclean stop the log of an unknown topic is recovered from offset 0."
    ),
    story=(
        "The topic was deleted while the broker was away, or the directory was put here from elsewhere. Records in it "
        "are not served. Where the topic should be there, the metadata at hand is older than the topic, or of another "
        "cluster. To keep the records, move the directory out of the log dir before the broker starts."
    ),
)

PARTITION_NOT_HERE = Rule(
    code="KX526",
    name="partition-not-here",
    severity=WARNING,
    title="Partitions that the cluster's metadata assigns to this log dir are not in it",
    broker=(
        "The broker makes empty ones: with one replica they are served without a record (3.9, 4.3), with more they are "
        "fetched again."
    ),
    story=(
        "Find out whether the disk was swapped, a directory was deleted or a copy left it out, and restore it before "
        "the broker starts. If more partitions are missing than are here, only some were copied: a note."
    ),
    repair="restore the partitions from a copy, or see that other replicas have them, before the broker starts",
)

_MOST_NAMED = 10


@check(JudgedLogDir, TOPIC_ID_DIFFERS)
def topic_id_differs(judged: JudgedLogDir) -> Iterator[Finding] | None:
    """Partitions whose topic has another id by the cluster's metadata, or whose id is another topic's."""
    return None if judged.metadata is None else _other_ids(judged, judged.metadata)


def _other_ids(judged: JudgedLogDir, metadata: ClusterMetadata) -> Iterator[Finding]:
    names = {topic.topic_id: topic.name for topic in metadata.topics.values()}
    for partition, identity in judged.identities:
        assert partition.name is not None
        topic = metadata.topics.get(partition.name.topic)
        owner = names.get(identity.topic_id or "")
        if topic is not None and topic.topic_id != identity.topic_id:
            why = f"topic_id {identity.topic_id}; by __cluster_metadata topic {topic.name} has {topic.topic_id}"
            yield _other_id(partition, why + _owned(owner), topic.topic_id, identity.topic_id)
        elif topic is None and owner is not None:
            why = f"topic_id {identity.topic_id}, and no topic {partition.name.topic} is known to __cluster_metadata"
            yield _other_id(partition, why + _owned(owner), None, identity.topic_id)


def _owned(owner: str | None) -> str:
    return "" if owner is None else f"; the id is topic {owner}'s"


def _other_id(partition: Partition, text: str, expected: str | None, found: str | None) -> Finding:
    (file,) = (f.path for f in partition.files if f.kind == "partition_metadata")
    return TOPIC_ID_DIFFERS.finding(file, text, expected=expected, found=found)


@check(JudgedLogDirs, TOPIC_ID_DIFFERS)
def topic_ids_differ(log_dirs: JudgedLogDirs) -> Iterator[Finding]:
    """The same without metadata: partitions of one topic with different ids; those of the fewer, or all on a tie."""
    for group in log_dirs.side_by_side():
        if any(judged.metadata is not None for judged in group):
            continue
        by_topic: dict[str, list[tuple[Partition, str]]] = {}
        for judged in group:
            for partition, identity in judged.identities:
                if partition.name is not None and identity.topic_id is not None:
                    by_topic.setdefault(partition.name.topic, []).append((partition, identity.topic_id))
        for topic, found in by_topic.items():
            ids = Counter(topic_id for _, topic_id in found)
            if len(ids) < 2:
                continue
            most = max(ids.values())
            usual = [topic_id for topic_id, number in ids.items() if number == most]
            for partition, topic_id in found:
                if usual != [topic_id]:
                    other = next(i for i in ids if i != topic_id)
                    why = f"topic_id {topic_id}; other partitions of topic {topic} have {other}"
                    yield _other_id(partition, why, other, topic_id)


@check(JudgedLogDir, STRAY_PARTITION)
def stray_partition(judged: JudgedLogDir) -> Iterator[Finding]:
    """Partitions of unknown topics, of numbers that their topic does not have, and with names that no broker writes."""
    metadata = judged.metadata
    owned = {topic.topic_id for topic in metadata.topics.values()} if metadata else frozenset[str]()
    foreign = {p.directory for p, identity in judged.identities if identity.topic_id in owned}
    for partition in judged.partitions:
        assert partition.name is not None
        topic, number, _ = partition.name
        known = None if metadata is None else metadata.topics.get(topic)
        if os.path.basename(partition.directory) != f"{topic}-{number}":
            text = f"a broker writes the name of this partition {topic}-{number}"
        elif metadata is None:
            continue
        elif known is None:
            if partition.directory in foreign:  # KX521 says more
                continue
            text = f"__cluster_metadata knows no topic {topic}"
        elif known.assignments and number not in known.assignments:
            text = f"by __cluster_metadata topic {topic} has {counted(len(known.assignments), 'partition')}"
        else:
            continue
        yield STRAY_PARTITION.finding(partition.directory, text, severity=NOTE if judged.live else None)


@check(JudgedLogDir, PARTITION_NOT_HERE)
def partition_not_here(judged: JudgedLogDir) -> list[Finding] | None:
    """Partitions that the metadata assigns to this node and directory.id, and that are not here."""
    identity = judged.log_dir.identity
    if judged.metadata is None or identity.directory_id is None:
        return None
    assigned = judged.cluster.assigned_to(identity.directory_id)
    coming = {e.partition[:2] for e in judged.log_dir.of_kind(FUTURE) if e.partition}
    missing = sorted(assigned - judged.names - coming)
    if missing:  # a broker that finds one on another of its disks serves it from there
        missing = sorted(set(missing) - judged.on_other_disks)
    if not missing:
        return None
    few = len(missing) <= len(judged.names) and not judged.live
    named = ", ".join(f"{topic}-{number}" for topic, number in missing[:_MOST_NAMED])
    more = f" and {len(missing) - _MOST_NAMED:,} more" if len(missing) > _MOST_NAMED else ""
    text = f"{counted(len(missing), 'partition')} that __cluster_metadata assigns to it: {named}{more}"
    return [
        PARTITION_NOT_HERE.finding(
            judged.log_dir.directory,
            f"not here: {text}",
            expected=[f"{topic}-{number}" for topic, number in missing],
            found=len(judged.names),
            severity=WARNING if few else NOTE,
        )
    ]
