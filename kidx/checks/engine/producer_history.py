"""Producers followed from segment to segment: their state at each snapshot, and breaks in their sequences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kidx.checks.subjects.logs import LogResult
from kidx.checks.subjects.producers import (
    OF_ONE_EPOCH,
    Ended,
    Known,
    NamedProducers,
    Producer,
    Producers,
    SequenceBreak,
    Written,
    after_both,
    why_not,
)

_MOST_PRODUCERS = 1 << 17  # followed from segment to segment


class ProducerHistory:
    """The producers of a partition while its segments' logs go by in order.

    `known` is by the snapshots' offsets; those at which the log does not show the state are missing. `breaks` are the
    batches that do not follow their producer's last one, by the log's path.
    """

    def __init__(self, snapshots: Sequence[NamedProducers], kept: frozenset[int]) -> None:
        """`snapshots` are by their offsets, ascending; `kept` are producers never to be forgotten."""
        self.breaks: dict[str, list[SequenceBreak]] = {}  # by the log's path
        self.known: dict[int, Known] = {}
        self._waiting = list(snapshots)
        self._kept = kept
        self._producers: dict[int, Producer] = {}
        self._following: dict[int, tuple[Written, Ended | None]] = {}
        self._instead: dict[int, int] = {}
        self._start = 0
        self._end: int | None = None  # the offset after the last one, None where that was not to be believed

    def take(self, path: str, base_offset: int, log: LogResult | None, *, compacted: bool) -> None:
        """Follow a segment. One that was not read or is not as a broker wrote it restarts the history.

        If the partition was `compacted`, missing offsets do not, but the log does not show every batch.
        """
        if base_offset != self._end and not compacted:
            self._producers, self._following, self._instead, self._start = {}, {}, {}, base_offset
        if log is None or not log.as_written or (log.gaps and not compacted):
            self._end = None
            return
        for range_ in log.producers:
            self._follow(path, range_)
            range_.drop_state()
        self._end = base_offset if log.last_offset is None else log.last_offset + 1
        self._note(self._end, {})

    def _follow(self, path: str, range_: Producers) -> None:
        breaks = self.breaks.setdefault(path, [])
        resumed: dict[int, tuple[Written, int]] = {}
        for producer, (there, marker) in range_.first.items():
            before, instead = self._joined(producer, Producer(None, marker)), self._instead.pop(producer, None)
            why = why_not(before, there)
            if before.data is None and producer in self._kept:
                self._following[producer] = there, before.marker
            elif before.data is not None and why in OF_ONE_EPOCH:
                if there.base_sequence != instead:
                    breaks.append(SequenceBreak(before.data, there, why))
                    resumed[producer] = there, after_both(before.data, there)
            elif before.data is not None and why:
                breaks.append(SequenceBreak(before.data, there, why))
        for one in range_.breaks:
            goes_on = resumed.get(one.there.producer_id) == (one.before, one.there.base_sequence)
            if not goes_on or one.why not in OF_ONE_EPOCH:
                breaks.append(one)
        self._instead |= range_.instead
        for offset, producers in range_.at.items():
            self._note(offset, producers)
        for producer in range_.data.keys() | range_.markers.keys():
            self._producers[producer] = self._joined(producer, range_.of(producer))
        if len(self._producers) > 2 * _MOST_PRODUCERS:
            for producer in [p for p in self._producers if p not in self._kept][:-_MOST_PRODUCERS]:
                del self._producers[producer]

    def _note(self, offset: int, since: Mapping[int, Producer]) -> None:
        """Keep what is known at the snapshots up to an offset; `since` comes on top of what was known before."""
        while self._waiting and self._waiting[0][0] <= offset:
            at, named = self._waiting.pop(0)
            if at >= self._start:
                known = {p: self._joined(p, since.get(p, Producer(None, None))) for p in named}
                wrote = {p: told for p, told in known.items() if told.data or told.marker}
                following = self._following if at == self._start else {}
                self.known[at] = Known(wrote, self._start, self._start == 0, following)

    def _joined(self, producer: int, new: Producer) -> Producer:
        old = self._producers.get(producer, new)
        return Producer(new.data or old.data, new.marker or old.marker)
