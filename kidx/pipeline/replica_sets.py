"""Which directories are replicas of one partition, and what is wrong among them.

A partition is identified by the cluster.id of the log dir (meta.properties), the id of the topic (partition.metadata),
the topic's name and the partition's number. Names alone identify nothing: unrelated clusters have topics of one name,
and a deleted topic that was created again has another id.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from kidx.checks.engine.discovery import findings_about
from kidx.checks.subjects.replicas import Divergence, Replica, ReplicaSet
from kidx.findings import Finding, limited
from kidx.pipeline.replicas import BucketSum, ReplicaIdentity, find_divergence, suspicion

Row = dict[str, Any]


class ReplicaFacts(NamedTuple):
    """What a task found out about one replica. `end_offset` is the log's end, None without segments."""

    directory: str
    broker: str
    topic: str
    partition: int
    identity: ReplicaIdentity
    end_offset: int | None
    sums: Sequence[BucketSum]


def replica_sets(found: Iterable[ReplicaFacts]) -> list[list[ReplicaFacts]]:
    """The replicas of directories that have the topic's name and the partition's number, set by set.

    Where an id is missing (a log dir without meta.properties, a partition without partition.metadata, versions before
    2.8), the directory belongs to the only set that it does not contradict, if there is just one.
    """
    sets: dict[tuple[str | None, str | None], list[ReplicaFacts]] = defaultdict(list)
    for facts in sorted(found, key=lambda facts: facts.directory):
        sets[facts.identity.cluster_id, facts.identity.topic_id].append(facts)
    for key in sorted(sets, key=lambda key: (key[0] is None) + (key[1] is None), reverse=True):
        if None not in key:
            continue
        fitting = [o for o in sets if o != key and all(a is None or a == b for a, b in zip(key, o, strict=True))]
        if len(fitting) == 1:
            sets[fitting[0]] += sets.pop(key)
    return [sorted(facts, key=lambda f: f.directory) for _, facts in sorted(sets.items(), key=str) if len(facts) > 1]


def judge_replicas(replicas: Sequence[ReplicaFacts], *, live: bool) -> tuple[Row, list[Finding]]:
    """A partition's row of the table `replicas`, and its findings. Reads the logs only where sums differ."""
    cleaned_below = max(facts.identity.cleaned_below for facts in replicas)
    sums = {facts.directory: facts.sums for facts in replicas}
    suspects = suspicion(sums, cleaned_below)
    held = [directory for directory in sums if sums[directory]]
    found = find_divergence(held, suspects) if suspects.buckets else None
    judged = ReplicaSet(
        next(filter(None, (facts.identity.cluster_id for facts in replicas)), None),
        next(filter(None, (facts.identity.topic_id for facts in replicas)), None),
        [_replica(facts) for facts in replicas],
        found,
        live=live,
    )
    return _row(replicas, judged, found, cleaned_below), list(limited(findings_about(judged)))


def _replica(facts: ReplicaFacts) -> Replica:
    start = facts.sums[0].first if facts.sums else None
    end = facts.sums[-1].last + 1 if facts.sums else facts.end_offset or 0
    return Replica(facts.directory, start, end, facts.identity.high_watermark, facts.identity.live_segments)


def _row(replicas: Sequence[ReplicaFacts], judged: ReplicaSet, found: Divergence | None, cleaned_below: int) -> Row:
    brokers = {facts.directory: facts.broker for facts in replicas}
    ends = {replica.directory: replica.log_end for replica in judged.replicas}
    differing = found.differing() if found else []
    empty = [r.directory for r in judged.replicas if r.log_start is None] if judged.log_starts else []
    return {
        "cluster": judged.cluster_id,
        "topic_id": judged.topic_id,
        "topic": replicas[0].topic,
        "partition": replicas[0].partition,
        "replicas": [
            {
                "broker": broker,
                "log_end": ends[directory],
                "behind": judged.log_end - ends[directory],
                "empty": directory in empty,
                "differs": directory in differing,
                "held": _held(found.held.get(directory)) if found and directory in found.held else None,
            }
            for directory, broker in brokers.items()
        ],
        "agree": found is None and not empty,
        "diverges_at": found.offset if found else None,
        "cleaned_below": cleaned_below,
    }


def _held(batch: Any) -> Row | None:
    return batch and {"size": batch.size, "crc": batch.crc, "leader_epoch": batch.leader_epoch}
