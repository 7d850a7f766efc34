"""Records of Kafka's own topics as DumpLogSegments' decoders print them.

Sources: DumpLogSegments.OffsetsMessageParser and its siblings, whose JSON comes from the message classes' converters
(kidx.formats.schemas.reader.JACKSON), and ClusterMetadataLogMessageParser.
"""

from __future__ import annotations

from typing import Any

from kidx.compat.dump_log_segments import remote_log_metadata as remote_text
from kidx.compat.dump_log_segments.jackson import compact_json
from kidx.errors import WrongFormat
from kidx.formats.records import Record
from kidx.formats.schemas.reader import JACKSON
from kidx.formats.schemas.topics import (
    METADATA,
    REMOTE,
    TRAILING_BYTES,
    DecodedRecord,
    Part,
    decode_record,
    record_type_name,
)

_TOMBSTONE = "<DELETE>"


def decoded_texts(family: str, record: Record) -> tuple[str | None, str | None]:
    """The texts after `key: ` and `payload: `, None where they are left out. Raises WrongFormat where the tool dies."""
    decoded = decode_record(family, record.key, record.value, JACKSON)
    if family == METADATA:
        return None, _metadata(decoded, record)
    if family == REMOTE:
        return None, remote_text.payload(decoded, record)
    if record.key is None:
        raise WrongFormat(f"offset {record.offset}: the record has no key, so it is none of this topic's records")
    return _coordinator(decoded, record)


def _coordinator(decoded: DecodedRecord, record: Record) -> tuple[str | None, str | None]:
    key, value = decoded
    if key.name is None and key.type is not None:
        return f"Unknown record type {key.type} at offset {record.offset}, skipping.", None
    if decoded.problem:
        return f"Error at offset {record.offset}, skipping. {decoded.problem}", None
    for part in (key, value):
        if part is not None and part.data is not None:
            part.data.pop(TRAILING_BYTES, None)  # for which the tool does not look
    key_text = compact_json({"type": str(key.type), "data": key.data})
    if value is None:
        return key_text, _TOMBSTONE
    return key_text, compact_json({"version": str(value.version), "data": value.data})


def _metadata(decoded: DecodedRecord, record: Record) -> str:
    value = decoded.value
    if value is None or value.data is None or value.name is None:
        return f"Error at {record.offset}, skipping. {decoded.problem}"
    if TRAILING_BYTES in value.data:
        count = len(value.data[TRAILING_BYTES]) // 2
        return f"Error at {record.offset}, skipping. Found {count} byte(s) of garbage after {value.type}"
    return compact_json(_framed(value))


def _framed(value: Part) -> dict[str, Any]:
    assert value.name is not None
    return {"type": record_type_name(value.name), "version": value.version, "data": value.data}
