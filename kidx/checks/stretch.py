"""One stretch of a log, from a batch boundary to another: every batch checked, index entries met on the way.

A large log is cut into stretches that forks check side by side; what can only be told across their borders is in the
Stretch that each gives back. The whole log of a small segment is one stretch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from kidx.checks.against_log import OffsetEntries, TimeEntries
from kidx.checks.making import MAX_FINDINGS_OF_A_RULE, finding
from kidx.evidence import Evidence
from kidx.findings import Finding
from kidx.formats.batches import DELETE_HORIZON_BIT, NO_TIMESTAMP
from kidx.formats.compression import ZSTD
from kidx.formats.control import control_type
from kidx.formats.indexes import MAX_RELATIVE_OFFSET
from kidx.segments.record_blocks import RecordDecoder
from kidx.segments.records import first_offset, read_records
from kidx.segments.scan import scan

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from kidx.segments.windows import Window

    Ints = npt.NDArray[np.int64]
    Bools = npt.NDArray[np.bool_]


class LogFacts(NamedTuple):
    """What is known about a log from its surroundings, and what to look for in it.

    `epochs` are leader-epoch-checkpoint's lines: the epochs, then their start offsets; empty without the file.
    `wanted` are last offsets that producer snapshots name, ascending. `future_ms` is a moment that no timestamp should
    lie after. `deep`: decode every record.
    """

    base_offset: int
    next_base_offset: int | None
    epochs: tuple[tuple[int, ...], ...]
    wanted: Sequence[int]
    future_ms: int
    deep: bool


class Gap(NamedTuple):
    """Offsets that no batch has: `position` is where the next batch starts, `first` and `last` are the missing ones."""

    position: int
    first: int
    last: int


class TransactionEvent(NamedTuple):
    """What a log says about a producer's transaction: its first batch since the last marker, or a marker.

    `marker` is the control record's type, None for a data batch. `offset` is the batch's base offset.
    """

    position: int
    producer_id: int
    offset: int
    marker: int | None


class Named(NamedTuple):
    """The batch with a last offset that a producer snapshot names; `exact` whether it ends there."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    control: bool
    exact: bool


@dataclass(slots=True)
class Stretch:
    """What a stretch of a log holds. `first_offset` and `last_offset` are None where it has no sound batch."""

    start: int
    position: int = 0
    batches: int = 0
    findings: list[Finding] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    events: list[TransactionEvent] = field(default_factory=list)
    named: dict[int, Named] = field(default_factory=dict)
    too_large: list[str] = field(default_factory=list)
    first_offset: int | None = None
    last_offset: int | None = None
    last_position: int | None = None
    first_epoch: int = -1
    last_epoch: int = -1
    max_timestamp: int = NO_TIMESTAMP
    compacted: bool = False
    future: tuple[int, int] | None = None
    times_met: Bools | None = None
    first_time_met: int | None = None
    ending: str = "end"
    ending_why: str = ""


