"""Logs as rules examine them: a window of batches, a range of a log, the borders between ranges, the whole log.

A large log is cut into ranges that forks check in parallel; each returns a LogRange with what only shows across
borders. A small log is one range.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from kidx.checks.subjects.indexes import IndexFile, OffsetEntries, TimeEntries
from kidx.checks.subjects.order import between
from kidx.checks.subjects.producers import NamedProducers, Producers
from kidx.checks.subjects.transactions import TransactionEvent, TransactionTracker, WindowTransactions
from kidx.evidence import Evidence, open_evidence
from kidx.findings import MAX_FINDINGS_OF_A_RULE, NOTE, Finding, Rule
from kidx.formats.batches import CONTROL_BIT, DELETE_HORIZON_BIT, NO_TIMESTAMP, TRANSACTIONAL_BIT
from kidx.formats.indexes import OFFSET_INDEX
from kidx.formats.records import Damage
from kidx.segments.records import read_records
from kidx.segments.walk import TORN
from kidx.segments.windows import Window

if TYPE_CHECKING:
    from kidx.segments.record_blocks import RecordDecoder

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_LISTED_NOT_DECODED = 20  # batches of one log


class LogFacts(NamedTuple):
    """What the files around a log say about it, and what to look for in it.

    `epochs` are leader-epoch-checkpoint's lines: the epochs, then their start offsets; empty without the file.
    `wanted` are last offsets that producer snapshots name, ascending; `snapshots` are those that lie in this segment,
    ascending, and `producers` all that any snapshot names. `future_ms` is a moment that no timestamp should lie after.
    `deep`: decode every record. `live`: a broker may be writing; `active`: appends go to this segment. `clean_start`:
    a broker loads the log as after a clean stop (True), recovers it (False), or that is not known. `zero_tail` gives
    the severity of preallocation here and the reason.
    """

    base_offset: int
    next_base_offset: int | None
    epochs: tuple[tuple[int, ...], ...]
    wanted: Sequence[int]
    snapshots: Sequence[NamedProducers]
    producers: frozenset[int]
    future_ms: int
    deep: bool
    live: bool = False
    active: bool = False
    clean_start: bool | None = None
    zero_tail: Callable[[], tuple[str, str]] = lambda: (NOTE, "")


class Gap(NamedTuple):
    """Offsets that no batch has: `position` is where the next batch starts, `first` and `last` are the missing ones."""

    position: int
    first: int
    last: int


class Named(NamedTuple):
    """The batch with a last offset that a producer snapshot names; `exact` whether it ends there."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    offset_delta: int
    control: bool
    exact: bool


class Steps(NamedTuple):
    """How the sound batches of a window follow each other, one value a sound batch.

    `rows` are rows of the window, `first` first offsets and `before` the last offset before each; `trusted` is whether
    the batch right before is sound, too. All int64 or bool, shape (sound,).
    """

    rows: Ints
    first: Ints
    before: Ints
    trusted: Bools


class MetOffsets(NamedTuple):
    """The offset index's entries from `low` to before `high` point into a window; one value an entry, shape (n,).

    `rows` are the rows whose batch starts there or later, `at_batch` whether one starts there, and `fits` whether that
    batch's last offset is the entry's. `first` and `last` are about batches of several offsets alone: whether the entry
    names the batch's first offset, as brokers up to 1.1 do, or its last one.
    """

    low: int
    high: int
    rows: Ints
    at_batch: Bools
    fits: Bools
    first: Bools
    last: Bools


class MetTimes(NamedTuple):
    """The time index's entries from `low` on that name offsets of a window; one value an entry, shape (n,).

    `rows` are the rows whose batch holds the offset where `inside`; `largest` is that batch's largest timestamp and
    `before` the largest before it.
    """

    low: int
    rows: Ints
    inside: Bools
    largest: Ints
    before: Ints


