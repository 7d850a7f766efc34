"""The replicas of a partition against each other. Only `kidx scan` compares them."""

from __future__ import annotations

from collections.abc import Iterator

from kidx.checks.rule import check
from kidx.checks.subjects.replicas import HeldBatch, Replica, ReplicaSet
from kidx.checks.texts import FETCH_AGAIN
from kidx.findings import ERROR, NOTE, WARNING, Finding, Rule

REPLICA_DIFFERS = Rule(
    code="KX601",
    name="replica-differs",
    severity=ERROR,
    title="Replicas hold different batches at the same offset",
    broker=(
        "Brokers never compare the batches of replicas that are in sync: consumers of this replica get other records, "
        "and after a change of leader all new replicas do."
    ),
    story=(
        "Followers store the leader's batches byte for byte, so size, CRC and leader epoch of a batch are the same on "
        "every replica. Offsets that only some replicas have (retention, lag) and parts that a cleaner may have "
        "rewritten are not compared. The file was changed, restored from elsewhere, or damaged with a matching CRC. "
        "The finding is at the replica that differs from the majority, and at all of them if there is no majority. "
        "Compare them with `kidx diff`, decide which one is right, and let the others fetch the partition anew. "
        "If neither cluster.id nor topic id is at hand, only the name says that these are replicas: a note."
    ),
    repair=FETCH_AGAIN,
)

EPOCH_DIFFERS = Rule(
    code="KX602",
    name="replica-on-another-epoch",
    severity=WARNING,
    title="A replica holds records of another leader epoch than the others at the same offset",
    broker=(
        "A broker that follows a leader truncates its log to the end of the last epoch that both have (KIP-101, "
        "KIP-279) and fetches the rest again: these records are lost. If it becomes the leader, the others truncate."
    ),
    story=(
        "The replica was cut off while another broker became the leader, and has not followed the new leader since; or "
        "an unclean leader election chose a replica that lacked records. The records are only on this replica."
    ),
    repair="save the records of this replica with `kidx export` before its broker starts, if they matter",
)

REPLICA_LOST_LOG = Rule(
    code="KX603",
    name="replica-lost-log",
    severity=ERROR,
    title="A replica holds no records, and others do",
    broker=(
        "The broker starts with an empty log and fetches everything from the leader. If it becomes the leader first "
        "(unclean.leader.election.enable, or as the last replica in sync), the others truncate their logs to nothing."
    ),
    story=(
        "The log's files were deleted or emptied, or the disk was replaced. It is an error if the log dir's own "
        "replication-offset-checkpoint says that the replica had records. Without such a checkpoint it is a warning: a "
        "new replica that has not fetched anything looks the same."
    ),
    repair="start this broker only while another replica leads, and " + FETCH_AGAIN,
)


@check(ReplicaSet, REPLICA_DIFFERS, EPOCH_DIFFERS)
def replica_differs(replicas: ReplicaSet) -> Iterator[Finding] | None:
    """The first batch that differs, on each replica that differs from the majority."""
    return None if replicas.divergence is None else _differences(replicas)


def _differences(replicas: ReplicaSet) -> Iterator[Finding]:
    assert replicas.divergence is not None
    offset, held = replicas.divergence.offset, replicas.divergence.held
    differing = replicas.divergence.differing()
    for directory in differing:
        own = held[directory]
        others = [(d, batch) for d, batch in held.items() if d != directory]
        content = own and own.content
        against, other = next((o for o in others if o[0] not in differing), None) or next(
            o for o in others if (o[1] and o[1].content) != content
        )
        rule = REPLICA_DIFFERS
        if own is not None and other is not None and own.leader_epoch != other.leader_epoch:
            rule = EPOCH_DIFFERS
        many = f"{len(held) - len(differing)} of {len(held)} replicas" if len(differing) < len(held) else against
        said = f"at offset {offset} it has {_batch(own)}, and {many} {_batch(other)}"
        if many != against:
            said += f" ({against})"
        if not replicas.identified:
            said += "; neither a cluster.id nor a topic id says that they are replicas of one partition"
        yield rule.finding(
            directory if own is None else own.file,
            said,
            span=None if own is None else (own.position, own.position + own.size),
            expected=_as_object(other),
            found=_as_object(own),
            severity=None if replicas.identified else NOTE,
        )


def _batch(batch: HeldBatch | None) -> str:
    if batch is None:
        return "no batch"
    return f"a batch of {batch.size} bytes, CRC {batch.crc:#010x}, leader epoch {batch.leader_epoch}"


def _as_object(batch: HeldBatch | None) -> dict[str, int] | None:
    return batch and {"size": batch.size, "crc": batch.crc, "leader_epoch": batch.leader_epoch}


@check(ReplicaSet, REPLICA_LOST_LOG)
def replica_lost_log(replicas: ReplicaSet) -> Iterator[Finding] | None:
    """Replicas without records whose log ends before any record of the others."""
    empty = [replica for replica in replicas.replicas if replica.log_start is None]
    if not empty or not replicas.log_starts:
        return None
    return _lost(replicas, empty)


def _lost(replicas: ReplicaSet, empty: list[Replica]) -> Iterator[Finding]:
    for replica in empty:
        had = replica.high_watermark is not None and replica.high_watermark > replica.log_end
        if not had and replica.segments == 1 and replica.log_end > min(replicas.log_starts):
            continue  # retention deleted its records, and it lags behind
        said = f"it has no records and ends at {replica.log_end}; other replicas have records up to {replicas.log_end}"
        severity = NOTE if replicas.live else WARNING
        if had:
            severity = ERROR
            said += f", and the high watermark in its own checkpoint is {replica.high_watermark}"
        if not replicas.identified:
            severity = NOTE
        yield REPLICA_LOST_LOG.finding(
            replica.directory, said, expected=replicas.log_end, found=replica.log_end, severity=severity
        )
