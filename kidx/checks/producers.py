"""The producers of a log, or of a stretch of one: every batch taken in, the state at each snapshot's offset kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kidx.checks.sequences import OF_ONE_EPOCH, Ended, Producer, SequenceBreak, Written, after_both, why_not
from kidx.formats.batches import SEQUENCES

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from kidx.checks.stretch import TransactionEvent
    from kidx.segments.windows import Window

    Bools = npt.NDArray[np.bool_]
    Ints = npt.NDArray[np.int64]

_MOST_PRODUCERS = 1 << 16  # whose last batch is kept at least; where there are more, some are forgotten
_MOST_BREAKS = 1000
_FIELDS = ("producer_id", "producer_epoch", "base_sequence", "last_offset_delta", "base_offset", "max_timestamp")
_EPOCH, _SEQUENCE, _DELTA, _BASE = map(
    Written._fields.index, ("producer_epoch", "base_sequence", "offset_delta", "base_offset")
)
_PAST_ALL = 1 << 63


class NamedProducers(NamedTuple):
    """The producers that the snapshot of an offset names."""

    offset: int
    producer_ids: frozenset[int]


class Producers:
    """The producers of a log, or of a stretch of one, in the order of their batches. Picklable.

    `at` holds, for each snapshot's offset that was passed, what the producers that it names had done before. `first`
    holds each producer's first batch, and the marker before it, for whoever knows what came before the stretch.
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
        """What a producer did last, as far as these batches tell."""
        data = self.data.get(producer_id)
        return Producer(None if data is None else Written._make(data), self.markers.get(producer_id))

    def drop_state(self) -> None:
        """Keep `first` alone: the rest has been followed, and there are as many as a log has producers."""
        self.data, self.markers, self.at, self.breaks = {}, {}, {}, []

    def take_plain(self, columns: Mapping[str, Sequence[int]], positions: Sequence[int]) -> None:
        """Take a window's data batches, given without numpy. `columns` has the fields of Written, by a header's names.

        Nearly every batch follows the one before, so that comes first: this is done for each batch of a log.
        """
        data, markers = self.data, self.markers
        next_snapshot = self._next_snapshot()
        for row in zip(*(columns[name] for name in _FIELDS), positions, strict=True):
            producer = row[0]
            if producer < 0:
                continue
            if row[_BASE] >= next_snapshot:
                self._pass_snapshots(row[_BASE])
                next_snapshot = self._next_snapshot()
            before = data.get(producer)
            if (
                before is not None
                and before[_SEQUENCE] >= 0
                and row[_SEQUENCE] == (before[_SEQUENCE] + before[_DELTA] + 1) % SEQUENCES
                and row[_EPOCH] == before[_EPOCH]
                and producer not in markers
            ):
                data[producer] = row
            else:
                self._take(Written._make(row))
        self._bound()

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
        """Take some rows, looking one by one at those only that do not plainly follow the one before."""
        import numpy as np

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
        """Take a batch that has to be held against what its producer did before."""
        producer = there.producer_id
        before = self.of(producer)
        if before.data is not None:
            self._hold(before.data, why_not(before, there), there)
        elif len(self.first) < _MOST_PRODUCERS:
            self.first.setdefault(producer, (there, before.marker))
        self.data[producer] = there

    def _hold(self, before: Written, why: str, there: Written) -> None:
        """Note a break; but one batch that is wrong among right ones is one break, not another one behind it."""
        instead = self.instead.pop(there.producer_id, None)
        if why in OF_ONE_EPOCH:
            if there.base_sequence == instead:
                return
            self.instead[there.producer_id] = after_both(before, there)
        if why and len(self.breaks) < _MOST_BREAKS:
            self.breaks.append(SequenceBreak(before, there, why))

    def _next_snapshot(self) -> int:
        """The offset of the next snapshot, past all offsets where there is none."""
        return self._snapshots[0].offset if self._snapshots else _PAST_ALL

    def _pass_snapshots(self, upto: int) -> None:
        """Note what is known at the snapshots' offsets up to this one."""
        while self._next_snapshot() <= upto:
            offset, named = self._snapshots.pop(0)
            known = named & (self.data.keys() | self.markers.keys())
            self.at[offset] = {producer: self.of(producer) for producer in known}

    def _bound(self) -> None:
        """Forget producers where there are too many."""
        if len(self.data) > 2 * _MOST_PRODUCERS:
            for producer in [p for p in self.data if p not in self._kept][:-_MOST_PRODUCERS]:
                del self.data[producer]
                self.markers.pop(producer, None)
