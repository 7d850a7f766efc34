"""Checking the windows of a stretch of a log thoroughly: every batch, and the index entries met."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from kidx.checks.against_log import OffsetEntries, TimeEntries
from kidx.checks.batch_epochs import check_epochs
from kidx.checks.batch_headers import impossible, of_batch, wrong_crcs, wrong_fields
from kidx.checks.making import MAX_FINDINGS_OF_A_RULE
from kidx.checks.order import between
from kidx.checks.stretch import Gap, LogFacts, Named, Stretch
from kidx.checks.transaction_events import TransactionEvents
from kidx.evidence import Evidence
from kidx.findings import Finding
from kidx.formats.batches import DELETE_HORIZON_BIT
from kidx.segments.records import read_records

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from kidx.segments.record_blocks import RecordDecoder
    from kidx.segments.windows import Window

    Ints = npt.NDArray[np.int64]
    Bools = npt.NDArray[np.bool_]

_MOST_FINDINGS = 20 * MAX_FINDINGS_OF_A_RULE


class WindowCheck:
    """Checks the windows of one stretch, in order. The methods are the checks, one a matter, each over a whole window.

    `after_bad`: the batch before has a wrong CRC, so that its last offset is not to be believed.
    """

    def __init__(
        self, log: Evidence, facts: LogFacts, seen: Stretch, offsets: OffsetEntries | None, times: TimeEntries | None
    ) -> None:
        self.log, self.facts, self.seen, self.offsets, self.times = log, facts, seen, offsets, times
        self.after_bad = False
        self._events = TransactionEvents(log, deep=facts.deep)
        self._decoder: RecordDecoder | None = None

    def wants(self, window: Window) -> bool:
        """Whether a window has to be looked at here, however healthy it is by itself."""
        return self.after_bad or self._events.meets_open(window)

    def check(self, window: Window) -> None:
        """Check a window; what there is to tell goes into `seen`. Raises CannotRead and its children."""
        import numpy as np

        seen = self.seen
        good: Bools = np.ones(len(window), bool)
        if window.bad_crc:
            good[window.bad_crc] = False
        first_offsets, known = self._first_offsets(window, good)
        self._add(wrong_crcs(self.log.path, window))
        self._add(wrong_fields(self.log.path, self.facts, window, good, first_offsets))
        seen.compacted |= _compacted(window, good)
        sound = good & known & ~impossible(window)
        self._offsets_follow(window, sound, first_offsets)
        self._add(check_epochs(self.log.path, self.facts, seen, window, good))
        events = list(self._events.of(window, sound))
        seen.events += events
        seen.producers.take(window, sound, events)
        self._add(self._events.unknown(window))
        self._add(self._events.outside(window))
        self._named(window, good, first_offsets)
        if self.offsets is not None:
            self._add(self.offsets.meet(self.log, window))
        if self.times is not None and good.all():
            self._add(self.times.meet(self.log, window, first_offsets, seen.max_timestamp))
        elif self.times is not None:  # a damaged batch's timestamp proves nothing about an entry
            low, high = between(self.times.offsets, int(first_offsets.min()), int(window.last_offset.max()))
            self.times.met[low:high] = b"\1" * (high - low)
        self._timestamps(window, good)
        if self.facts.deep:
            self._add(self._records(window, good))
        seen.batches += len(window)

    def _add(self, findings: Iterable[Finding]) -> None:
        """Keep findings, within bounds: whoever counts them sees that there are more than may be told."""
        for one in findings:
            if len(self.seen.findings) < _MOST_FINDINGS:
                self.seen.findings.append(one)

    def _first_offsets(self, window: Window, good: Bools) -> tuple[Ints, Bools]:
        """Each batch's first offset, and whether it is known; a compressed v0 or v1 message tells it when inflated."""
        import numpy as np

        known: Bools = np.ones(len(window), bool)
        wrapped = (window.column("magic") < 2) & (window.codec > 0)
        if not wrapped.any():
            return window.column("base_offset"), known
        first = window.column("base_offset").copy()
        for row, batch in enumerate(window.batches()):
            if wrapped[row] and good[row]:
                records, damage = read_records(self.log, batch)
                if damage is None and records:
                    first[row] = records[0].offset
                else:
                    known[row] = False
                if damage is not None and not damage.limit and not self.facts.deep:
                    self._add([of_batch(self.log.path, "KX308", window, row, damage.why, found=damage.kind)])
        return np.minimum(first, window.column("base_offset")), known

    def _offsets_follow(self, window: Window, good: Bools, first_offsets: Ints) -> None:
        """Each batch's first offset follows the last offset before it; damaged batches count for nothing."""
        import numpy as np

        seen = self.seen
        rows = np.nonzero(good)[0]
        if not len(rows):
            self.after_bad = True
            return
        first, last = first_offsets[rows], window.last_offset[rows]
        before = np.empty_like(last)
        before[1:] = last[:-1]
        before[0] = seen.last_offset if seen.last_offset is not None else int(first[0]) - 1
        trusted = np.ones(len(rows), bool)
        trusted[1:] = np.diff(rows) == 1
        trusted[0] = rows[0] == 0 and not self.after_bad
        steps = first - before
        for at in np.nonzero(steps < 1)[0].tolist():
            row = int(rows[at])
            self._add(
                iter(
                    [
                        of_batch(
                            self.log.path,
                            "KX305",
                            window,
                            row,
                            f"it begins with offset {first[at]}, but offset {before[at]} came before it",
                            expected=int(before[at]) + 1,
                            found=int(first[at]),
                        )
                    ]
                )
            )
        for at in np.nonzero((steps > 1) & trusted)[0].tolist():
            if len(seen.gaps) < MAX_FINDINGS_OF_A_RULE:
                seen.gaps.append(Gap(int(window.position[rows[at]]), int(before[at]) + 1, int(first[at]) - 1))
        if seen.first_offset is None:
            seen.first_offset = int(first[0])
        seen.last_offset, seen.last_position = int(last.max()), int(window.position[rows[-1]])
        self.after_bad = int(rows[-1]) != len(window) - 1

    def _named(self, window: Window, good: Bools, first_offsets: Ints) -> None:
        """Note the batches that producer snapshots name."""
        import numpy as np

        wanted = np.array(self.facts.wanted, np.int64)
        low, high = between(wanted, int(first_offsets[0]), int(window.last_offset[-1]))
        if low >= high:
            return
        rows = np.minimum(np.searchsorted(window.last_offset, wanted[low:high]), len(window) - 1)
        for offset, row in zip(wanted[low:high].tolist(), rows.tolist(), strict=True):
            if not good[row] or not first_offsets[row] <= offset <= window.last_offset[row]:
                continue
            batch = window.batch(row)
            self.seen.named[offset] = Named(
                batch.producer_id,
                batch.producer_epoch,
                batch.last_sequence,
                batch.last_offset_delta,
                batch.control,
                offset == batch.last_offset,
            )

    def _timestamps(self, window: Window, good: Bools) -> None:
        largest = window.column("max_timestamp")[good]
        if not len(largest):
            return
        top = int(largest.max())
        if top > self.facts.future_ms and self.seen.future is None:
            row = int((window.column("max_timestamp") > self.facts.future_ms).argmax())
            self.seen.future = int(window.position[row]), int(window.column("max_timestamp")[row])
        self.seen.max_timestamp = max(self.seen.max_timestamp, top)

    def _records(self, window: Window, good: Bools) -> Iterator[Finding]:
        if self._decoder is None:
            from kidx.segments.record_blocks import RecordDecoder

            self._decoder = RecordDecoder(self.log)
        for block in self._decoder.blocks(window):
            for row, damage in block.damage:
                if damage.limit:
                    self.seen.too_large.append(
                        f"{self.log.path}: the batch at byte {int(window.position[row])} was not decoded: {damage.why}"
                    )
                elif good[row]:
                    yield of_batch(self.log.path, "KX308", window, row, damage.why, found=damage.kind)


def _compacted(window: Window, good: Bools) -> bool:
    """Whether a cleaner has been at work in a window."""
    fewer = window.column("record_count") <= window.column("last_offset_delta")
    horizon = window.column("attributes") & DELETE_HORIZON_BIT > 0
    return bool(((window.column("magic") == 2) & good & (fewer | horizon)).any())