class LogRange:
    """What a range of a log holds, as far as it has been read: the state that conditions on its next window read.

    `first_offset` and `last_offset`, the largest, are None where it has no sound batch; `previous_last` is the last
    offset of the last sound batch. `after_bad`: the last batch is not sound. `last_epoch` is the last batch's that has
    one. Picklable.
    """

    def __init__(self, start: int, facts: LogFacts) -> None:
        self.start = start
        self.position = 0
        self.batches = 0
        self.findings: list[Finding] = []
        self.gaps: list[Gap] = []
        self.events: list[TransactionEvent] = []
        self.named: dict[int, Named] = {}
        self.producers = Producers(facts.snapshots, facts.producers)
        self.too_large: list[str] = []  # a sentence a batch that was not decoded, of the first
        self.not_decoded = 0  # how many there are
        self.first_offset: int | None = None
        self.first_position: int | None = None
        self.last_offset: int | None = None
        self.previous_last: int | None = None
        self.last_position: int | None = None
        self.after_bad = False
        self.first_epoch = -1
        self.last_epoch = -1
        self.last_magic = -1
        self.max_timestamp = NO_TIMESTAMP
        self.compacted = False
        self.first_named: list[tuple[Ints, Ints]] = []  # offset index entries that name a first offset, and the last
        self.last_named: int | None = None  # the first offset index entry that names a last offset
        self.future: tuple[int, int] | None = None  # position and timestamp of the first batch after facts.future_ms
        self.times_met: bytes | bytearray | None = None  # a byte a time entry, 1 where a batch has its offset
        self.first_time_met: int | None = None
        self.ending = "end"
        self.ending_why = ""

    def advance(self, batches: Batches) -> None:
        """Take in a window that has been checked. Raises CannotRead and its children."""
        self.compacted |= batches.compacted
        self._follow(batches)
        epochs = batches.epochs[1] if batches.one_epoch is None else batches.column("leader_epoch")[:1]
        if len(epochs) and epochs[0] >= 0:
            if self.first_epoch < 0:
                self.first_epoch = int(epochs[0])
            self.last_epoch = int(epochs[-1])
        events = batches.transactions.events
        self.events += events
        if batches.highest("producer_id") >= 0:
            self.producers.take(batches.window, batches.sound, events)
        self._note_named(batches)
        self._note_entries(batches)
        batches.mark_times()
        for row, why in batches.limited.items():
            self.not_decoded += 1
            if len(self.too_large) < _LISTED_NOT_DECODED:
                at = int(batches.window.position[row])
                self.too_large.append(f"{batches.path}: the batch at byte {at} was not decoded: {why}")
        self._take_timestamps(batches)
        self.last_magic = int(batches.column("magic")[-1])
        self.batches += len(batches)

    def _follow(self, batches: Batches) -> None:
        window = batches.window
        if batches.contiguous:
            begin, row = 0, len(window) - 1
            largest = int(window.last_offset[-1])
        else:
            steps = batches.steps
            rows = steps.rows
            if not len(rows):
                self.after_bad = True
                return
            missing = (steps.first - steps.before > 1) & steps.trusted
            for at in missing.nonzero()[0][: MAX_FINDINGS_OF_A_RULE - len(self.gaps)].tolist():
                before, after = int(steps.before[at]), int(steps.first[at])
                self.gaps.append(Gap(int(window.position[rows[at]]), before + 1, after - 1))
            begin, row = int(rows[0]), int(rows[-1])
            largest = int(window.last_offset[rows].max())
        if self.first_offset is None:
            self.first_offset, self.first_position = int(batches.first_offsets[begin]), int(window.position[begin])
        self.last_offset = largest if self.last_offset is None else max(self.last_offset, largest)
        self.previous_last, self.last_position = int(window.last_offset[row]), int(window.position[row])
        self.after_bad = row != len(window) - 1

    def _note_named(self, batches: Batches) -> None:
        """Note the batches that producer snapshots name."""
        wanted = np.asarray(batches.facts.wanted, np.int64)
        last = batches.window.last_offset
        low, high = between(wanted, int(batches.first_offsets[0]), int(last[-1]))
        if low >= high:
            return
        rows = np.minimum(last.searchsorted(wanted[low:high]), len(batches) - 1)
        for offset, row in zip(wanted[low:high].tolist(), rows.tolist(), strict=True):
            if not batches.good[row] or not batches.first_offsets[row] <= offset <= last[row]:
                continue
            batch = batches.window.batch(row)
            self.named[offset] = Named(
                batch.producer_id,
                batch.producer_epoch,
                batch.last_sequence,
                batch.last_offset_delta,
                batch.control,
                offset == batch.last_offset,
            )

    def _note_entries(self, batches: Batches) -> None:
        """Note which offsets of their batches the offset index's entries name."""
        met = batches.met_offsets
        if met is None:
            return
        if met.first.any():
            there = met.first.nonzero()[0]
            self.first_named.append((met.low + there, batches.window.last_offset[met.rows[there]]))
        if self.last_named is None and met.last.any():
            self.last_named = met.low + int(met.last.argmax())

    def _take_timestamps(self, batches: Batches) -> None:
        largest = batches.column("max_timestamp")
        good = largest if batches.all_good else largest[batches.good]
        if not len(good):
            return
        top = int(good.max())
        if top > batches.facts.future_ms and self.future is None:
            row = int((largest > batches.facts.future_ms).argmax())
            self.future = int(batches.window.position[row]), int(largest[row])
        self.max_timestamp = max(self.max_timestamp, top)


