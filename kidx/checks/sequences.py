"""What a producer did last, and whether its next batch follows.

A broker takes a producer's batch only if its first sequence number follows the last one (ProducerAppendInfo,
checkSequence), or begins a new epoch with 0. Then the batch, or the marker that ends a transaction, is all there is
to know of the producer (ProducerStateEntry), until a snapshot is taken of it.
"""

from __future__ import annotations

from typing import NamedTuple

from kidx.formats.batches import SEQUENCES, sequence_after


class Written(NamedTuple):
    """A data batch of a producer; sequences are -1 where it counts none. `position` is its first byte in the file."""

    producer_id: int
    producer_epoch: int
    base_sequence: int
    offset_delta: int
    base_offset: int
    timestamp: int
    position: int

    @property
    def last_offset(self) -> int:
        """Offset of its last record."""
        return self.base_offset + self.offset_delta

    @property
    def last_sequence(self) -> int:
        """Sequence number of its last record."""
        return sequence_after(self.base_sequence, self.offset_delta)


class Ended(NamedTuple):
    """A marker that ended a producer's transaction; `coordinator_epoch` is None where its record does not tell."""

    offset: int
    producer_epoch: int
    timestamp: int
    coordinator_epoch: int | None


class Producer(NamedTuple):
    """What a producer did last: its newest data batch and its newest marker, None where there was none."""

    data: Written | None
    marker: Ended | None

    @property
    def marker_came_last(self) -> bool:
        """Whether the marker came after the data."""
        return self.marker is not None and (self.data is None or self.marker.offset > self.data.last_offset)


class SequenceBreak(NamedTuple):
    """A batch whose sequence number, or epoch, does not follow from the one before. `why` says how, as below."""

    before: Written
    there: Written
    why: str


GAP, REPEAT, RESTART, NEW_EPOCH, OLD_EPOCH = "gap", "repeat", "restart", "new epoch", "old epoch"
OF_ONE_EPOCH = (GAP, REPEAT, RESTART)


def after_both(before: Written, there: Written) -> int:
    """The sequence number after two batches, if that of the second one is wrong."""
    return sequence_after(before.last_sequence, there.offset_delta + 2)


def why_not(before: Producer, there: Written) -> str:
    """How a batch breaks with what its producer did before; an empty text if it follows, or nothing was known before.

    What a broker that knows the producer would refuse (ProducerAppendInfo.checkSequence).
    """
    data = before.data
    if data is None or there.base_sequence < 0:
        return ""
    marked = before.marker.producer_epoch if before.marker is not None and before.marker_came_last else -1
    if there.producer_epoch < max(data.producer_epoch, marked):
        return OLD_EPOCH
    if there.producer_epoch > data.producer_epoch:
        return NEW_EPOCH if there.base_sequence else ""
    if data.base_sequence < 0:
        return ""
    wanted = sequence_after(data.last_sequence, 1)
    if there.base_sequence == wanted:
        return ""
    if there.base_sequence == 0:
        return RESTART
    return REPEAT if (there.base_sequence - wanted) % SEQUENCES > SEQUENCES // 2 else GAP
