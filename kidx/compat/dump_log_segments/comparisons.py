"""How DumpLogSegments compares an index with its log. Its false alarms are kept: scripts rely on them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

from kidx.compat.dump_log_segments.log_entries import Entries
from kidx.errors import KidxError
from kidx.evidence import Evidence
from kidx.formats.batches import BATCH_HEADER, HEADER_BYTES, Batch, fault_at, parse_batch
from kidx.formats.indexes import OFFSET_INDEX, IndexFormat
from kidx.lookup.search import warm_search
from kidx.segments.records import read_records

_CHUNK_BYTES = 1 << 17
_FEW_STEPS = 256  # batches from an index entry's position to the entry's batch; only a wrong entry takes more
_MAGIC_AT = BATCH_HEADER.field_span("magic")[0]


class CannotCompare(KidxError):
    """Raised where DumpLogSegments throws: an entry that no batch can be compared with."""


class Pair(NamedTuple):
    """A value of the index and its counterpart: the log's, or the previous one."""

    in_index: int
    in_log: int


class Log:
    """The log next to an index."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        self._chunk, self._chunk_at = b"", 0

    def batch_at(self, position: int) -> Batch:
        """The batch whose first byte an index entry names. Raises CannotCompare."""
        batch = self._whole_batch(position)
        if batch is not None:
            return batch
        if 0 <= position < self.evidence.size:
            for batch, _ in Entries(self.evidence, position, self.evidence.size):
                return batch
        raise CannotCompare(
            f"{self.evidence.path}: no whole batch starts at byte {position} of its {self.evidence.size}, "
            "which the index names; kidx verify says more"
        )

    def batch_with(self, offset: int, position: int) -> Batch | None:
        """The first batch from `position` on whose last offset is `offset` or later."""
        step = position
        for _ in range(_FEW_STEPS):
            batch = self._whole_batch(step)
            if batch is None:
                break
            if batch.last_offset >= offset:
                return batch
            step = batch.next_position
        start = self._row_of.get(position)
        if start is None or not self._rising:
            if position > self.evidence.size:
                self.batch_at(position)
            entries = Entries(self.evidence, position, self.evidence.size)
            return next((b for b, _ in entries if b.last_offset >= offset), None)
        row = bisect_left(self._last_offsets, offset, start)
        return self._batches[row] if row < len(self._batches) else None

    def _whole_batch(self, position: int) -> Batch | None:
        """The v2 batch at a byte, None where something else is. Neighbouring batches share a read."""
        remaining = self.evidence.size - position
        if position < 0 or remaining < HEADER_BYTES:
            return None
        at = position - self._chunk_at
        if not 0 <= at <= len(self._chunk) - HEADER_BYTES:
            self._chunk, self._chunk_at, at = self.evidence.read(position, _CHUNK_BYTES), position, 0
        if self._chunk[at + _MAGIC_AT] != 2 or fault_at(self._chunk, at, remaining) is not None:
            return None
        return parse_batch(self._chunk, at, position)

    @cached_property
    def _batches(self) -> list[Batch]:
        return [batch for batch, _ in Entries(self.evidence, 0, self.evidence.size)]

    @cached_property
    def _last_offsets(self) -> list[int]:
        return [batch.last_offset for batch in self._batches]

    @cached_property
    def _rising(self) -> bool:
        return all(a <= b for a, b in zip(self._last_offsets, self._last_offsets[1:], strict=False))

    @cached_property
    def _row_of(self) -> dict[int, int]:
        return {batch.position: row for row, batch in enumerate(self._batches)}

    def max_timestamp(self, batch: Batch) -> int:
        """The largest timestamp among a batch's records, -1 at least."""
        return max((record.timestamp for record in read_records(self.evidence, batch).records), default=-1)


def offset_mismatches(log: Log, entries: Iterable[Sequence[int]]) -> dict[int, int]:
    """By offset: the last offset of the batch at an entry's position, where that is another. Raises CannotCompare.

    False alarms: an entry of a follower's append of several batches, which names a later batch's offset.
    """
    found = {}
    for offset, position in entries:
        last_offset = log.batch_at(position).last_offset
        if last_offset != offset:
            found[offset] = last_offset
    return found


class TimeComplaints(NamedTuple):
    """Differences between a time index and its log: timestamps, their order, and offsets that end no batch."""

    mismatches: list[Pair]
    out_of_order: list[Pair]
    not_found: list[Pair]


def time_complaints(log: Log, offsets: OffsetSlots, entries: Iterable[Sequence[int]]) -> TimeComplaints:
    """Compare (timestamp, offset) entries with the log, which is searched from where the offset index says."""
    found = TimeComplaints([], [], [])
    previous = -1
    for timestamp, offset in entries:
        batch = log.batch_with(offset, offsets.position_of(offset))
        if batch is None or batch.last_offset != offset:
            found.not_found.append(Pair(offset, -1 if batch is None else batch.last_offset))
        else:
            largest = max(-1, log.max_timestamp(batch))
            if largest != timestamp:
                found.mismatches.append(Pair(timestamp, largest))
            if previous >= timestamp:
                found.out_of_order.append(Pair(timestamp, previous))
        previous = timestamp
    return found


class OffsetSlots:
    """The offset index next to a time index as Kafka opens it: every complete slot is an entry, zero tails too."""

    def __init__(self, data: bytes, base_offset: int) -> None:
        self.base_offset = base_offset
        self._entries = list(
            OFFSET_INDEX.struct.iter_unpack(data[: len(data) // OFFSET_INDEX.size * OFFSET_INDEX.size])
        )

    def position_of(self, offset: int) -> int:
        """OffsetIndex.lookup's position."""
        target = offset - self.base_offset
        entries = self._entries
        slot = warm_search(lambda s: int(entries[s][0]), len(entries), OFFSET_INDEX.warm_entries, target).lower
        return int(entries[slot][1]) if slot >= 0 else 0


def sanity_problem(index_format: IndexFormat, evidence: Evidence, base_offset: int, path: str) -> str:
    """The exception text of a broker's sanity check before 2.3, "" if it passes."""
    entries, rest = divmod(evidence.size, index_format.size)
    size = index_format.size
    if index_format is OFFSET_INDEX:
        if entries:
            relative, _ = index_format.struct.unpack(evidence.read((entries - 1) * size, size))
            if relative < 0:
                return (
                    f"Corrupt index found, index file {path} has non-zero size but the last offset is "
                    f"{base_offset + relative} which is less than the base offset {base_offset}"
                )
        name = "Index"
    else:
        name = "Time index"
        if entries:
            first, _ = index_format.struct.unpack(evidence.read(0, size))
            last, relative = index_format.struct.unpack(evidence.read((entries - 1) * size, size))
            corrupt = f"Corrupt time index found, time index file ({path}) has non-zero size but the last"
            if last < first:
                return f"{corrupt} timestamp is {last} which is less than the first timestamp {first}"
            if relative < 0:
                return f"{corrupt} offset is {base_offset + relative} which is less than the first offset {base_offset}"
    if rest:
        found = f"found {evidence.size} bytes which is neither positive nor a multiple of {size}"
        return f"{name} file {path} is corrupt, {found}"
    return ""
