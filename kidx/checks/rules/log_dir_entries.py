"""What lies in a log dir: directories that are no partition, and partitions that are going, coming or left over."""

from __future__ import annotations

from collections.abc import Iterator

from kidx.checks.rule import check
from kidx.checks.subjects.log_dirs import JudgedLogDir, directory_bytes
from kidx.findings import ERROR, NOTE, WARNING, Finding, Rule
from kidx.logdir.log_dir import DELETED, FUTURE, LOST_FOUND, OTHER_DIRECTORY, STRAY, LogDirEntry
from kidx.text.quantities import size_text

NOT_A_PARTITION = Rule(
    code="KX520",
    name="not-a-partition",
    severity=ERROR,
    title="A directory in a log dir is no partition",
    broker=(
        'Brokers of 2.8 to 4.3 do not start: "Found directory ..., is not in the form of topic-partition". One '
        "directory on one disk is enough. The attempt has already used up the mark of the clean stop (3.9, 4.3), so "
        "the next start recovers every log."
    ),
    story=(
        "Kafka takes every directory of its log dirs for a partition. lost+found is made by mkfs at the root of an ext "
        "file system: give Kafka a directory below the mount point, or remove lost+found if it is empty. Anything else "
        "was put there by hand or by a tool: move it away before the broker starts."
    ),
    repair="move the directory out of the log dir before the broker starts",
)

FUTURE_BESIDE_CURRENT = Rule(
    code="KX530",
    name="future-beside-current",
    severity=ERROR,
    title="A partition and its future replica lie in the same log dir",
    broker=(
        "Brokers of 3.5 to 4.3 do not start: renaming the future replica fails with FileSystemException (Directory not "
        "empty). In another log dir of the broker it is a move under way."
    ),
    story=(
        "A broker moves a partition to another of its disks by way of a -future directory there, and renames it when "
        "it has caught up. Both in one log dir come from a copy that merged two disks. Compare them (`kidx diff`) and "
        "move the shorter one away before the broker starts."
    ),
    repair="compare both (`kidx diff`) and move the shorter one out of the log dir before the broker starts",
)

WAITING_FOR_DELETION = Rule(
    code="KX531",
    name="waiting-for-deletion",
    severity=NOTE,
    title="A deleted partition waits for the deletion of its files",
    broker="Brokers of 2.8 to 4.3 load it at start and delete it after file.delete.delay.ms.",
    story=(
        "A broker renames a deleted partition's directory to ...-delete and removes it a minute later. Where the "
        "broker stopped in between it stays until the next start. Its files need no repair: their findings are notes."
    ),
)

FUTURE_REPLICA = Rule(
    code="KX532",
    name="future-replica",
    severity=NOTE,
    title="A partition is being moved to this log dir",
    broker=(
        "The broker copies what is missing and swaps the directory in. A future replica without its partition anywhere "
        "is promoted by 3.9 and 4.3; 2.8 does not start with it."
    ),
    story=(
        "kafka-reassign-partitions.sh moves partitions between the disks of a broker by way of -future directories. "
        "Until it is swapped in, no client reads it."
    ),
)

STRAY_DIRECTORY = Rule(
    code="KX533",
    name="stray-directory",
    severity=NOTE,
    title="A broker set a partition aside as stray",
    broker=(
        "Brokers of 3.9 to 4.3 load it and leave it alone. 2.8 and 3.5 do not know the suffix and do not start "
        '("not in the form of topic-partition").'
    ),
    story=(
        "A broker that finds a partition which the cluster's metadata does not assign to it, or one of another topic "
        "id, renames its directory to ...-stray and keeps it. Its records may be missing elsewhere: look at them with "
        "`kidx dump` before you delete it."
    ),
)

_OURS = ".kidx"  # where kidx keeps journals and backups


@check(JudgedLogDir, NOT_A_PARTITION)
def not_a_partition(judged: JudgedLogDir) -> Iterator[Finding]:
    """Directories that a broker would take for partitions and that are none by their names."""
    for entry in judged.log_dir.of_kind(LOST_FOUND, OTHER_DIRECTORY):
        if not entry.name.startswith(_OURS):
            text = "the name of this directory is not TOPIC-NUMBER, and a broker takes every directory for a partition"
            yield NOT_A_PARTITION.finding(entry.path, text, found=entry.name)


@check(JudgedLogDir, FUTURE_BESIDE_CURRENT, FUTURE_REPLICA)
def future_replica(judged: JudgedLogDir) -> Iterator[Finding]:
    """Future replicas, and those whose partition is in the same log dir."""
    for entry in judged.log_dir.of_kind(FUTURE):
        if entry.partition and judged.log_dir.partition(*entry.partition[:2]):
            text = f"the partition {entry.partition.topic}-{entry.partition.partition} is in this log dir, too"
            yield FUTURE_BESIDE_CURRENT.finding(entry.path, text)
        else:
            yield _of_bytes(FUTURE_REPLICA, entry, "a future replica")


@check(JudgedLogDir, WAITING_FOR_DELETION)
def waiting_for_deletion(judged: JudgedLogDir) -> Iterator[Finding]:
    """Partitions that are deleted, and whose files are still there."""
    for entry in judged.log_dir.of_kind(DELETED):
        yield _of_bytes(WAITING_FOR_DELETION, entry, "a deleted partition")


@check(JudgedLogDir, STRAY_DIRECTORY)
def stray_directory(judged: JudgedLogDir) -> Iterator[Finding]:
    """Partitions set aside. A KRaft log dir without a directory id was written by no broker that knows the suffix."""
    identity = judged.log_dir.identity
    severity = WARNING if identity.version == 1 and identity.directory_id is None else NOTE
    for entry in judged.log_dir.of_kind(STRAY):
        yield _of_bytes(STRAY_DIRECTORY, entry, "a stray partition", severity)


def _of_bytes(rule: Rule, entry: LogDirEntry, what: str, severity: str | None = None) -> Finding:
    size = directory_bytes(entry.path)
    return rule.finding(entry.path, f"{what} of {size_text(size)}", found=size, severity=severity)
