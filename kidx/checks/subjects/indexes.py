"""Indexes as rules examine them: the file, its entries chunk by chunk, and entries to compare with a log."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kidx.checks.subjects.order import out_of_order
from kidx.findings import NOTE, Finding, Rule
from kidx.formats.indexes import OFFSET_INDEX, TIME_INDEX, TRANSACTION_INDEX, Extent, IndexFormat, decode

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

LARGEST_OFFSET = 2**63 - 1
UNKNOWN_STOP = "the surrounding files do not show whether its broker still writes to it"


class IndexFacts(NamedTuple):
    """What the files around an index say about it.

    `next_base_offset` is the first offset that cannot be in this segment, None where it is unknown. `zero_tail` gives
    the severity of preallocation here and the reason; it is called only where there is some. `copied`: it is of a
    segment in a tier, or of the cache of such indexes.
    """

    base_offset: int
    next_base_offset: int | None = None
    zero_tail: Callable[[], tuple[str, str]] = lambda: (NOTE, UNKNOWN_STOP)
    copied: bool = False


class IndexFile:
    """An index that was read.

    `slots` and `fields` are the entries that no finding is about, int64, shape (n,): None and empty where they were not
    kept or are still out of order. `log_max_timestamp` is the largest of the segment's log, None where that was not
    read.
    """

    def __init__(
        self,
        path: str,
        format_: IndexFormat,
        facts: IndexFacts,
        size: int,
        extent: Extent,
    ) -> None:
        self.path, self.format, self.facts, self.size, self.extent = path, format_, facts, size, extent
        self.slots: Ints | None = None
        self.fields: Mapping[str, Ints] = {}
        self.log_max_timestamp: int | None = None

    @property
    def is_one_zero_entry(self) -> bool:
        """Whether it is a time index of twelve zeros.

        To a broker that is an entry, of timestamp 0 at the base offset, and it writes such a one where the log has
        nothing after 1970 began. So only the log can tell it from preallocation.
        """
        return self.format is TIME_INDEX and self.size == TIME_INDEX.size == self.extent.zero_tail_bytes


class Entries:
    """A chunk of any index: neighbouring entries of one buffer, `first` is the slot of the first one.

    `reported` are the rows that a check has reported already, bool, shape (n,): the engine keeps it.
    """

    def __init__(self, index: IndexFile, first: int, data: memoryview) -> None:
        self.index, self.format, self.facts = index, index.format, index.facts
        self.first, self.data = first, data

    def __len__(self) -> int:
        return len(self.data) // self.format.size

    def stored(self, row: int) -> tuple[int, ...]:
        """One entry's fields as stored, in the order of the format; row -1 is the last one."""
        return self.format.struct.unpack_from(self.data, row % len(self) * self.format.size)

    @cached_property
    def fields(self) -> dict[str, Ints]:
        """Every field of the entries, int64, shape (n,)."""
        return decode(self.format, self.data)

    @cached_property
    def in_order(self) -> bool:
        """Whether the entries are known to be in order, with no field negative: see SearchedEntries."""
        return False

    @cached_property
    def reported(self) -> Bools:
        """No row, at first."""
        return np.zeros(len(self), bool)

    def disordered(self, values: Ints, *, strict: bool) -> Bools | None:
        """Which rows break the order among those that are not reported yet, bool, shape (n,)."""
        rest = (~self.reported).nonzero()[0]
        broken = rest[out_of_order(values[rest], strict=strict)]
        if not len(broken):
            return None
        mask = np.zeros(len(values), bool)
        mask[broken] = True
        return mask

    def finding(self, rule: Rule, row: int, text: str, *, expected: object = None, found: object = None) -> Finding:
        """A finding about one entry; `text` follows `entry 12: ` in its sentence."""
        return entry_finding(rule, self.index.path, self.format, row + self.first, f": {text}", expected, found)

    def order_finding(self, rule: Rule, row: int, name: str, values: Ints, *, strict: bool) -> Finding:
        """A finding about an entry whose value breaks the order; a neighbour gives the bound. `name` is the field's."""
        or_equal = "" if strict else "="
        where, bound = "it", None
        if row:
            where, bound = "after the entry before it, it", f">{or_equal} {int(values[row - 1])}"
        elif len(values) > 1:
            where, bound = "before the entry after it, it", f"<{or_equal} {int(values[1])}"
        found = int(values[row])
        text = f"its {name} {found} breaks the order; {where} has to be {bound}"
        return self.finding(rule, row, text, expected=bound, found=found)


