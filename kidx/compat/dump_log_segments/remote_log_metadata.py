"""Remote log metadata as Java's toString prints it, which is what DumpLogSegments' decoder shows.

Sources: RemoteLogSegmentMetadata, RemoteLogSegmentMetadataUpdate, RemotePartitionDeleteMetadata and their states.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Mapping
from typing import Any

from kidx.formats.records import Record
from kidx.formats.schemas.topics import FRAME_VERSION, TRAILING_BYTES, DecodedRecord, Part

_SEGMENT_STATES = ("COPY_SEGMENT_STARTED", "COPY_SEGMENT_FINISHED", "DELETE_SEGMENT_STARTED", "DELETE_SEGMENT_FINISHED")
_PARTITION_STATES = ("DELETE_PARTITION_MARKED", "DELETE_PARTITION_STARTED", "DELETE_PARTITION_FINISHED")

Data = Mapping[str, Any]


class _Refused(Exception):
    """What a constructor throws, caught where its text is printed."""


def payload(decoded: DecodedRecord, record: Record) -> str:
    """The text of one record."""
    value = decoded.value
    if value is not None and value.data is not None and value.name is not None:
        try:
            if TRAILING_BYTES in value.data:
                count = len(value.data[TRAILING_BYTES]) // 2
                raise _Refused(f"Found {count} byte(s) of garbage after {value.type}")
            return _TEXTS[value.name](value.data)
        except _Refused as e:
            return f"Error at offset {record.offset}, skipping. {e}"
    return f"Error at offset {record.offset}, skipping. {_complaint(decoded.key, value)}"


def _complaint(key: Part, value: Part | None) -> str:
    if key.type is None and value is not None and value.raw and value.raw[0] != FRAME_VERSION:
        seen = f"unknown frame version {value.raw[0]}(only frame version {FRAME_VERSION} is supported)"
        return f"Could not deserialize metadata record due to {seen}"
    if key.type is None:
        return "Error while reading type"
    if key.name is None:
        return f"org.apache.kafka.common.errors.UnsupportedVersionException: Unknown metadata id {key.type}"
    return f"Failed to deserialize record with type {key.type}"


def _segment(data: Data) -> str:
    state, start, end = _state(data), data["startOffset"], data["endOffset"]
    if start < 0:
        raise _Refused(f"Unexpected start offset = {start}. StartOffset for a remote segment cannot be negative")
    if end < start:
        raise _Refused(
            f"Unexpected end offset = {end}. EndOffset for a remote segment cannot be less than startOffset = {start}"
        )
    return (
        f"RemoteLogSegmentMetadata{{remoteLogSegmentId={_segment_id(data)}, startOffset={start}, "
        f"endOffset={end}, brokerId={data['brokerId']}, maxTimestampMs={data['maxTimestampMs']}, "
        f"eventTimestampMs={data['eventTimestampMs']}, {_contents(data, state)}"
    )


def _snapshot(data: Data) -> str:
    return (
        f"RemoteLogSegmentMetadataSnapshot{{segmentId={data['segmentId']}, startOffset={data['startOffset']}, "
        f"endOffset={data['endOffset']}, maxTimestampMs={data['maxTimestampMs']}, {_contents(data, _state(data))}"
    )


def _contents(data: Data, state: str) -> str:
    """How segments end; their epochs are a sorted map."""
    epochs = {e["leaderEpoch"]: e["offset"] for e in data["segmentLeaderEpochs"]}
    if not epochs:
        raise _Refused("segmentLeaderEpochs can not be null or empty")
    listed = ", ".join(f"{epoch}={epochs[epoch]}" for epoch in sorted(epochs))
    return (
        f"segmentLeaderEpochs={{{listed}}}, segmentSizeInBytes={data['segmentSizeInBytes']}, "
        f"customMetadata={_custom(data)}, state={state}, "
        f"txnIdxEmpty={'true' if data.get('txnIndexEmpty') else 'false'}}}"
    )


def _update(data: Data) -> str:
    return (
        f"RemoteLogSegmentMetadataUpdate{{remoteLogSegmentId={_segment_id(data)}, customMetadata={_custom(data)}, "
        f"state={_state(data)}, eventTimestampMs={data['eventTimestampMs']}, brokerId={data['brokerId']}}}"
    )


def _deletion(data: Data) -> str:
    state = data["remotePartitionDeleteState"]
    if not 0 <= state < len(_PARTITION_STATES):
        raise _Refused("null")
    return (
        f"RemotePartitionDeleteMetadata{{topicPartition={_partition(data)}, state={_PARTITION_STATES[state]}, "
        f"eventTimestampMs={data['eventTimestampMs']}, brokerId={data['brokerId']}}}"
    )


_TEXTS: dict[str, Callable[[Data], str]] = {
    "RemoteLogSegmentMetadataRecord": _segment,
    "RemoteLogSegmentMetadataSnapshotRecord": _snapshot,
    "RemoteLogSegmentMetadataUpdateRecord": _update,
    "RemotePartitionDeleteMetadataRecord": _deletion,
}


def _segment_id(data: Data) -> str:
    segment = data["remoteLogSegmentId"]
    return f"RemoteLogSegmentId{{topicIdPartition={_partition(segment)}, id={segment['id']}}}"


def _partition(data: Data) -> str:
    partition = data["topicIdPartition"]
    return f"{partition['id']}:{partition['name']}-{partition['partition']}"


def _state(data: Data) -> str:
    state = data["remoteLogSegmentState"]
    if not 0 <= state < len(_SEGMENT_STATES):
        raise _Refused("state can not be null")
    return _SEGMENT_STATES[state]


def _custom(data: Data) -> str:
    custom = data["customMetadata"]
    return "Optional.empty" if custom is None else f"Optional[CustomMetadata{{{len(b64decode(custom))} bytes}}]"
