"""Transactions as a log shows them: where they begin, their markers, and what is open when.

As ProducerStateManager does: a producer's first transactional batch since its last marker opens a transaction, a marker
ends it, and an ABORT marker that ends one is worth an entry in the transaction index.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kidx.evidence import Evidence
from kidx.formats.control import ABORT, COMMIT, parse_control
from kidx.formats.records import Damage
from kidx.segments.records import read_records
from kidx.segments.windows import Window

Bools = npt.NDArray[np.bool_]


class TransactionEvent(NamedTuple):
    """What a log says about a producer's transaction: its first batch since the last marker, or a marker.

    `marker` is the control record's type, None for a data batch; `coordinator_epoch` is a marker's, None where its
    record does not say. `offset` is the batch's base offset.
    """

    position: int
    producer_id: int
    offset: int
    marker: int | None
    coordinator_epoch: int | None = None


class WindowTransactions:
    """What one window shows of transactions, by rows of the window."""

    def __init__(self) -> None:
        self.events: list[TransactionEvent] = []
        self.outside: list[tuple[int, int]] = []  # batches outside an open transaction, and the offset it began at
        self.unknown: list[tuple[int, int | None]] = []  # control batches of an undefined type
        self.unreadable: list[tuple[int, str]] = []  # control batches whose value Kafka cannot read, and their type
        self.damaged: list[tuple[int, Damage]] = []  # control batches whose records cannot be decoded
        self.limited: list[tuple[int, Damage]] = []  # control batches that a limit kept from being decoded


_NOTHING = WindowTransactions()


class TransactionTracker:
    """Follows the transactions of one log range, window by window."""

    def __init__(self, log: Evidence) -> None:
        self._log = log
        self._open: dict[int, int] = {}  # first offsets of the transactions open that began in the range, by producer

    def take(self, window: Window, sound: Bools, marked: Bools | None) -> WindowTransactions:
        """Follow a window's sound batches. `marked` are its transactional and control batches, None if there are none.

        Raises CannotRead and its children.
        """
        told = None if marked is None else sound & marked
        if (told is None or not told.any()) and not self._meets_open(window):
            return _NOTHING
        found = WindowTransactions()
        wanted = sound & (window.column("producer_id") >= 0)
        rows = set((wanted if told is None else wanted | told).nonzero()[0].tolist())
        for row, batch in enumerate(window.batches()):
            if row not in rows:
                continue
            marker = epoch = None
            if window.control[row]:
                records, damage = read_records(self._log, batch)
                if damage is not None:
                    (found.limited if damage.limit else found.damaged).append((row, damage))
                if not records:  # the cleaner took the marker's record and left its header
                    continue
                parsed = parse_control(records[0].key, records[0].value)
                marker = None if parsed is None else parsed.type_id
                if parsed is None or parsed.name == "UNKNOWN":
                    found.unknown.append((row, marker))
                    continue
                if parsed.fields is None or parsed.fields.get("version", 0) < 0:
                    found.unreadable.append((row, parsed.name))
                if batch.producer_id < 0:  # KRaft's own
                    continue
                self._open.pop(batch.producer_id, None)
                epoch = None if parsed.fields is None else parsed.fields.get("coordinatorEpoch")
            elif not window.transactional[row]:
                if (first := self._open.get(batch.producer_id)) is not None:
                    found.outside.append((row, first))
                continue
            elif batch.producer_id in self._open:
                continue
            else:
                self._open[batch.producer_id] = batch.base_offset
            found.events.append(TransactionEvent(batch.position, batch.producer_id, batch.base_offset, marker, epoch))
        return found

    def _meets_open(self, window: Window) -> bool:
        """Whether a window has batches of a producer whose transaction, begun in the range, is open."""
        return bool(self._open) and not self._open.keys().isdisjoint(window.column("producer_id").tolist())


class Aborted(NamedTuple):
    """An aborted transaction; `first_offset` and `last_stable_offset` are None where the log does not tell.

    `written`: the log has batches of it, so that its index lists it.
    """

    producer_id: int
    first_offset: int | None
    last_offset: int
    last_stable_offset: int | None
    written: bool


class Replay:
    """The open transactions while a partition's segments go by in order.

    `complete` is whether all of them are known. Where that is not so (the log does not begin at offset 0, or a piece of
    it cannot be believed), what a producer's batches belong to is known from its next marker on.
    """

    def __init__(self) -> None:
        self.complete = False
        self.open: dict[int, int] = {}
        self._met: set[int] = set()  # producers whose marker has gone by
        self._begun_before: dict[int, int] = {}  # first offset seen of transactions that may have begun earlier

    def learn(self, open_transactions: dict[int, int]) -> None:
        """Begin where these are open: first offsets by producer id."""
        self.complete, self.open = True, dict(open_transactions)
        self._met, self._begun_before = set(), {}

    def forget(self) -> None:
        """Begin where nobody knows what is open."""
        self.learn({})
        self.complete = False

    def segment(self, events: Sequence[TransactionEvent]) -> list[Aborted]:
        """Let a segment's events go by; its ABORT markers, of which its index lists those with batches."""
        aborted = []
        for event in events:
            if event.marker is None:
                known = self.complete or event.producer_id in self._met
                (self.open if known else self._begun_before).setdefault(event.producer_id, event.offset)
            elif event.marker in (ABORT, COMMIT):
                first = self.open.pop(event.producer_id, None)
                written = self._begun_before.pop(event.producer_id, first) is not None
                self._met.add(event.producer_id)
                if event.marker == ABORT:
                    stable = min(self.open.values(), default=event.offset + 1) if self.complete else None
                    aborted.append(Aborted(event.producer_id, first, event.offset, stable, written))
        return aborted

    def still_open(self) -> list[tuple[int, int]]:
        """First offsets seen, and producer ids, of the transactions that no marker has ended."""
        return sorted((first, producer) for producer, first in {**self._begun_before, **self.open}.items())
