"""Remote log metadata as Java's toString prints it, which is what DumpLogSegments' decoder shows.

Sources: RemoteLogSegmentMetadata, RemoteLogSegmentMetadataUpdate, RemotePartitionDeleteMetadata and their states.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Mapping
from typing import Any

from kidx.formats.records import Record
from kidx.formats.schemas.topics import FRAME_VERSION, DecodedRecord, Part

_SEGMENT_STATES = ("COPY_SEGMENT_STARTED", "COPY_SEGMENT_FINISHED", "DELETE_SEGMENT_STARTED", "DELETE_SEGMENT_FINISHED")
_PARTITION_STATES = ("DELETE_PARTITION_MARKED", "DELETE_PARTITION_STARTED", "DELETE_PARTITION_FINISHED")

Data = Mapping[str, Any]


def payload(decoded: DecodedRecord, record: Record) -> str:
    """The text of one record."""
    value = decoded.value
    if value is not None and value.data is not None and value.name in _TEXTS:
        try:
            return _TEXTS[value.name](value.data)
        except IndexError:  # a state that Java's enum does not have
            pass
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
    epochs = ", ".join(f"{e['leaderEpoch']}={e['offset']}" for e in data["segmentLeaderEpochs"])
    return (
        f"RemoteLogSegmentMetadata{{remoteLogSegmentId={_segment_id(data)}, startOffset={data['startOffset']}, "
        f"endOffset={data['endOffset']}, brokerId={data['brokerId']}, maxTimestampMs={data['maxTimestampMs']}, "
        f"eventTimestampMs={data['eventTimestampMs']}, segmentLeaderEpochs={{{epochs}}}, "
        f"segmentSizeInBytes={data['segmentSizeInBytes']}, customMetadata={_custom(data)}, state={_state(data)}, "
        f"txnIdxEmpty={'true' if data.get('txnIndexEmpty') else 'false'}}}"
    )


def _update(data: Data) -> str:
    return (
        f"RemoteLogSegmentMetadataUpdate{{remoteLogSegmentId={_segment_id(data)}, customMetadata={_custom(data)}, "
        f"state={_state(data)}, eventTimestampMs={data['eventTimestampMs']}, brokerId={data['brokerId']}}}"
    )


def _deletion(data: Data) -> str:
    return (
        f"RemotePartitionDeleteMetadata{{topicPartition={_partition(data)}, "
        f"state={_PARTITION_STATES[data['remotePartitionDeleteState']]}, "
        f"eventTimestampMs={data['eventTimestampMs']}, brokerId={data['brokerId']}}}"
    )


_TEXTS: dict[str, Callable[[Data], str]] = {
    "RemoteLogSegmentMetadataRecord": _segment,
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
    return _SEGMENT_STATES[data["remoteLogSegmentState"]]


def _custom(data: Data) -> str:
    custom = data["customMetadata"]
    return "Optional.empty" if custom is None else f"Optional[CustomMetadata{{{len(b64decode(custom))} bytes}}]"
