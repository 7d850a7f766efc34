"""The names of a remote segment's objects.

Sources: LocalTieredStorage and RemoteLogSegmentFileset (kafka-storage's tests); ObjectKeyFactory (Aiven's plugin).
"""

from __future__ import annotations

from typing import NamedTuple

LOG, INDEXES, MANIFEST = ".log", ".indexes", ".rsm-manifest"
# What a segment's copy consists of besides the log, by the suffixes of LocalTieredStorage. Aiven's plugin joins these
# parts in one object; its manifest names them as here.
PARTS = {
    ".index": "offset",
    ".timeindex": "timestamp",
    ".snapshot": "producerSnapshot",
    ".leader_epoch_checkpoint": "leaderEpoch",
    ".txnindex": "transaction",
}
SUFFIXES = (LOG, *PARTS, INDEXES, MANIFEST)

_BASE_DIGITS, _ID_CHARACTERS = 20, 22
_LARGEST = 2**63 - 1


class ObjectName(NamedTuple):
    """The name of one object: `segment_id` is the remote log segment's id, `suffix` one of SUFFIXES."""

    base_offset: int
    segment_id: str
    suffix: str


def parse_object_name(name: str) -> ObjectName | None:
    """What a file's name (not a path) says, or None: `<base offset, 20 digits>-<segment id><suffix>`.

    Ids may contain `-` and `_`, so the name is cut at fixed widths.
    """
    digits, dash, rest = name[:_BASE_DIGITS], name[_BASE_DIGITS : _BASE_DIGITS + 1], name[_BASE_DIGITS + 1 :]
    segment_id, suffix = rest[:_ID_CHARACTERS], rest[_ID_CHARACTERS:]
    if dash != "-" or suffix not in SUFFIXES or len(digits) != _BASE_DIGITS:
        return None
    if not (digits.isascii() and digits.isdigit() and is_id(segment_id)) or int(digits) > _LARGEST:
        return None
    return ObjectName(int(digits), segment_id, suffix)


def is_id(text: str) -> bool:
    """Whether a text has the form of Kafka's Uuid: 22 characters of URL-safe base64."""
    return len(text) == _ID_CHARACTERS and text.isascii() and text.replace("-", "a").replace("_", "a").isalnum()
