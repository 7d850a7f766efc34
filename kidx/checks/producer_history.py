"""Producers followed from segment to segment: their state where snapshots were taken, and breaks in their sequences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from kidx.checks.log import LogChecked
from kidx.checks.making import finding, limited
from kidx.checks.producers import NamedProducers, Producers
from kidx.checks.sequences import (
    GAP,
    NEW_EPOCH,
    OF_ONE_EPOCH,
    OLD_EPOCH,
    REPEAT,
    RESTART,
    Ended,
    Producer,
    SequenceBreak,
    Written,
    after_both,
    why_not,
)
from kidx.findings import NOTE, WARNING, Finding
from kidx.formats.batches import HEADER_BYTES, SEQUENCES, sequence_after

_STATE_KEPT_MS = 86_400_000  # producer.id.expiration.ms: after a longer silence a broker may have forgotten a producer
_MOST_PRODUCERS = 1 << 17  # followed from segment to segment


class Known(NamedTuple):
    """What a log says of the producers that a snapshot names, before the snapshot's offset.

    The log was read without a gap from `start` on; `complete` where nothing came before that. `following`, of a
    snapshot at `start`, are the first batches after it, and the markers before those.
    """

    producers: Mapping[int, Producer]
    start: int
    complete: bool
    following: Mapping[int, tuple[Written, Ended | None]]


class ProducerHistory:
    """The producers of a partition while its segments' logs go by in order.

    `known` is by the snapshots' offsets; those where the log does not tell are missing.
    """

    def __init__(self, snapshots: Sequence[NamedProducers], kept: frozenset[int]) -> None:
        """`snapshots` are by their offsets, ascending; `kept` are producers never to be forgotten."""
        self._breaks: dict[str, list[SequenceBreak]] = {}  # by the log's path
        self.known: dict[int, Known] = {}
        self._waiting = list(snapshots)
        self._kept = kept
        self._producers: dict[int, Producer] = {}
        self._following: dict[int, tuple[Written, Ended | None]] = {}
        self._instead: dict[int, int] = {}
        self._start = 0
        self._end: int | None = None  # the offset after the last one, None where that was not to be believed

    def take(self, path: str, base_offset: int, log: LogChecked | None, *, compacted: bool) -> None:
        """Follow a segment. One that was not read or is not as a broker wrote it begins the history anew.

        Where it is known that the partition was `compacted`, missing offsets do not; of such a log nothing is whole.
        """
        if base_offset != self._end and not compacted:
            self._producers, self._following, self._instead, self._start = {}, {}, {}, base_offset
        if log is None or not log.tells_transactions or (log.gaps and not compacted):
            self._end = None
            return
        for stretch in log.producers:
            self._follow(path, stretch)
            stretch.drop_state()
        self._end = base_offset if log.last_offset is None else log.last_offset + 1
        self._note(self._end, {})

    def broken_sequences(self) -> Iterator[Finding]:
        """Findings about batches that do not follow their producer's last one."""
        for path, breaks in self._breaks.items():
            yield from limited(_broken(path, one) for one in breaks)

    def _follow(self, path: str, stretch: Producers) -> None:
        breaks = self._breaks.setdefault(path, [])
        resumed: dict[int, tuple[Written, int]] = {}
        for producer, (there, marker) in stretch.first.items():
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
        for one in stretch.breaks:
            if resumed.get(one.there.producer_id) != (one.before, one.there.base_sequence):
                breaks.append(one)
        self._instead |= stretch.instead
        for offset, producers in stretch.at.items():
            self._note(offset, producers)
        for producer in stretch.data.keys() | stretch.markers.keys():
            self._producers[producer] = self._joined(producer, stretch.of(producer))
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


def _broken(path: str, one: SequenceBreak) -> Finding:
    """Where the broker may have known nothing of the producer any more, and so taken what came, it is a note."""
    before, there, why = one
    forgotten = why in (RESTART, NEW_EPOCH) or there.timestamp - before.timestamp >= _STATE_KEPT_MS
    wanted = sequence_after(before.last_sequence, 1)
    first, last = there.base_sequence, before.last_sequence
    said = {
        GAP: f"goes on with sequence number {first} after {last}: {(first - wanted) % SEQUENCES:,} are missing",
        REPEAT: f"goes back to sequence number {first} after {last}",
        RESTART: f"begins with sequence number 0 again after {last}, in the same epoch",
        NEW_EPOCH: f"begins epoch {there.producer_epoch} with sequence number {first} instead of 0",
        OLD_EPOCH: f"writes in epoch {there.producer_epoch}, which a later one had ended",
    }[why]
    perhaps = " (its broker may have forgotten the producer)" if forgotten else ""
    return finding(
        "KX408",
        path,
        f"the batch at byte {there.position} (base offset {there.base_offset}): producer {there.producer_id} {said}"
        + perhaps,
        span=(there.position, there.position + HEADER_BYTES),
        expected=0 if why == NEW_EPOCH else wanted,
        found={"producer_epoch": there.producer_epoch, "base_sequence": first},
        severity=NOTE if forgotten else WARNING,
    )
