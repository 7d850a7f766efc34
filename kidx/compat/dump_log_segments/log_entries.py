"""A log's entries as read by Kafka's FileLogInputStream: by their length alone, every magic above 2 as 2.

Where kidx finds no batch, Kafka may continue for a while; DumpLogSegments prints what it then reads.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kidx.evidence import Evidence
from kidx.formats.batches import (
    BATCH_HEADER,
    HEADER_BYTES,
    MESSAGE_V0,
    MESSAGE_V1,
    OVERHEAD_BYTES,
    PREFIX,
    PREFIX_BYTES,
    Batch,
    parse_batch,
)
from kidx.segments.walk import Ending, walk

_LEAST_LENGTH = 14  # LegacyRecord.RECORD_OVERHEAD_V0; stricter checks Kafka leaves for later
_HEADERS = {0: MESSAGE_V0.size, 1: MESSAGE_V1.size}


class Entry(NamedTuple):
    """An entry as Kafka reads it, and its magic byte: `batch` is of magic 2 where that is larger."""

    batch: Batch
    magic: int


class Entries(Iterator[Entry]):
    """The entries from `start` to `end`. After the last one, `ending` states where and why kidx stops reading.

    `gives_up` is whether Kafka throws there; an incomplete entry, and too few bytes for a header, are a normal end.
    """

    def __init__(self, evidence: Evidence, start: int, end: int) -> None:
        self.ending: Ending | None = None
        self.gives_up = False
        self._evidence, self._end = evidence, end
        self._steps = walk(evidence, start, end)

    def __next__(self) -> Entry:
        batch = next(self._steps, None)
        if batch is not None:
            return Entry(batch, batch.magic)
        self.ending = self._steps.ending
        position = self._steps.position
        remaining = self._end - position
        if remaining <= PREFIX_BYTES:
            raise StopIteration
        _, length, _, magic = PREFIX.unpack(self._evidence.read(position, PREFIX_BYTES))
        if length >= _LEAST_LENGTH and length + OVERHEAD_BYTES > remaining:
            raise StopIteration
        header = self._evidence.read(position, _HEADERS.get(magic, HEADER_BYTES))
        if length < _LEAST_LENGTH or magic < 0 or len(header) < _HEADERS.get(magic, HEADER_BYTES):
            self.gives_up = True
            raise StopIteration
        if magic > 1:
            batch = Batch(position, *BATCH_HEADER.struct.unpack(header))._replace(magic=2)
        else:
            batch = parse_batch(header, 0, position)
        self._steps = walk(self._evidence, batch.next_position, self._end)
        return Entry(batch, magic)
