"""A partition's records in the order of their offsets, each once, from the copies that there are of it.

The first copy is read from its first segment to its last. Where it has damage, lacks a segment or ends, the next copy
is asked for exactly the offsets that are absent, and so on; what no copy has is missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kidx.errors import KidxError
from kidx.export.coverage import Coverage
from kidx.export.sources import Copy, Source
from kidx.export.transactions import Transactions, mask_of, transactions_of, values_of
from kidx.logdir.names import LOG
from kidx.segments.column_reader import DamagedRange, LogIndexes, Wanted, read_columns
from kidx.segments.record_columns import RecordColumns
from kidx.segments.sought_key import SoughtKey
from kidx.segments.walk import PREALLOCATED

if TYPE_CHECKING:
    import numpy.typing as npt

    from kidx.logdir.tree import Segment

    Bools = npt.NDArray[np.bool_]
    Ints = npt.NDArray[np.int64]

_UNREAD = "unread"
_NO_FILE = "no file has these offsets"
Bounds = tuple[int | None, int | None]  # least and most, both included, None for no limit


class Asked(NamedTuple):
    """Which records are wanted; None for any.

    `damaged`: also those of batches whose CRC is wrong; `control`: markers, too; `committed`: only those that a
    read_committed consumer is given.
    """

    offsets: Bounds = (None, None)
    timestamps: Bounds = (None, None)
    key: SoughtKey | None = None
    producer_id: int | None = None
    committed: bool = False
    control: bool = False
    damaged: bool = False

    @property
    def every_batch(self) -> bool:
        """Whether every batch between the offsets is decoded, so that absent offsets can be told from unwanted ones."""
        return self.timestamps == (None, None) and self.producer_id is None


class Block(NamedTuple):
    """Records of one segment, their offsets rising; valid until the next block is read."""

    columns: RecordColumns
    segment: Segment


class PartitionRecords:
    """The wanted records of a partition, block by block; `coverage` is complete when they have been read.

    A file that cannot be read is a hole like any other damage, and a sentence in `coverage.unread`.
    """

    def __init__(self, source: Source, asked: Asked, coverage: Coverage | None = None) -> None:
        """`coverage`: an earlier run's account, to be continued."""
        self.source, self.asked = source, asked
        self.coverage = coverage or Coverage(
            source.name, source.topic, source.partition, list(dict.fromkeys(copy.directory for copy in source.copies))
        )
        self._compacted = False
        self._gaps: list[tuple[int, int]] = []  # between segments: lost files, or a compacted log
        self._transactions: Transactions | None = None

    def __iter__(self) -> Iterator[Block]:
        low, high = self.asked.offsets
        if self.asked.committed and self.source.copies:
            self._transactions = transactions_of(self.source.copies[0], low)
            self.coverage.unread += self._transactions.unread
        for block in self._read(self.source.copies, low, high, None):
            wanted = self._wanted(block.columns)
            if len(wanted):
                yield Block(wanted, block.segment)
        if not self._compacted:
            for first, last in self._gaps:
                self.coverage.add("missing", first_offset=first, last_offset=last, reason=_NO_FILE)
        if self._transactions is not None:
            for entry in self._transactions.left_out():
                self.coverage.add("aborted", **entry)

    def _read(self, copies: Sequence[Copy], low: int | None, high: int | None, why: str | None) -> Iterator[Block]:
        """Records of the first copy with these offsets, its holes filled from the others.

        `why` is the reason for which offsets that no copy has are missing, None if the log may just not have them.
        """
        copy, others = copies[0], copies[1:]
        last = -1 if low is None else low - 1  # the last offset that is accounted for
        bounded = low is not None
        hole: list[DamagedRange] = []  # since the last record
        begun = False
        for number, segment in enumerate(copy.segments):
            base = segment.base_offset
            following = copy.segments[number + 1].base_offset if number + 1 < len(copy.segments) else None
            if (following is not None and following <= last + 1) or (high is not None and base > high):
                continue
            if base > last + 1 and not hole and self.asked.every_batch:
                yield from self._absent(others, last + 1, base - 1, _NO_FILE if begun else why)
                last, bounded = base - 1, True
            for found in self._segment(segment, last + 1 if bounded else None, high):
                if isinstance(found, DamagedRange):
                    hole.append(found)
                    continue
                columns = self._rising(found.columns, last)
                if not len(columns):
                    continue
                if hole:
                    yield from self._absent(others, last + 1, int(columns.offset[0]) - 1, _reason(hole))
                    hole = []
                last, bounded = int(columns.offset[-1]), True
                yield Block(columns, segment)
            begun = True
        yield from self._absent(others, last + 1, high, _reason(hole) or (why if not begun else None))

    def _absent(self, others: Sequence[Copy], first: int, last: int | None, why: str | None) -> Iterator[Block]:
        """Records of the other copies with offsets that a copy lacks; what they lack, too, is missing."""
        if last is not None and last < first:
            return
        if others:
            yield from self._read(others, first, last, why)
        elif why == _NO_FILE and last is not None:
            self._gaps.append((first, last))
        elif why is not None:
            self.coverage.add("missing", first_offset=first, last_offset=last, reason=why)

    def _segment(self, segment: Segment, low: int | None, high: int | None) -> Iterator[Block | DamagedRange]:
        """A segment's records, and its damage where it stands between them."""
        file, asked = segment.files[LOG], self.asked
        try:
            with file.open() as log:
                wanted = Wanted((low, high), asked.timestamps, asked.producer_id, damaged=asked.damaged)
                reader = read_columns(log, LogIndexes.next_to(file.path), wanted)
                noted = 0
                waiting: list[
                    DamagedRange
                ] = []  # the reader may know of damage before it gives the records in front of it
                for columns in reader:
                    waiting += reader.damage[noted:]
                    noted = len(reader.damage)
                    self.coverage.read(file.path, int(_positions(columns)[0]), reader.position, columns)
                    while waiting and len(columns) and waiting[0].start < int(_positions(columns)[-1]):
                        before = _positions(columns) < waiting[0].start
                        if before.any():
                            yield Block(columns.where(before), segment)
                            columns = columns.where(~before)
                        yield self._note(file.path, waiting.pop(0))
                    if len(columns):
                        yield Block(columns, segment)
                for damage in [*waiting, *reader.damage[noted:]]:
                    yield self._note(file.path, damage)
        except KidxError as e:
            self.coverage.unread.append(str(e))
            yield DamagedRange(0, 0, _UNREAD, str(e))

    def _note(self, path: str, damage: DamagedRange) -> DamagedRange:
        """Damage as the manifest lists it; zeros at a log's end are none."""
        if damage.kind != PREALLOCATED:
            self.coverage.add(
                "damaged",
                file=path,
                byte_start=damage.start,
                byte_end=damage.end,
                kind=damage.kind,
                reason=damage.why,
                first_offset=damage.base_offset,
                last_offset=damage.last_offset,
            )
        return damage

    def _rising(self, columns: RecordColumns, last: int) -> RecordColumns:
        """Without the records whose offsets have been read already."""
        offsets = columns.offset
        highest = np.maximum.accumulate(np.concatenate(([last], offsets[:-1])))
        new = offsets > highest
        if not new.all():
            columns = columns.where(new)
        offsets = columns.offset
        if len(offsets) and int(offsets[-1]) - int(offsets[0]) >= len(offsets):
            self._compacted = True
        return columns

    def _wanted(self, columns: RecordColumns) -> RecordColumns:
        """Without markers, aborted records, and those whose key is another."""
        asked, coverage = self.asked, self.coverage
        if self._transactions is not None:
            aborted, withheld = self._transactions.judge(columns)
            coverage.aborted_records += int(aborted.sum())
            if withheld.any():
                offsets = columns.offset[withheld]
                coverage.withhold(int(offsets[0]), int(offsets[-1]), "its transaction, or an earlier one, is open")
            columns = _without(columns, aborted | withheld)
        if not asked.control:
            control = mask_of(columns, "control")
            coverage.markers_left_out += int(control.sum())
            columns = _without(columns, control)
        return columns if asked.key is None else columns.where(asked.key.among(columns.key))


def _reason(hole: Sequence[DamagedRange]) -> str | None:
    """Why a hole lacks records; None for zeros at a log's end, and for no hole."""
    reasons = dict.fromkeys(damage.why for damage in hole if damage.kind != PREALLOCATED)
    return "; ".join(reasons) or None


def _positions(columns: RecordColumns) -> Ints:
    """The first byte of each record's batch."""
    return values_of(columns.column("batch_position"))


def _without(columns: RecordColumns, unwanted: Bools) -> RecordColumns:
    return columns.where(~unwanted) if unwanted.any() else columns