class StretchCheck:
    """Checks one stretch. `run()` does it; the methods are the checks, one a matter, each over a whole window."""

    def __init__(
        self,
        log: Evidence,
        facts: LogFacts,
        offsets: OffsetEntries | None,
        times: TimeEntries | None,
        start: int,
        end: int | None,
    ) -> None:
        self.log, self.facts, self.offsets, self.times = log, facts, offsets, times
        self.end = end
        self.seen = Stretch(start)
        self._open: set[int] = set()
        self._decoder: RecordDecoder | None = None
        self._after_bad = False  # the batch before has a wrong CRC, so that its last offset is not to be believed

    def run(self) -> Stretch:
        """Scan and check. Raises CannotRead and its children."""
        positions = self.offsets.positions if self.offsets else None
        windows = scan(self.log, positions, start=self.seen.start, end=self.end, hold=self.facts.deep)
        for window in windows:
            self._window(window)
        self.seen.position = windows.position
        if windows.ending is not None:
            self.seen.ending, self.seen.ending_why = windows.ending.kind, windows.ending.why
        if self.times is not None:
            self.seen.times_met, self.seen.first_time_met = self.times.met, self.times.first_met
        return self.seen

    def _window(self, window: Window) -> None:
        import numpy as np

        seen = self.seen
        good: Bools = np.ones(len(window), bool)
        if window.bad_crc:
            good[window.bad_crc] = False
        first_offsets = self._first_offsets(window, good)
        self._add(self._crcs(window))
        self._add(self._fields(window, good, first_offsets))
        self._offsets_follow(window, good, first_offsets)
        self._add(self._epochs(window, good))
        self._transactions(window, good)
        self._producers(window, good, first_offsets)
        if self.offsets is not None:
            self._add(self.offsets.meet(self.log, window))
        if self.times is not None and good.all():
            self._add(self.times.meet(self.log, window, first_offsets, seen.max_timestamp))
        elif self.times is not None:  # a damaged batch's timestamp proves nothing about an entry
            low, high = np.searchsorted(
                self.times.offsets, [first_offsets.min(), window.last_offset.max() + 1]
            ).tolist()
            self.times.met[low:high] = True
        self._timestamps(window, good)
        if self.facts.deep:
            self._add(self._records(window, good))
        seen.batches += len(window)

    def _add(self, findings: Iterator[Finding]) -> None:
        """Keep findings, within bounds: whoever counts them sees that there are more than may be told."""
        for one in findings:
            if len(self.seen.findings) < 20 * MAX_FINDINGS_OF_A_RULE:
                self.seen.findings.append(one)

    def _first_offsets(self, window: Window, good: Bools) -> Ints:
        """Each batch's first offset; a compressed v0 or v1 message tells it only when inflated."""
        import numpy as np

        wrapped = (window.column("magic") < 2) & (window.codec > 0)
        if not wrapped.any():
            return window.column("base_offset")
        first = window.column("base_offset").copy()
        for row, batch in enumerate(window.batches()):
            if wrapped[row] and good[row]:
                first[row] = first_offset(self.log, batch)
        return np.minimum(first, window.column("base_offset"))

    def _crcs(self, window: Window) -> Iterator[Finding]:
        for row in window.bad_crc or []:
            yield self._of_batch(
                "KX301",
                window,
                row,
                "its bytes do not have the CRC that its header says",
                found=f"{int(window.column('crc')[row]):08x} in the header",
            )

    def _fields(self, window: Window, good: Bools, first_offsets: Ints) -> Iterator[Finding]:
        import numpy as np

        base, last, count = window.column("base_offset"), window.last_offset, window.column("record_count")
        new = window.column("magic") == 2
        span = window.column("last_offset_delta") + 1
        odd = (base < 0) | (span < 1) | (new & ((count < 0) | (count > span))) | (window.codec > ZSTD)
        for row in np.nonzero(odd & good)[0].tolist():
            yield self._of_batch(
                "KX307",
                window,
                row,
                f"its header says base offset {base[row]}, last offset delta {span[row] - 1}, {count[row]} records and "
                f"codec {window.codec[row]}, which cannot be",
            )
        self.seen.compacted |= bool(
            (new & good & ((count < span) | (window.column("attributes") & DELETE_HORIZON_BIT > 0))).any()
        )
        facts = self.facts
        before = good & ~odd & (first_offsets < facts.base_offset)
        far = good & ~odd & (last - facts.base_offset > MAX_RELATIVE_OFFSET)
        for row in np.nonzero(far)[0].tolist():
            yield self._of_batch(
                "KX309",
                window,
                row,
                f"its last offset {last[row]} is more than 2^31-1 past the segment's base {facts.base_offset}",
                expected=facts.base_offset + MAX_RELATIVE_OFFSET,
                found=int(last[row]),
            )
        beyond = before
        if facts.next_base_offset is not None:
            beyond = before | (good & ~odd & ~far & (last >= facts.next_base_offset))
        for row in np.nonzero(beyond)[0].tolist():
            end = "" if facts.next_base_offset is None else f" to {facts.next_base_offset - 1}"
            yield self._of_batch(
                "KX310",
                window,
                row,
                f"it holds offsets {first_offsets[row]} to {last[row]}; the segment's are {facts.base_offset}{end}",
                found=[int(first_offsets[row]), int(last[row])],
            )

    def _offsets_follow(self, window: Window, good: Bools, first_offsets: Ints) -> None:
        """Each batch's first offset follows the last offset before it; damaged batches count for nothing."""
        import numpy as np

        seen = self.seen
        rows = np.nonzero(good)[0]
        if not len(rows):
            self._after_bad = True
            return
        first, last = first_offsets[rows], window.last_offset[rows]
        before = np.empty_like(last)
        before[1:] = last[:-1]
        before[0] = seen.last_offset if seen.last_offset is not None else first[0] - 1
        trusted = np.ones(len(rows), bool)
        trusted[1:] = np.diff(rows) == 1
        trusted[0] = rows[0] == 0 and not self._after_bad
        steps = first - before
        for at in np.nonzero(steps < 1)[0].tolist():
            row = int(rows[at])
            self._add(
                iter(
                    [
                        self._of_batch(
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
        self._after_bad = int(rows[-1]) != len(window) - 1

    def _epochs(self, window: Window, good: Bools) -> Iterator[Finding]:
        import numpy as np

        epochs = window.column("leader_epoch")
        rows = np.nonzero(good & (window.column("magic") == 2) & (epochs >= 0))[0]
        if not len(rows):
            return
        mine = epochs[rows]
        before = np.concatenate(([self.seen.last_epoch], mine[:-1]))
        for at in np.nonzero(mine < before)[0].tolist():
            yield self._of_batch(
                "KX404",
                window,
                int(rows[at]),
                f"its leader epoch is {mine[at]}, but epoch {before[at]} came before it",
                expected=f">= {before[at]}",
                found=int(mine[at]),
            )
        if self.seen.first_epoch < 0:
            self.seen.first_epoch = int(mine[0])
        self.seen.last_epoch = int(mine.max())
        if not self.facts.epochs:
            return
        known, starts = (np.array(numbers, np.int64) for numbers in self.facts.epochs)
        lines = np.searchsorted(starts, window.column("base_offset")[rows], "right") - 1
        wrong = (lines >= 0) & (known[np.maximum(lines, 0)] != mine)
        for at in np.nonzero(wrong)[0].tolist():
            yield self._of_batch(
                "KX405",
                window,
                int(rows[at]),
                f"its leader epoch is {mine[at]}; leader-epoch-checkpoint says {known[lines[at]]} from offset "
                f"{starts[lines[at]]} on",
                expected=int(known[lines[at]]),
                found=int(mine[at]),
            )

    def _transactions(self, window: Window, good: Bools) -> None:
        import numpy as np

        rows = np.nonzero(good & (window.transactional | window.control))[0].tolist()
        if not rows:
            return
        wanted = set(rows)
        for row, batch in enumerate(window.batches()):
            if row not in wanted or batch.producer_id < 0:
                continue
            marker = None
            if window.control[row]:
                records = read_records(self.log, batch).records
                if not records:  # the cleaner took the marker's record and left its header
                    continue
                marker = control_type(records[0].key)
                self._open.discard(batch.producer_id)
            elif batch.producer_id in self._open:
                continue
            else:
                self._open.add(batch.producer_id)
            self.seen.events.append(TransactionEvent(batch.position, batch.producer_id, batch.base_offset, marker))

    def _producers(self, window: Window, good: Bools, first_offsets: Ints) -> None:
        """Note the batches that producer snapshots name."""
        import numpy as np

        wanted = np.array(self.facts.wanted, np.int64)
        low, high = np.searchsorted(wanted, [int(first_offsets[0]), int(window.last_offset[-1]) + 1]).tolist()
        if low >= high:
            return
        rows = np.minimum(np.searchsorted(window.last_offset, wanted[low:high]), len(window) - 1)
        for offset, row in zip(wanted[low:high].tolist(), rows.tolist(), strict=True):
            if not good[row] or not first_offsets[row] <= offset <= window.last_offset[row]:
                continue
            sequence = int(window.column("base_sequence")[row])
            if sequence >= 0:
                sequence = (sequence + int(window.column("last_offset_delta")[row])) % (1 << 31)
            self.seen.named[offset] = Named(
                int(window.column("producer_id")[row]),
                int(window.column("producer_epoch")[row]),
                sequence,
                bool(window.control[row]),
                offset == int(window.last_offset[row]),
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
            self._decoder = RecordDecoder(self.log)
        for block in self._decoder.blocks(window):
            for row, damage in block.damage:
                if damage.limit:
                    self.seen.too_large.append(
                        f"{self.log.path}: the batch at byte {int(window.position[row])} was not decoded: {damage.why}"
                    )
                elif good[row]:
                    yield self._of_batch("KX308", window, row, damage.why, found=damage.kind)

    def _of_batch(
        self, code: str, window: Window, row: int, said: str, *, expected: object = None, found: object = None
    ) -> Finding:
        at = int(window.position[row])
        offset = int(window.column("base_offset")[row])
        return finding(
            code,
            self.log.path,
            f"the batch at byte {at} (base offset {offset}): {said}",
            span=(at, at + int(window.size[row])),
            expected=expected,
            found=found,
        )
