"""The meaning of a file's or directory's name: kind, base offset, topic, partition.

Source: org.apache.kafka.storage.internals.log.LogFileUtils and UnifiedLog; tiered storage: RemoteIndexCache.
"""

import os
from typing import NamedTuple

from kidx.errors import UsageError
from kidx.formats.indexes import INDEX_OF_KIND as INDEX_OF_KIND
from kidx.formats.indexes import OFFSET_INDEX, TIME_INDEX, TRANSACTION_INDEX, IndexFormat
from kidx.formats.object_names import INDEXES, MANIFEST, PARTS, parse_object_name

LOG, OFFSET, TIME, TRANSACTION = "log", OFFSET_INDEX.kind, TIME_INDEX.kind, TRANSACTION_INDEX.kind
PRODUCER_SNAPSHOT, METADATA_SNAPSHOT = "producer_snapshot", "metadata_snapshot"
LEADER_EPOCHS = "leader_epochs"
REMOTE_MANIFEST, REMOTE_INDEXES = "remote_manifest", "remote_indexes"  # objects of Aiven's plugin for tiered storage

_KIND_OF_SUFFIX = {
    ".log": LOG,
    **{index_format.suffix: kind for kind, index_format in INDEX_OF_KIND.items()},
    ".snapshot": PRODUCER_SNAPSHOT,
    ".checkpoint": METADATA_SNAPSHOT,
}
SEGMENT_SUFFIX = {kind: suffix for suffix, kind in _KIND_OF_SUFFIX.items()}
_KIND_OF_OBJECT = {
    **_KIND_OF_SUFFIX,
    ".leader_epoch_checkpoint": LEADER_EPOCHS,
    INDEXES: REMOTE_INDEXES,
    MANIFEST: REMOTE_MANIFEST,
}
_KIND_OF_NAME = {
    "leader-epoch-checkpoint": LEADER_EPOCHS,
    "partition.metadata": "partition_metadata",
    "quorum-state": "quorum_state",
    "meta.properties": "meta_properties",
    "recovery-point-offset-checkpoint": "offset_checkpoint",
    "replication-offset-checkpoint": "offset_checkpoint",
    "log-start-offset-checkpoint": "offset_checkpoint",
    "cleaner-offset-checkpoint": "offset_checkpoint",
    ".kafka_cleanshutdown": "clean_shutdown_mark",
    ".lock": "lock",
    "bootstrap.checkpoint": METADATA_SNAPSHOT,
}
_LARGEST_OFFSET = 2**63 - 1

# 20 digits and a suffix; KRaft snapshots add the epoch, tiered-storage caches (RemoteIndexCache) a segment's UUID.
# Kept as text: re compiles and caches them when a name needs them; common names do without its import.
_SEGMENT = r"([0-9]{20})(?:-([0-9]{10}))?(\.[a-z]+)((?:\.deleted|\.cleaned|\.swap)?)"
_TIERED = r"([0-9]+)_([A-Za-z0-9_-]{22})(\.[a-z]+)((?:\.deleted)?)"
_LOOSE = r".*?(\.(?:log|index|timeindex|txnindex|snapshot|checkpoint))((?:\.deleted|\.cleaned|\.swap)?)"
_PARTITION = r"(.+)-([0-9]+)(?:\.[0-9a-f]{32}-(delete|future|stray))?"


class FileName(NamedTuple):
    """A parsed file name. `base_offset` is None if the name has none; `state` is "", ".deleted", ...

    `tag` distinguishes files of one base offset: a remote segment's id, a KRaft snapshot's epoch; else "".
    """

    kind: str
    base_offset: int | None
    state: str
    tag: str = ""


class PartitionName(NamedTuple):
    """A partition directory's name; `state` is "", "delete", "future" or "stray"."""

    topic: str
    partition: int
    state: str


def parse_file_name(path: str) -> FileName | None:
    """The kind, base offset and state in a path's last part, or None."""
    name = os.path.basename(path)
    if name in _KIND_OF_NAME:
        return FileName(_KIND_OF_NAME[name], None, "")
    if name[20:21] == "-" and (found := parse_object_name(name)):
        return FileName(_KIND_OF_OBJECT[found.suffix], found.base_offset, "", found.segment_id)
    digits, tag, suffix, state = name[:20], "", name[20:], ""
    if not (digits.isascii() and digits.isdigit() and suffix in _KIND_OF_SUFFIX):  # not a common name
        import re

        if (match := re.fullmatch(_SEGMENT, name)) or (match := re.fullmatch(_TIERED, name)):
            digits, tag, suffix, state = match.groups(default="")
        elif match := re.fullmatch(_LOOSE, name):
            digits, (suffix, state) = "", match.groups()
        else:
            return None
    kind = _KIND_OF_SUFFIX.get(suffix)
    if kind is None:
        return None
    base_offset = int(digits) if digits else None
    if base_offset is not None and base_offset > _LARGEST_OFFSET:
        base_offset = None
    return FileName(kind, base_offset, state, tag)


def parts_of_segment(path: str) -> list[tuple[str, FileName]]:
    """Paths and names of the parts of a remote segment that are in its `.indexes` object, by its manifest's path.

    kidx opens them by these names (kidx.evidence.tiered). The transaction index of a segment without one is empty.
    """
    name = parse_object_name(os.path.basename(path))
    if name is None or name.suffix not in (MANIFEST, INDEXES):
        return []
    stem = path.removesuffix(name.suffix)
    return [(stem + s, FileName(_KIND_OF_OBJECT[s], name.base_offset, "", name.segment_id)) for s in PARTS]


def parse_partition_name(path: str) -> PartitionName | None:
    """The topic and partition in a directory's name, or None. Topics may contain dashes, dots and digits."""
    name = os.path.basename(os.path.normpath(path))
    topic, _, partition = name.rpartition("-")
    if topic and partition.isascii() and partition.isdigit():
        return PartitionName(topic, int(partition), "")
    import re

    match = re.fullmatch(_PARTITION, name)
    return PartitionName(match[1], int(match[2]), match[3] or "") if match else None


def index_format_of(path: str, kind: str | None = None) -> IndexFormat:
    """The index format of a path, by `kind` if given, else by its suffix. Raises UsageError."""
    if kind is None:
        name = parse_file_name(path)
        kind = name.kind if name else None
    if kind in INDEX_OF_KIND:
        return INDEX_OF_KIND[kind]
    raise UsageError(f"{path}: not an index by its name; an index ends in .index, .timeindex or .txnindex")


def base_offset_of(path: str, given: int | None = None) -> int:
    """The base offset: `given` if the caller has one, else the name's. Raises UsageError if there is none."""
    if given is not None:
        if not 0 <= given <= _LARGEST_OFFSET:
            raise UsageError(f"{path}: --base-offset {given} is not an offset; offsets are 0 to {_LARGEST_OFFSET}")
        return given
    name = parse_file_name(path)
    if name is not None and name.base_offset is not None:
        return name.base_offset
    digits = os.path.basename(path)[:20]
    if len(digits) == 20 and digits.isascii() and digits.isdigit():
        raise UsageError(
            f"{path}: the base offset in its name is beyond any offset ({_LARGEST_OFFSET}); give one with --base-offset"
        )
    raise UsageError(f"{path}: its name holds no base offset (20 digits); give one with --base-offset")