class SearchedEntries(Entries):
    """A chunk of an offset or time index."""

    def __init__(self, index: IndexFile, first: int, data: memoryview) -> None:
        super().__init__(index, first, data)
        self.is_offset_index = self.format is OFFSET_INDEX
        self.other_name = "position" if self.is_offset_index else "timestamp"

    def relative_offset(self, row: int) -> int:
        """The relative offset of one entry."""
        return self.stored(row)[0 if self.is_offset_index else 1]

    @property
    def offsets(self) -> Ints:
        """Relative offsets, int64, shape (n,)."""
        return self.fields["relative_offset"]

    @property
    def other(self) -> Ints:
        """The field next to the offset, int64, shape (n,): positions in bytes or timestamps in ms."""
        return self.fields[self.other_name]

    @cached_property
    def in_order(self) -> bool:
        """Whether no field is negative and the entries are in order: in an offset index both fields rise strictly, in
        a time index timestamps do and offsets do not fall.
        """
        if self.is_offset_index:
            return _both_halves_rise(self.data)
        raw = np.frombuffer(self.data, np.dtype([("timestamp", ">i8"), ("offset", ">i4")]))
        timestamps, offsets = raw["timestamp"].astype(np.int64), raw["offset"].astype(np.int32)
        return bool(
            timestamps[0] >= 0
            and offsets[0] >= 0
            and (timestamps[1:] > timestamps[:-1]).all()
            and (offsets[1:] >= offsets[:-1]).all()
        )


class TransactionEntries(Entries):
    """A chunk of a transaction index."""


def entries_class(index_format: IndexFormat) -> type[Entries]:
    """The subject that a chunk of such an index is."""
    return TransactionEntries if index_format is TRANSACTION_INDEX else SearchedEntries


def entry_finding(
    rule: Rule, path: str, format_: IndexFormat, slot: int, text: str, expected: object = None, found: object = None
) -> Finding:
    """A finding about the entry of a slot; `text` follows `entry 12` in its sentence."""
    span = (slot * format_.size, (slot + 1) * format_.size)
    return rule.finding(path, f"entry {slot:,}{text}", span=span, slot=slot, expected=expected, found=found)


@lru_cache(maxsize=8)
def shared_buffer(size: int, purpose: str) -> bytearray:
    """A buffer that every index of a process shares: fresh memory costs more than reading into it does."""
    return bytearray(size)


def _both_halves_rise(data: memoryview) -> bool:
    """Whether offsets and positions are both not negative and both rise strictly.

    Each entry is one 64-bit number, offset high and position low, both of 31 bits. In the difference of two
    neighbours the halves are then the two differences, and both are positive exactly if both 32-bit halves are.
    """
    count = len(data) // 8
    room = -(-count // 4096) * 4096 * 8
    entries = np.frombuffer(shared_buffer(room, "entries"), np.int64)[:count]
    np.copyto(entries, np.frombuffer(data, ">i8"))
    if int(entries.view(np.int32).min()) < 0:
        return False
    rises = np.frombuffer(shared_buffer(room, "rises"), np.int64)[: count - 1]
    np.subtract(entries[1:], entries[:-1], out=rises)
    return count == 1 or int(rises.view(np.int32).min()) > 0


class OffsetEntries:
    """An offset index's entries in order, to be compared with the batches of its log; those out of order are left out.

    `slots`, `offsets` and `positions` are int64, shape (n,); positions rise strictly.
    """

    def __init__(self, file: str, slots: Ints, offsets: Ints, positions: Ints) -> None:
        self.file, self.slots, self.offsets, self.positions = file, slots, offsets, positions

    def finding(self, rule: Rule, index: int, text: str, expected: object, found: object) -> Finding:
        """A finding about one of the entries."""
        return entry_finding(rule, self.file, OFFSET_INDEX, int(self.slots[index]), f" {text}", expected, found)


class TimeEntries:
    """A time index's entries in order, to be compared with the batches of its log.

    `slots`, `offsets` and `timestamps` are int64, shape (n,); timestamps rise strictly, offsets do not fall. `met` has
    a byte for each entry, 1 where its offset lies in some batch; `first_met` is the first one of this scan, or None.
    """

    def __init__(self, file: str, slots: Ints, offsets: Ints, timestamps: Ints) -> None:
        self.file, self.slots, self.offsets, self.timestamps = file, slots, offsets, timestamps
        self.met = bytearray(len(slots))
        self.first_met: int | None = None

    def meet(self, low: int, met: Bools) -> None:
        """Mark entries from `low` on as met where `met`."""
        np.frombuffer(self.met, np.bool_)[low : low + len(met)] |= met
        if self.first_met is None and met.any():
            self.first_met = low + int(met.argmax())

    def join_met(self, met: bytes | bytearray) -> None:
        """Mark entries that another process met."""
        np.frombuffer(self.met, np.bool_)[:] |= np.frombuffer(met, np.bool_)

    def finding(self, rule: Rule, index: int, text: str, expected: object) -> Finding:
        """A finding about one of the entries."""
        found = {"timestamp": int(self.timestamps[index]), "offset": int(self.offsets[index])}
        return entry_finding(rule, self.file, TIME_INDEX, int(self.slots[index]), f" {text}", expected, found)
