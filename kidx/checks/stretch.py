"""What is known of a log before it is checked, and what one stretch of it turned out to hold.

A large log is cut into stretches that forks check side by side; what can only be told across their borders is in the
Stretch that each gives back. The whole log of a small segment is one stretch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kidx.checks.producers import NamedProducers, Producers
from kidx.findings import Finding
from kidx.formats.batches import NO_TIMESTAMP


class LogFacts(NamedTuple):
    """What is known about a log from its surroundings, and what to look for in it.

    `epochs` are leader-epoch-checkpoint's lines: the epochs, then their start offsets; empty without the file.
    `wanted` are last offsets that producer snapshots name, ascending; `snapshots` are those that lie in this segment,
    ascending, and `producers` all that any snapshot names. `future_ms` is a moment that no timestamp should lie after.
    `deep`: decode every record.
    """

    base_offset: int
    next_base_offset: int | None
    epochs: tuple[tuple[int, ...], ...]
    wanted: Sequence[int]
    snapshots: Sequence[NamedProducers]
    producers: frozenset[int]
    future_ms: int
    deep: bool


class Gap(NamedTuple):
    """Offsets that no batch has: `position` is where the next batch starts, `first` and `last` are the missing ones."""

    position: int
    first: int
    last: int


class TransactionEvent(NamedTuple):
    """What a log says about a producer's transaction: its first batch since the last marker, or a marker.

    `marker` is the control record's type, None for a data batch; `coordinator_epoch` is a marker's, None where its
    record does not tell. `offset` is the batch's base offset.
    """

    position: int
    producer_id: int
    offset: int
    marker: int | None
    coordinator_epoch: int | None = None


class Named(NamedTuple):
    """The batch with a last offset that a producer snapshot names; `exact` whether it ends there."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    offset_delta: int
    control: bool
    exact: bool


class Stretch:
    """What a stretch of a log holds. `first_offset` and `last_offset` are None where it has no sound batch."""

    def __init__(self, start: int, facts: LogFacts) -> None:
        self.start = start
        self.position = 0
        self.batches = 0
        self.findings: list[Finding] = []
        self.gaps: list[Gap] = []
        self.events: list[TransactionEvent] = []
        self.named: dict[int, Named] = {}
        self.producers = Producers(facts.snapshots, facts.producers)
        self.too_large: list[str] = []
        self.first_offset: int | None = None
        self.last_offset: int | None = None
        self.last_position: int | None = None
        self.first_epoch = -1
        self.last_epoch = -1
        self.max_timestamp = NO_TIMESTAMP
        self.compacted = False
        self.future: tuple[int, int] | None = None
        self.times_met: bytes | bytearray | None = None  # a byte a time entry, 1 where a batch has its offset
        self.first_time_met: int | None = None
        self.ending = "end"
        self.ending_why = ""

    def met(self, first_offset: int, last_offset: int, last_position: int, max_timestamp: int, batches: int) -> None:
        """Take in batches that came and are sound."""
        if self.first_offset is None:
            self.first_offset = first_offset
        self.last_offset, self.last_position = last_offset, last_position
        self.max_timestamp = max(self.max_timestamp, max_timestamp)
        self.batches += batches
