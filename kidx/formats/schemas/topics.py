"""What the records of Kafka's own topics say: key and value of each, by the topic's family.

Sources: CoordinatorRecordSerde and its children (an int16 before the key names the kind, one before the value its
version), MetadataRecordSerde and RemoteLogMetadataSerde (frame version, api key and version before the value, as
unsigned varints: AbstractApiMessageSerde).
"""

from __future__ import annotations

import re
from struct import Struct
from typing import Any, NamedTuple

from kidx.formats.schemas.model import Message, message_of, messages
from kidx.formats.schemas.reader import PLAIN, Style, Undecodable, read_message, read_unsigned_varint

GROUP, TRANSACTION, SHARE, METADATA, REMOTE = "group", "transaction", "share", "metadata", "remote"
FAMILY_OF_TOPIC = {
    "__consumer_offsets": GROUP,
    "__transaction_state": TRANSACTION,
    "__share_group_state": SHARE,
    "__cluster_metadata": METADATA,
    "__remote_log_metadata": REMOTE,
}
FRAME_VERSION = 1
CONSUMER_PROTOCOL = "consumer"  # the protocol type whose members' subscriptions Kafka's own clients write
_SHORT = Struct(">h")


class Part(NamedTuple):
    """A key or a value. `type` is its api key, `name` its kind, `version` its schema's; `data` its fields.

    `raw` holds the bytes where they could not be decoded, and `problem` says why; `data` is None then.
    """

    type: int | None
    name: str | None
    version: int | None
    data: dict[str, Any] | None
    raw: bytes | None = None
    problem: str | None = None


class DecodedRecord(NamedTuple):
    """A record's key and value; a None value is a tombstone. In the framed families the key only names the kind."""

    key: Part
    value: Part | None

    @property
    def problem(self) -> str | None:
        """What could not be decoded, None where everything was."""
        return self.key.problem or (self.value.problem if self.value else None)


def decode_record(family: str, key: bytes | None, value: bytes | None, style: Style = PLAIN) -> DecodedRecord:
    """A record of that family's topic. What is unknown or damaged is said, with its bytes; nothing is raised."""
    if family in (METADATA, REMOTE):
        return _framed(family, value, style)
    if key is None:
        return DecodedRecord(Part(None, None, None, None, None, "the record has no key"), _raw(value))
    if len(key) < 2:
        return DecodedRecord(Part(None, None, None, None, key, "the key is too short to name a kind"), _raw(value))
    (api_key,) = _SHORT.unpack_from(key)
    key_message, value_message = message_of(family, "key", api_key), message_of(family, "value", api_key)
    if key_message is None:
        unknown = f"kind {api_key} of {family} records is unknown to Kafka 4.3"
        return DecodedRecord(Part(api_key, None, None, None, key, unknown), _raw(value))
    name = key_message.name.removesuffix("Key")
    decoded_key = _part(key_message, api_key, name, 0, key, 2, style)
    if value is None:
        return DecodedRecord(decoded_key, None)
    if value_message is None or len(value) < 2:
        why = "no value of this kind is known" if value_message is None else "the value is too short for a version"
        return DecodedRecord(decoded_key, Part(api_key, name, None, None, value, why))
    (version,) = _SHORT.unpack_from(value)
    decoded = _part(value_message, api_key, name, version, value, 2, style)
    if value_message.name == "GroupMetadataValue" and decoded.data:
        _open_members(decoded.data, value_message, version, value, style)
    return DecodedRecord(decoded_key, decoded)


def record_type_name(name: str) -> str:
    """REGISTER_BROKER_RECORD for RegisterBrokerRecord, as MetadataRecordType spells it."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).upper()


def _raw(value: bytes | None) -> Part | None:
    return None if value is None else Part(None, None, None, None, value)


def _part(message: Message, api_key: int, name: str, version: int, buffer: bytes, position: int, style: Style) -> Part:
    try:
        data, end = read_message(message, version, buffer, position, style)
    except Undecodable as e:
        return Part(api_key, name, version, None, buffer, str(e))
    if end != len(buffer):
        data["_trailing_bytes"] = buffer[end:].hex()
    return Part(api_key, name, version, data)


def _framed(family: str, value: bytes | None, style: Style) -> DecodedRecord:
    if value is None:
        return DecodedRecord(Part(None, None, None, None, None, "the record has no value"), None)
    api_key = None
    try:
        frame, at = read_unsigned_varint(value, 0)
        if frame != FRAME_VERSION:
            raise Undecodable(f"frame version {frame} is unknown; {FRAME_VERSION} is known,", 0)
        api_key, at = read_unsigned_varint(value, at)
        version, at = read_unsigned_varint(value, at)
    except (Undecodable, IndexError) as e:
        why = str(e) if isinstance(e, Undecodable) else "the value breaks off in its frame"
        return DecodedRecord(Part(api_key, None, None, None, None, why), _raw(value))
    message = message_of(family, "record", api_key)
    if message is None:
        unknown = f"kind {api_key} of {family} records is unknown to Kafka 4.3"
        return DecodedRecord(Part(api_key, None, version, None, None, unknown), _raw(value))
    decoded = _part(message, api_key, message.name, version, value, at, style)
    return DecodedRecord(Part(api_key, message.name, version, None), decoded)


def _open_members(data: dict[str, Any], message: Message, version: int, value: bytes, style: Style) -> None:
    """Put what a classic group's members subscribed to, and got, in the place of its bytes, where they are readable."""
    if data.get("protocolType") != CONSUMER_PROTOCOL:
        return
    as_bytes = read_message(message, version, value, 2, _BYTES)[0]
    for member, raw in zip(data["members"], as_bytes["members"], strict=True):
        for field, kind in (
            ("subscription", "ConsumerProtocolSubscription"),
            ("assignment", "ConsumerProtocolAssignment"),
        ):
            embedded = raw[field]
            if len(embedded) < 2:
                continue
            (embedded_version,) = _SHORT.unpack_from(embedded)
            try:
                member[field], _ = read_message(messages()[kind], embedded_version, embedded, 2, style)
            except Undecodable:
                continue  # another client's bytes: shown as they are


def _same(data: bytes) -> Any:
    return data


_BYTES = Style("bytes", _same, True)
