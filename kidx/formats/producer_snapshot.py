"""Producer state snapshots (`<offset>.snapshot`): the state of a partition's producers at that offset.

Source: org.apache.kafka.storage.internals.log.ProducerStateManager (readSnapshot, writeSnapshot; KIP-98). 4.x defines
the same bytes as message ProducerSnapshot, version 1, without flexible fields.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import NamedTuple

from kidx.errors import WrongFormat
from kidx.formats.checksums import crc32c
from kidx.formats.fields import Field, RecordFormat

VERSION = 1
_HEADER = Struct(">hIi")  # version, CRC-32C of what follows it, number of entries
HEADER_BYTES = _HEADER.size  # 10
_CRC_START = 6  # the CRC covers the number of entries and the entries

PRODUCER_ENTRY = RecordFormat(
    "producer state",
    "kidx.producer.v1",
    "org.apache.kafka.storage.internals.log.ProducerStateManager",
    (
        Field("producer_id", "q", "", "the producer"),
        Field("producer_epoch", "h", "", "its current epoch"),
        Field("last_sequence", "i", "", "sequence number of its last record, -1 after a marker"),
        Field("last_offset", "q", "offset", "offset of its last record, -1 if none is known"),
        Field("offset_delta", "i", "records", "last offset minus first offset of its last batch"),
        Field("timestamp", "q", "ms", "timestamp of its last batch"),
        Field("coordinator_epoch", "i", "", "epoch of the coordinator that wrote its last marker, -1 if none"),
        Field("current_txn_first_offset", "q", "offset", "first offset of its open transaction, -1 if none is open"),
    ),
)


class ProducerState(NamedTuple):
    """One producer's entry, the fields in the file's order."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int
    coordinator_epoch: int
    current_txn_first_offset: int


class ProducerSnapshot(NamedTuple):
    """A snapshot as it was read, damaged or not.

    `entry_count` is the number of entries that it states, `producers` are the complete entries; `extra_bytes` counts
    the bytes after them (a torn entry, or more entries than stated).
    """

    version: int
    crc: int
    crc_ok: bool
    entry_count: int
    producers: list[ProducerState]
    extra_bytes: int


def parse_snapshot(data: bytes) -> ProducerSnapshot:
    """Decode a .snapshot file. Raises WrongFormat if it has fewer than 10 bytes."""
    if len(data) < HEADER_BYTES:
        raise WrongFormat(f"{len(data)} bytes are no producer snapshot; its header alone has {HEADER_BYTES}")
    version, crc, count = _HEADER.unpack_from(data)
    whole = max(0, min(count, (len(data) - HEADER_BYTES) // PRODUCER_ENTRY.size))
    end = HEADER_BYTES + whole * PRODUCER_ENTRY.size
    producers = [ProducerState(*fields) for fields in PRODUCER_ENTRY.struct.iter_unpack(data[HEADER_BYTES:end])]
    return ProducerSnapshot(version, crc, crc32c(data[_CRC_START:]) == crc, count, producers, len(data) - end)


def snapshot_bytes(producers: Iterable[ProducerState]) -> bytes:
    """A .snapshot file's bytes for these producers, as Kafka writes them."""
    entries = [PRODUCER_ENTRY.struct.pack(*producer) for producer in producers]
    covered = len(entries).to_bytes(4, "big") + b"".join(entries)
    return VERSION.to_bytes(2, "big") + crc32c(covered).to_bytes(4, "big") + covered
