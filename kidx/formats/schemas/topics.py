"""The records of Kafka's internal topics: key and value of each, by the topic's family.

Sources: CoordinatorRecordSerde and its children (an int16 before the key names the kind, one before the value its
version), MetadataRecordSerde and RemoteLogMetadataSerde (frame version, api key and version before the value, as
unsigned varints: AbstractApiMessageSerde).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from struct import Struct, error
from typing import Any, NamedTuple

from kidx.formats.schemas.compiler import Reader, Style, Undecodable, read_unsigned_varint
from kidx.formats.schemas.model import Message, message_of, messages
from kidx.formats.schemas.reader import PLAIN, breaks_off, read_message, reader_of

GROUP, TRANSACTION, SHARE, METADATA, REMOTE = "group", "transaction", "share", "metadata", "remote"
FAMILY_OF_TOPIC = {
    "__consumer_offsets": GROUP,
    "__transaction_state": TRANSACTION,
    "__share_group_state": SHARE,
    "__cluster_metadata": METADATA,
    "__remote_log_metadata": REMOTE,
}
FRAME_VERSION = 1
TRAILING_BYTES = "_trailing_bytes"  # what follows the fields that a version has
CONSUMER_PROTOCOL = "consumer"  # the protocol type whose members' subscriptions Kafka's own clients write
_SHORT = Struct(">h")


class Part(NamedTuple):
    """A key or a value. `type` is its api key, `name` its kind, `version` its schema's; `data` its fields.

    If the bytes could not be decoded, `raw` has them, `problem` is the reason, and `data` is None.
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
        """What could not be decoded, None if everything was."""
        return self.key.problem or (self.value.problem if self.value else None)


Decoder = Callable[[bytes | None, bytes | None], DecodedRecord]  # (key, value) -> what they say; nothing is raised


@cache
def decoder_of(family: str, style: Style = PLAIN) -> Decoder:
    """The decoder of that family's records. Unknown or damaged records are returned with their bytes."""
    return _Framed(family, style).decode if family in (METADATA, REMOTE) else _Coordinated(family, style).decode


def decode_record(family: str, key: bytes | None, value: bytes | None, style: Style = PLAIN) -> DecodedRecord:
    """One record; `decoder_of` is for many."""
    return decoder_of(family, style)(key, value)


