"""Control records: what transaction coordinators and KRaft write into the log between the data.

Sources: org.apache.kafka.common.record.ControlRecordType, EndTransactionMarker (KIP-98), ControlRecordUtils, and the
messages LeaderChangeMessage, SnapshotHeaderRecord, SnapshotFooterRecord (KIP-595, KIP-630), KRaftVersionRecord and
VotersRecord (KIP-853), all in the flexible encoding of KIP-482.
"""

from __future__ import annotations

import base64
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
_NUMBERS = {"int16": Struct(">h"), "int32": Struct(">i"), "int64": Struct(">q"), "uint16": Struct(">H")}

# A message: its fields in order, each a name and a type: a number's, "uuid", "string", or a tuple: the fields of an
# array's elements, or ("struct", fields). A name that ends in "?" is there from version 1 on.
_VOTER_OF_CHANGE = (("voterId", "int32"), ("voterDirectoryId?", "uuid"))
_ENDPOINT = (("name", "string"), ("host", "string"), ("port", "uint16"))
_VERSION_RANGE = (("minSupportedVersion", "int16"), ("maxSupportedVersion", "int16"))
_VOTER = (
    ("voterId", "int32"),
    ("voterDirectoryId", "uuid"),
    ("endpoints", _ENDPOINT),
    ("kRaftVersionFeature", ("struct", _VERSION_RANGE)),
)
_MESSAGES: dict[int, tuple[tuple[str, Any], ...]] = {
    LEADER_CHANGE: (("leaderId", "int32"), ("voters", _VOTER_OF_CHANGE), ("grantingVoters", _VOTER_OF_CHANGE)),
    SNAPSHOT_HEADER: (("lastContainedLogTimestamp", "int64"),),
    SNAPSHOT_FOOTER: (),
    KRAFT_VERSION: (("kRaftVersion", "int16"),),
    KRAFT_VOTERS: (("voters", _VOTER),),
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
    """A control record's type number, None where its key is none (fewer than 4 bytes, or a negative version)."""
    if key is None or len(key) < _KEY.size:
        return None
    version, type_id = _KEY.unpack_from(key)
    return int(type_id) if version >= 0 else None


def type_name(type_id: int | None) -> str:
    """Kafka's name of a type number, UNKNOWN for others."""
    return CONTROL_TYPE_NAMES[type_id] if type_id is not None and 0 <= type_id < len(CONTROL_TYPE_NAMES) else "UNKNOWN"


def parse_control(key: bytes | None, value: bytes | None) -> ControlRecord | None:
    """What a control record says, None where its key is no control record's."""
    type_id = control_type(key)
    if type_id is None:
        return None
    fields = None
    if value is not None:
        try:
            fields = _value_fields(type_id, value)
        except (ValueError, IndexError):
            fields = None
    return ControlRecord(type_id, type_name(type_id), fields)


def _value_fields(type_id: int, value: bytes) -> dict[str, Any] | None:
    if type_id in (ABORT, COMMIT):
        if len(value) < _MARKER.size:
            return None
        version, epoch = _MARKER.unpack_from(value)
        return {"version": version, "coordinatorEpoch": epoch}
    if type_id not in _MESSAGES:
        return None
    reader = _Reader(value)
    version = reader.number("int16")
    return {"version": version, **reader.struct(_MESSAGES[type_id], version)}


class _Reader:
    """Reads one message in the flexible encoding: compact strings and arrays, tagged fields after every struct.

    Raises ValueError or IndexError where the bytes end early.
    """

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def struct(self, fields: tuple[tuple[str, Any], ...], version: int) -> dict[str, Any]:
        result = {}
        for name, kind in fields:
            if name.endswith("?") and version < 1:
                continue
            result[name.rstrip("?")] = self.field(kind, version)
        for _ in range(self.unsigned()):  # tagged fields, of a later version: skipped as Kafka does
            self.unsigned()
            self.take(self.unsigned())
        return result

    def field(self, kind: Any, version: int) -> Any:
        if kind == "uuid":
            return base64.urlsafe_b64encode(self.take(16)).rstrip(b"=").decode()
        if kind == "string":
            return self.take(self.unsigned() - 1).decode(errors="replace")
        if isinstance(kind, str):
            return self.number(kind)
        if kind[0] == "struct":
            return self.struct(kind[1], version)
        return [self.struct(kind, version) for _ in range(self.count())]

    def number(self, kind: str) -> int:
        form = _NUMBERS[kind]
        return int(form.unpack(self.take(form.size))[0])

    def count(self) -> int:
        count = self.unsigned() - 1
        if count > len(self.data) - self.at:
            raise ValueError("more elements than bytes")
        return count

    def unsigned(self) -> int:
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
            if shift > 28:
                raise ValueError("a number that does not end")

    def take(self, size: int) -> bytes:
        if not 0 <= size <= len(self.data) - self.at:
            raise ValueError("it ends early")
        self.at += size
        return self.data[self.at - size : self.at]