class Batches:
    """A window of a log's batches, with columns that several conditions need, each computed once.

    `before` is what the log range held before the window. Columns are int64 or bool, shape (n,), n batches.
    """

    def __init__(
        self,
        log: Evidence,
        facts: LogFacts,
        window: Window,
        before: LogRange,
        tracker: TransactionTracker,
        decoder: RecordDecoder | None,
        offsets: OffsetEntries | None,
        times: TimeEntries | None,
    ) -> None:
        self.log, self.facts, self.window, self.before = log, facts, window, before
        self.offsets, self.times = offsets, times
        self.path = log.path
        self._tracker, self._decoder = tracker, decoder
        self._discredited: Bools | None = None
        self._extremes: dict[str, tuple[int, int]] = {}

    def __len__(self) -> int:
        return len(self.window)

    def column(self, name: str) -> Ints:
        """A field of the headers (kidx.formats.batches.BATCH_HEADER), int64."""
        return self.window.column(name)

    def lowest(self, name: str) -> int:
        """The smallest value of a column."""
        return self._extremes_of(name)[0]

    def highest(self, name: str) -> int:
        """The largest value of a column."""
        return self._extremes_of(name)[1]

    def _extremes_of(self, name: str) -> tuple[int, int]:
        found = self._extremes.get(name)
        if found is None:
            column = self.column(name)
            found = self._extremes[name] = int(column.min()), int(column.max())
        return found

    @cached_property
    def current(self) -> bool:
        """Whether all batches are of the format v2."""
        return self.lowest("magic") == self.highest("magic") == 2

    @cached_property
    def bits(self) -> int:
        """The bits that any batch's attributes have."""
        return int(np.bitwise_or.reduce(self.column("attributes")))

    @cached_property
    def marked(self) -> Bools | None:
        """Which are transactional or control batches; None where there are none."""
        if not self.bits & (TRANSACTIONAL_BIT | CONTROL_BIT):
            return None
        return self.window.transactional | self.window.control

    @cached_property
    def dense(self) -> bool:
        """Whether every batch has a record for each of its offsets, and at least one."""
        delta = self.column("last_offset_delta")
        return self.lowest("last_offset_delta") >= 0 and bool((self.column("record_count") - delta == 1).all())

    @cached_property
    def all_good(self) -> bool:
        """Whether every CRC holds."""
        return not self.window.bad_crc

    @cached_property
    def good(self) -> Bools:
        """Which batches have a CRC that holds."""
        good: Bools = np.ones(len(self), bool)
        if self.window.bad_crc:
            good[self.window.bad_crc] = False
        return good

    def discredit(self, rows: Bools) -> None:
        """Mark batches whose header cannot be trusted: the engine passes the rows of the first checks."""
        self._discredited = rows if self._discredited is None else self._discredited | rows

    @cached_property
    def credible(self) -> Bools:
        """Which batches have a CRC that holds and a consistent header."""
        return self.good if self._discredited is None else self.good & ~self._discredited

    @cached_property
    def sound(self) -> Bools:
        """Which credible batches have a known first offset."""
        return self.credible if self._inflated is None else self.credible & self._inflated[1]

    @cached_property
    def all_sound(self) -> bool:
        """Whether all batches are sound."""
        return self.all_good and bool(self.sound.all())

    @cached_property
    def _inflated(self) -> tuple[Ints, Bools, list[tuple[int, Damage]]] | None:
        """First offsets, whether each is known, and damage; None without compressed messages before v2.

        The header of such a message has the last offset; the first one shows when it is inflated.
        """
        if self.current:
            return None
        wrapped = (self.column("magic") < 2) & (self.window.codec > 0)
        if not wrapped.any():
            return None
        known: Bools = np.ones(len(self), bool)
        first, damaged = self.column("base_offset").copy(), []
        for row, batch in enumerate(self.window.batches()):
            if wrapped[row] and self.good[row]:
                records, damage = read_records(self.log, batch)
                if damage is None and records:
                    first[row] = records[0].offset
                else:
                    known[row] = False
                if damage is not None:
                    damaged.append((row, damage))
        return np.minimum(first, self.column("base_offset")), known, damaged

    @property
    def first_offsets(self) -> Ints:
        """Each batch's first offset."""
        return self.column("base_offset") if self._inflated is None else self._inflated[0]

    @property
    def not_inflated(self) -> list[tuple[int, Damage]]:
        """Rows of compressed messages before v2 that cannot be inflated, and why."""
        return [] if self._inflated is None else [(row, one) for row, one in self._inflated[2] if not one.limit]

    @property
    def limited(self) -> dict[int, str]:
        """Rows that were not decoded because of a limit, and the limit."""
        found = [*self.record_damage, *self.transactions.limited, *(self._inflated[2] if self._inflated else ())]
        return {row: damage.why for row, damage in found if damage.limit}

    @cached_property
    def compacted(self) -> bool:
        """Whether a cleaner has been at work here: fewer records than offsets, or a delete horizon."""
        if self.dense and not self.bits & DELETE_HORIZON_BIT:
            return False
        fewer = self.column("record_count") <= self.column("last_offset_delta")
        horizon = self.column("attributes") & DELETE_HORIZON_BIT > 0
        return bool(((self.column("magic") == 2) & self.good & (fewer | horizon)).any())

    @cached_property
    def contiguous(self) -> bool:
        """Whether all batches are sound and each begins with the offset after the one before."""
        first, last, before = self.first_offsets, self.window.last_offset, self.before.previous_last
        return (
            self.all_sound
            and (before is None or int(first[0]) == before + 1)
            and bool((first[1:] - last[:-1] == 1).all())
            and int(last[-1]) >= int(first[0])
        )

    @cached_property
    def steps(self) -> Steps:
        """How the sound batches follow each other; the first one follows the last offset of the range before."""
        rows = self.sound.nonzero()[0]
        first, last = self.first_offsets[rows], self.window.last_offset[rows]
        before = np.empty_like(last)
        trusted: Bools = np.ones(len(rows), bool)
        if len(rows):
            before[1:] = last[:-1]
            known = self.before.previous_last
            before[0] = known if known is not None else int(first[0]) - 1
            trusted[1:] = rows[1:] - rows[:-1] == 1
            trusted[0] = rows[0] == 0 and not self.before.after_bad
        return Steps(rows, first, before, trusted)

    @cached_property
    def one_epoch(self) -> int | None:
        """The leader epoch of all batches (-1 for none) if all are good and share it; else None."""
        epoch = self.lowest("leader_epoch")
        return epoch if epoch == self.highest("leader_epoch") and self.current and self.all_good else None

    @cached_property
    def epochs(self) -> tuple[Ints, Ints]:
        """Rows of the good batches with a leader epoch, and their epochs."""
        epochs = self.column("leader_epoch")
        rows = (self.good & (self.column("magic") == 2) & (epochs >= 0)).nonzero()[0]
        return rows, epochs[rows]

    @cached_property
    def transactions(self) -> WindowTransactions:
        """The window's transactions; computed once, because the tracker moves on."""
        return self._tracker.take(self.window, self.sound, self.marked)

    @cached_property
    def record_damage(self) -> list[tuple[int, Damage]]:
        """Rows whose records cannot be decoded, and why; empty where records are not to be decoded."""
        if self._decoder is None:
            return []
        return [found for block in self._decoder.blocks(self.window) for found in block.damage]

    @cached_property
    def met_offsets(self) -> MetOffsets | None:
        """The offset index's entries that point into the window; None where there are none."""
        if self.offsets is None:
            return None
        positions, window = self.offsets.positions, self.window
        low, high = positions.searchsorted((window.start, window.end)).tolist()
        if low == high:
            return None
        wanted = positions[low:high]
        rows = window.position.searchsorted(wanted)
        there = np.minimum(rows, len(window) - 1)
        at_batch: Bools = window.position[there] == wanted
        offsets, last = self.offsets.offsets[low:high], window.last_offset[there]
        fits = offsets == last
        base = self.column("base_offset")[there]
        several, first = base < last, offsets == base
        if not self.current:  # a compressed message before v2 has the last offset in its header
            ends = np.concatenate(([self._end_before], window.last_offset[:-1]))[there]
            old = self.column("magic")[there] < 2
            several = np.where(old, (window.codec[there] > 0) & (ends + 1 < last), several)
            first = np.where(old, (ends < offsets) & (offsets < last), first)
        told = at_batch & several
        return MetOffsets(low, high, rows, at_batch, fits, told & first, told & fits)

    @property
    def _end_before(self) -> int:
        """The last offset before the window; where none is known, the one before the segment."""
        known = self.before.previous_last
        return self.facts.base_offset - 1 if known is None else known

    @cached_property
    def met_times(self) -> MetTimes | None:
        """The time index's entries for offsets of the window; None without one, or where a batch is damaged: its
        timestamp proves nothing about an entry.
        """
        if self.times is None or not self.all_good:
            return None
        first, last = self.first_offsets, self.window.last_offset
        low, high = between(self.times.offsets, int(first[0]), int(last[-1]))
        if low >= high:
            return None
        offsets = self.times.offsets[low:high]
        rows = np.minimum(last.searchsorted(offsets), len(self) - 1)
        inside: Bools = (first[rows] <= offsets) & (offsets <= last[rows])
        largest = self.column("max_timestamp")
        so_far = np.maximum.accumulate(largest)
        before = so_far[rows - 1]
        before[rows == 0] = self.before.max_timestamp
        np.maximum(before, self.before.max_timestamp, out=before)
        return MetTimes(low, rows, inside, largest[rows], before)

    def mark_times(self) -> None:
        """Mark the time index's entries whose offsets are in the window."""
        if self.times is None:
            return
        if not self.all_good:
            low, high = between(self.times.offsets, int(self.first_offsets.min()), int(self.window.last_offset.max()))
            self.times.met[low:high] = b"\1" * (high - low)
        elif self.met_times is not None:
            self.times.meet(self.met_times.low, self.met_times.inside)

    def finding(self, rule: Rule, row: int, text: str, *, expected: object = None, found: object = None) -> Finding:
        """A finding about the batch of one row."""
        at = int(self.window.position[row])
        offset = int(self.column("base_offset")[row])
        return rule.finding(
            self.path,
            f"the batch at byte {at} (base offset {offset}): {text}",
            span=(at, at + int(self.window.size[row])),
            expected=expected,
            found=found,
        )


