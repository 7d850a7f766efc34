"""Partitions of Kafka's own topics made by hand: records from kinds and fields, markers, segments."""

from __future__ import annotations

from pathlib import Path
from struct import pack
from typing import Any

from kidx.formats.schemas.model import Message, messages
from tests.building import batch, record
from tests.formats.message_model import default, encode, exists, varint

TIME = 1_700_000_000_000  # of offset 0; every offset is a second later
TRANSACTIONAL, CONTROL = 0x10, 0x20
Pair = tuple[bytes | None, bytes | None]


def full(message: Message, version: int, said: dict[str, Any]) -> dict[str, Any]:
    """What is said, and every other field's default."""
    return {f.name: said.get(f.name, default(f, version)) for f in message.fields if exists(f, version)}


def coordinator(kind: str, key: dict[str, Any], value: dict[str, Any] | None, version: int = 0) -> Pair:
    """A coordinator's record; a None value is a tombstone."""
    key_message, value_message = messages()[kind + "Key"], messages()[kind + "Value"]
    head = pack(">h", key_message.api_key) + encode(key_message, 0, full(key_message, 0, key))
    if value is None:
        return head, None
    return head, pack(">h", version) + encode(value_message, version, full(value_message, version, value))


def metadata(kind: str, version: int = 0, **said: Any) -> Pair:
    """A record of __cluster_metadata."""
    message = messages()[kind + "Record"]
    frame = varint(1) + varint(message.api_key) + varint(version)
    return None, frame + encode(message, version, full(message, version, said))


def commit(group: str, topic: str, partition: int, offset: int | None) -> Pair:
    """An offset commit, or its tombstone."""
    key = {"group": group, "topic": topic, "partition": partition}
    return coordinator("OffsetCommit", key, None if offset is None else {"offset": offset}, 3)


class Log:
    """Writes a segment, a batch a call; `end` is the next offset. Timestamps are TIME and the offset in seconds."""

    def __init__(self, directory: Path, base_offset: int = 0) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.end = base_offset
        self._file = directory / f"{base_offset:020}.log"
        self._file.touch()

    def add(self, *pairs: Pair, producer: int = -1, attributes: int = 0) -> Log:
        records = [record(i, i * 1000, *pair) for i, pair in enumerate(pairs)]
        base, last = TIME + self.end * 1000, len(pairs) - 1
        data = batch(
            records,
            base_offset=self.end,
            base_timestamp=base,
            max_timestamp=base + last * 1000,
            producer=(producer, 0, -1),
            attributes=attributes,
        )
        with self._file.open("ab") as f:
            f.write(data)
        self.end += len(pairs)
        return self

    def in_transaction(self, producer: int, *pairs: Pair) -> Log:
        return self.add(*pairs, producer=producer, attributes=TRANSACTIONAL)

    def marker(self, producer: int, *, committed: bool) -> Log:
        pair = pack(">hh", 0, int(committed)), pack(">hi", 0, 0)
        return self.add(pair, producer=producer, attributes=TRANSACTIONAL | CONTROL)
