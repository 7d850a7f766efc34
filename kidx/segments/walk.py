"""Walking a log from batch to batch, as look-ups do: one Batch at a time, without numpy.

Source: org.apache.kafka.common.record.FileLogInputStream, which also reads headers only.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kidx.evidence import Evidence
from kidx.formats.batches import HEADER_BYTES, OVERHEAD_BYTES, Batch, fault_at, parse_batch

END, TORN, PREALLOCATED, NO_BATCH = "end", "torn", "preallocated", "no_batch"
_CHUNK_BYTES = 16 << 10


class Ending(NamedTuple):
    """Where and why a log's batches end.

    `kind` is END (exactly at the end), TORN (the file ends inside the entry at `position`), PREALLOCATED (only zeros
    from `position` on) or NO_BATCH (the bytes at `position` are not an entry). `missing_bytes` is what a torn entry
    lacks, None if too little of it is left to tell. `why` is a phrase for a message, empty for END.
    A damaged length looks torn, too: only `kidx.segments.resume` finds out whether batches follow.
    """

    kind: str
    position: int
    why: str = ""
    missing_bytes: int | None = None


class Walk(Iterator[Batch]):
    """The batches of a log from a batch boundary on. `ending` is set after the last one.

    `position` is the byte after the last batch returned, also after a `break` in the loop. Raises CannotRead and its
    subclasses if the file cannot be read.
    """

    def __init__(self, evidence: Evidence, start: int = 0, end: int | None = None) -> None:
        self.start = self.position = start
        self.end = evidence.size if end is None else min(end, evidence.size)
        self.ending: Ending | None = None
        self._evidence = evidence
        self._chunk, self._chunk_at, self._next_read = b"", 0, _CHUNK_BYTES

    @property
    def bytes_walked(self) -> int:
        """Bytes of the batches returned so far."""
        return self.position - self.start

    def __next__(self) -> Batch:
        if self.ending is not None:
            raise StopIteration
        remaining = self.end - self.position
        if remaining <= 0:
            self.ending = Ending(END, self.position)
            raise StopIteration
        at = self.position - self._chunk_at
        if at + min(HEADER_BYTES, remaining) > len(self._chunk) or at < 0:
            self._chunk = self._evidence.read(self.position, min(self._next_read, remaining))
            self._chunk_at, at = self.position, 0
        if fault := fault_at(self._chunk, at, remaining):
            self.ending = ending_of(self._evidence, self.position, self.end, fault.torn, fault.why, fault.missing_bytes)
            raise StopIteration
        batch = parse_batch(self._chunk, at, self.position)
        self.position = batch.next_position
        self._next_read = HEADER_BYTES if batch.size > _CHUNK_BYTES else _CHUNK_BYTES
        return batch


def walk(evidence: Evidence, start: int = 0, end: int | None = None) -> Walk:
    """Walk the log from the batch boundary `start`; an entry that crosses `end` (default: the file's end) is torn."""
    return Walk(evidence, start, end)


def ending_of(
    evidence: Evidence, position: int, end: int, torn: bool, why: str, missing_bytes: int | None = None
) -> Ending:
    """The ending at a fault: PREALLOCATED if all bytes from there to `end` are zero.

    Fewer zeros than an offset and a length take may also be the first bytes of a small offset.
    """
    if end - position >= OVERHEAD_BYTES and evidence.nonzero_end(position, end) == position:
        return Ending(PREALLOCATED, position, f"{end - position} zero bytes and no batch")
    return Ending(TORN if torn else NO_BATCH, position, why, missing_bytes)
