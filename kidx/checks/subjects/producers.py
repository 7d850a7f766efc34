"""Producers as a log shows them: what each did last, whether its next batch follows it, its state at each snapshot.

A broker takes a producer's batch only if its first sequence number follows the last one (ProducerAppendInfo,
checkSequence), or begins a new epoch with 0. The last batch, or the marker that ended a transaction, is the producer's
state (ProducerStateEntry) that a snapshot stores.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kidx.checks.subjects.transactions import TransactionEvent
from kidx.formats.batches import SEQUENCES, sequence_after
from kidx.segments.windows import Window

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]

_MOST_PRODUCERS = 1 << 16  # whose last batch is kept at least; where there are more, some are forgotten
_MOST_BREAKS = 1000
_FIELDS = ("producer_id", "producer_epoch", "base_sequence", "last_offset_delta", "base_offset", "max_timestamp")


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
    """How a batch contradicts what its producer did before; an empty text if it follows, or nothing is known.

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


class NamedProducers(NamedTuple):
    """The producers that the snapshot of an offset names."""

    offset: int
    producer_ids: frozenset[int]


class Producers:
    """The producers of a log, or of a range of one, in the order of their batches. Picklable.

    `at` holds, for each snapshot's offset that was passed, what the producers that it names had done before. `first`
    holds each producer's first batch, and the marker before it, to be joined with what came before the range.
    `instead` holds, for producers whose sequence broke, what would come next if the one batch alone was wrong.
    """

    def __init__(self, snapshots: Sequence[NamedProducers] = (), kept: frozenset[int] = frozenset()) -> None:
        """`snapshots` are by their offsets, ascending; `kept` are producers never to be forgotten."""
        self.data: dict[int, tuple[int, ...]] = {}  # fields of Written: as they come, for there are many
        self.markers: dict[int, Ended] = {}
        self.first: dict[int, tuple[Written, Ended | None]] = {}
        self.breaks: list[SequenceBreak] = []
        self.at: dict[int, dict[int, Producer]] = {}
        self._snapshots = list(snapshots)
        self._kept = kept
        self.instead: dict[int, int] = {}

    def of(self, producer_id: int) -> Producer:
        """What a producer did last, as far as these batches show."""
        data = self.data.get(producer_id)
        return Producer(None if data is None else Written._make(data), self.markers.get(producer_id))

    def drop_state(self) -> None:
        """Keep only `first`: the rest has been used, and a log may have very many producers."""
        self.data, self.markers, self.at, self.breaks = {}, {}, {}, []

    def take(self, window: Window, good: Bools, events: Sequence[TransactionEvent]) -> None:
        """Take a window's sound batches. `events` are the window's; a marker without one was emptied by the cleaner."""
        rows = (good & (window.column("producer_id") >= 0)).nonzero()[0]
        for upto, begin, end in self._pieces(window.column("base_offset")[rows]):
            if begin < end:
                self._take_rows(window, rows[begin:end], events)
            self._pass_snapshots(upto)
        self._bound()

    def _pieces(self, offsets: Ints) -> Iterator[tuple[int, int, int]]:
        """Ranges of rows between the snapshots' offsets, each with the offset that is reached behind it."""
        begin = 0
        for offset, _ in list(self._snapshots):
            end = int(offsets.searchsorted(offset))
            if end == len(offsets):
                break
            yield offset, begin, end
            begin = end
        yield -1, begin, len(offsets)

    def _take_rows(self, window: Window, rows: Ints, events: Sequence[TransactionEvent]) -> None:
        """Take some rows; only those that may not follow the one before are examined one by one."""
        producers = window.column("producer_id")[rows]
        if bool((producers != producers[0]).any()):
            order = producers.argsort(kind="stable")
            rows, producers = rows[order], producers[order]
        columns = [window.column(name)[rows] for name in _FIELDS] + [window.position[rows]]
        _, epoch, sequence, delta, *_ = columns
        control = window.control[rows]
        follows = np.zeros(len(rows), bool)
        follows[1:] = (
            (producers[1:] == producers[:-1])
            & (epoch[1:] == epoch[:-1])
            & ~control[1:]
            & ~control[:-1]
            & (sequence[:-1] >= 0)
            & (sequence[1:] == (sequence[:-1] + delta[:-1] + 1) % SEQUENCES)
        )
        wanted = ~follows
        wanted[:-1] |= ~follows[1:]  # the one before a row that is looked at, and each producer's last
        wanted[-1] = True
        markers = {e.position: e for e in events if e.marker is not None}
        at = wanted.nonzero()[0]
        for is_marker, plain, *row in zip(
            control[at].tolist(), follows[at].tolist(), *(c[at].tolist() for c in columns), strict=True
        ):
            batch = Written._make(row)
            if plain:
                self.data[batch.producer_id] = batch
            elif not is_marker:
                self._take(batch)
            elif event := markers.get(batch.position):
                self.markers[batch.producer_id] = Ended(
                    batch.base_offset, batch.producer_epoch, batch.timestamp, event.coordinator_epoch
                )

    def _take(self, there: Written) -> None:
        """Take a batch that has to be compared with what its producer did before."""
        producer = there.producer_id
        before = self.of(producer)
        if before.data is not None:
            self._hold(before.data, why_not(before, there), there)
        elif len(self.first) < _MOST_PRODUCERS:
            self.first.setdefault(producer, (there, before.marker))
        self.data[producer] = there

    def _hold(self, before: Written, why: str, there: Written) -> None:
        """Note a break. A single wrong batch is one break, not two."""
        instead = self.instead.pop(there.producer_id, None)
        if why in OF_ONE_EPOCH:
            if there.base_sequence == instead:
                return
            self.instead[there.producer_id] = after_both(before, there)
        if why and len(self.breaks) < _MOST_BREAKS:
            self.breaks.append(SequenceBreak(before, there, why))

    def _pass_snapshots(self, upto: int) -> None:
        """Note what is known at the snapshots' offsets up to this one."""
        while self._snapshots and self._snapshots[0].offset <= upto:
            offset, named = self._snapshots.pop(0)
            known = named & (self.data.keys() | self.markers.keys())
            self.at[offset] = {producer: self.of(producer) for producer in known}

    def _bound(self) -> None:
        """Forget producers where there are too many."""
        if len(self.data) > 2 * _MOST_PRODUCERS:
            for producer in [p for p in self.data if p not in self._kept][:-_MOST_PRODUCERS]:
                del self.data[producer]
                self.markers.pop(producer, None)


class Known(NamedTuple):
    """What a log says of the producers that a snapshot names, before the snapshot's offset.

    The log was read without a gap from `start` on; `complete` where nothing came before that. `following`, of a
    snapshot at `start`, are the first batches after it, and the markers before those.
    """

    producers: Mapping[int, Producer]
    start: int
    complete: bool
    following: Mapping[int, tuple[Written, Ended | None]]