class RangeBorder(NamedTuple):
    """Two neighbouring ranges of a log; `broken` where bytes between them are no batch.

    `max_timestamp` is the largest before the second range.
    """

    path: str
    before: LogRange
    after: LogRange
    times: TimeEntries | None
    max_timestamp: int
    broken: bool


class LogBreak(NamedTuple):
    """Bytes of a log, from `start` to before `end`, that are no batch, and why (kidx.segments.walk's kinds).

    `at_end`: no batch follows them.
    """

    path: str
    facts: LogFacts
    start: int
    end: int
    kind: str
    why: str
    at_end: bool

    @property
    def being_written(self) -> bool:
        """Whether it is an append under way."""
        return self.at_end and self.kind == TORN and self.facts.live and self.facts.active


class LogResult:
    """What a log holds, joined from its ranges. `end` is the byte where its batches end.

    `not_believed` are the positions of batches whose offsets cannot be trusted. `as_written`: every batch is what a
    broker wrote there, once and in order, so markers can be replayed.
    """

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.gaps: list[Gap] = []
        self.events: list[TransactionEvent] = []
        self.named: dict[int, Named] = {}
        self.producers: list[Producers] = []  # of one range after another
        self.too_large: list[str] = []
        self.not_decoded = 0
        self.broken: list[tuple[int, int]] = []  # first byte, byte after the last
        self.being_written = False  # its last bytes, when they were read
        self.batches = 0
        self.first_offset: int | None = None
        self.last_offset: int | None = None
        self.max_timestamp = NO_TIMESTAMP
        self.future: tuple[int, int] | None = None
        self.last_position = 0
        self.last_magic = -1
        self.first_named: list[tuple[Ints, Ints]] = []
        self.last_named: int | None = None
        self.compacted = False
        self.whole = True  # no place was broken, so what is not there is missing
        self.as_written = True
        self.not_believed: list[int] = []
        self.end = 0

    def add(self, part: LogRange) -> None:
        """Take in the next range."""
        self.findings += part.findings
        self.gaps += part.gaps
        self.events += part.events
        self.named.update(part.named)
        self.producers.append(part.producers)
        self.too_large += part.too_large[: _LISTED_NOT_DECODED - len(self.too_large)]
        self.not_decoded += part.not_decoded
        self.batches += part.batches
        self.compacted |= part.compacted
        self.first_named += part.first_named
        self.last_named = part.last_named if self.last_named is None else self.last_named
        self.end = part.position
        self.last_magic = part.last_magic if part.batches else self.last_magic
        if part.first_offset is not None:
            self.first_offset = part.first_offset if self.first_offset is None else self.first_offset
            self.last_offset, self.last_position = part.last_offset, part.last_position or 0
        self.max_timestamp = max(self.max_timestamp, part.max_timestamp)
        self.future = self.future or part.future

    @property
    def skipped_bytes(self) -> int:
        """Bytes of broken places."""
        return sum(after - first for first, after in self.broken)


class CheckedLog(NamedTuple):
    """A log that was read to its end, and the indexes to compare with it; None for those that cannot be compared."""

    evidence: Evidence
    facts: LogFacts
    result: LogResult
    offsets: OffsetEntries | None
    times: TimeEntries | None
    time_index: IndexFile | None
    offset_index: IndexFile | None = None

    @property
    def last_index_entry(self) -> tuple[int | None, int, int]:
        """Slot, offset and position of the offset index's last entry, whatever it says; without one (None, base, 0).

        Raises CannotRead and its children.
        """
        base, index = self.facts.base_offset, self.offset_index
        if index is None or not index.extent.entries:
            return None, base, 0
        slot, width = index.extent.entries - 1, OFFSET_INDEX.size
        with open_evidence(index.path) as evidence:
            stored = OFFSET_INDEX.struct.unpack(evidence.read(slot * width, width))
        return slot, *OFFSET_INDEX.key_and_value(stored, base)


class SegmentIndexes(NamedTuple):
    """The offset index and the time index of one segment, both with entries in order."""

    offsets: IndexFile
    times: IndexFile
