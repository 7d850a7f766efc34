"""Control records, which transaction coordinators and KRaft write into the log between data records.

Sources: org.apache.kafka.common.record.ControlRecordType, EndTransactionMarker (KIP-98), ControlRecordUtils, and the
messages LeaderChangeMessage, SnapshotHeaderRecord, SnapshotFooterRecord (KIP-595, KIP-630), KRaftVersionRecord and
VotersRecord (KIP-853), which kidx.formats.schemas has.
"""

from __future__ import annotations

from struct import Struct
from typing import Any, NamedTuple

ABORT, COMMIT, LEADER_CHANGE, SNAPSHOT_HEADER, SNAPSHOT_FOOTER, KRAFT_VERSION, KRAFT_VOTERS = range(7)
CONTROL_TYPE_NAMES = (
    "ABORT",
    "COMMIT",
    "LEADER_CHANGE",
    "SNAPSHOT_HEADER",
    "SNAPSHOT_FOOTER",
    "KRAFT_VERSION",
    "KRAFT_VOTERS",
)
_KEY = Struct(">hh")  # version, type
_MARKER = Struct(">hi")  # version, coordinator epoch
_VERSION = Struct(">h")
_MESSAGES = {
    LEADER_CHANGE: "LeaderChangeMessage",
    SNAPSHOT_HEADER: "SnapshotHeaderRecord",
    SNAPSHOT_FOOTER: "SnapshotFooterRecord",
    KRAFT_VERSION: "KRaftVersionRecord",
    KRAFT_VOTERS: "VotersRecord",
}


class ControlRecord(NamedTuple):
    """A control record: `type_id` as written, `name` of the type ("UNKNOWN" for one that is not known).

    `fields` are the value's, by Kafka's names (coordinatorEpoch; version, leaderId, voters, ...), JSON-able; None where
    the value cannot be read, or the type is unknown.
    """

    type_id: int
    name: str
    fields: dict[str, Any] | None


def control_type(key: bytes | None) -> int | None:
    """A control record's type number, None if its key is invalid (fewer than 4 bytes, or a negative version)."""
    if key is None or len(key) < _KEY.size:
        return None
    version, type_id = _KEY.unpack_from(key)
    return int(type_id) if version >= 0 else None


def type_name(type_id: int | None) -> str:
    """Kafka's name of a type number, UNKNOWN for others."""
    return CONTROL_TYPE_NAMES[type_id] if type_id is not None and 0 <= type_id < len(CONTROL_TYPE_NAMES) else "UNKNOWN"


def parse_control(key: bytes | None, value: bytes | None) -> ControlRecord | None:
    """The decoded control record, None if its key is not that of a control record."""
    type_id = control_type(key)
    if type_id is None:
        return None
    return ControlRecord(type_id, type_name(type_id), None if value is None else _value_fields(type_id, value))


def _value_fields(type_id: int, value: bytes) -> dict[str, Any] | None:
    if type_id in (ABORT, COMMIT):
        if len(value) < _MARKER.size:
            return None
        version, epoch = _MARKER.unpack_from(value)
        return {"version": version, "coordinatorEpoch": epoch}
    if type_id not in _MESSAGES or len(value) < _VERSION.size:
        return None
    from kidx.formats.schemas.compiler import Undecodable
    from kidx.formats.schemas.model import messages
    from kidx.formats.schemas.reader import JACKSON, read_message

    (version,) = _VERSION.unpack_from(value)  # each of these messages begins with its version
    try:
        return read_message(messages()[_MESSAGES[type_id]], version, value, 0, JACKSON)[0]
    except Undecodable:
        return None