def record_type_name(name: str) -> str:
    """REGISTER_BROKER_RECORD for RegisterBrokerRecord, as MetadataRecordType spells it."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).upper()


def _raw(value: bytes | None) -> Part | None:
    return None if value is None else Part(None, None, None, None, value)


class _Kind(NamedTuple):
    """A kind of record; `values` are the readers of its values, by the two bytes of their version."""

    api_key: int
    name: str
    key: Message
    value: Message | None
    read_key: Reader
    values: dict[bytes, Reader]


class _Coordinated:
    """Records whose key begins with its kind and whose value begins with its version, int16 both."""

    def __init__(self, family: str, style: Style) -> None:
        self._family, self._style = family, style
        self._kinds: dict[bytes, _Kind] = {}  # by the two bytes that name it
        for message in messages().values():
            if (message.family, message.role) == (family, "key"):
                kind = _Kind(
                    message.api_key,
                    message.name.removesuffix("Key"),
                    message,
                    message_of(family, "value", message.api_key),
                    reader_of(message, 0, style),
                    {},
                )
                self._kinds[_SHORT.pack(message.api_key)] = kind

    def decode(self, key: bytes | None, value: bytes | None) -> DecodedRecord:
        kind = self._kinds.get(key[:2]) if key is not None else None
        if kind is None or key is None:
            return DecodedRecord(self._unknown(key), _raw(value))
        decoded_key = _part(kind.read_key, kind.key, kind.api_key, kind.name, 0, key, 2)
        if value is None:
            return DecodedRecord(decoded_key, None)
        reader = kind.values.get(value[:2])
        if reader is None or kind.value is None:
            return DecodedRecord(decoded_key, self._first_of_version(kind, value))
        return DecodedRecord(decoded_key, self._value(kind, kind.value, reader, value))

    def _unknown(self, key: bytes | None) -> Part:
        if key is None:
            return Part(None, None, None, None, None, "the record has no key")
        if len(key) < 2:
            return Part(None, None, None, None, key, "the key is too short to name a kind")
        (api_key,) = _SHORT.unpack_from(key)
        return Part(api_key, None, None, None, key, _unknown_kind(api_key, self._family))

    def _first_of_version(self, kind: _Kind, value: bytes) -> Part:
        if kind.value is None or len(value) < 2:
            why = "no value of this kind is known" if kind.value is None else "the value is too short for a version"
            return Part(kind.api_key, kind.name, None, None, value, why)
        (version,) = _SHORT.unpack_from(value)
        try:
            reader = kind.values[value[:2]] = reader_of(kind.value, version, self._style)
        except Undecodable as e:
            return Part(kind.api_key, kind.name, version, None, value, str(e))
        return self._value(kind, kind.value, reader, value)

    def _value(self, kind: _Kind, message: Message, reader: Reader, value: bytes) -> Part:
        version = value[0] << 8 | value[1]
        part = _part(reader, message, kind.api_key, kind.name, version, value, 2)
        if message.name == "GroupMetadataValue" and part.data:
            _open_members(part.data, message, version, value, self._style)
        return part


class _Framed:
    """Records whose value begins with a frame version, its kind and its version, unsigned varints all."""

    def __init__(self, family: str, style: Style) -> None:
        self._family, self._style = family, style
        self._readers: dict[bytes, tuple[Reader, Message, Part]] = {}  # by a frame of three bytes

    def decode(self, key: bytes | None, value: bytes | None) -> DecodedRecord:
        if value is None:
            return DecodedRecord(Part(None, None, None, None, None, "the record has no value"), None)
        known = self._readers.get(value[:3])
        if known is None:
            return self._first_of_frame(value)
        reader, message, kind = known
        return DecodedRecord(kind, _part(reader, message, message.api_key, message.name, kind.version or 0, value, 3))

    def _first_of_frame(self, value: bytes) -> DecodedRecord:
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
        message = message_of(self._family, "record", api_key)
        if message is None:
            unknown = Part(api_key, None, version, None, None, _unknown_kind(api_key, self._family))
            return DecodedRecord(unknown, _raw(value))
        kind = Part(api_key, message.name, version, None)
        try:
            reader = reader_of(message, version, self._style, later=self._style.kafka)
        except Undecodable as e:
            return DecodedRecord(kind, Part(api_key, message.name, version, None, value, str(e)))
        if at == 3:
            self._readers[value[:3]] = reader, message, kind
        return DecodedRecord(kind, _part(reader, message, api_key, message.name, version, value, at))


def _unknown_kind(api_key: int, family: str) -> str:
    return f"kind {api_key} of {family} records is unknown to Kafka 4.3"


def _part(
    reader: Reader, message: Message, api_key: int, name: str, version: int, buffer: bytes, position: int
) -> Part:
    try:
        data, end = reader(buffer, position)
    except Undecodable as e:
        return Part(api_key, name, version, None, buffer, str(e))
    except (error, IndexError):
        return Part(api_key, name, version, None, buffer, str(breaks_off(message, version, buffer)))
    if end != len(buffer):
        data[TRAILING_BYTES] = buffer[end:].hex()
    return Part(api_key, name, version, data)


def _open_members(data: dict[str, Any], message: Message, version: int, value: bytes, style: Style) -> None:
    """Replace the bytes of a classic group's subscriptions and assignments by their content, if they are readable."""
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
                continue  # another client's bytes: shown unchanged


def _same(data: bytes) -> bytes:
    return data


_BYTES = Style("bytes", _same)
