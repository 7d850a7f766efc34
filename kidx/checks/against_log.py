"""Index entries against the batches they point at, window by window of a scan, all entries of a window at once."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from kidx.checks.making import FindingLimiter, SuppressedFindings, of_entry
from kidx.checks.order import between
from kidx.evidence import Evidence
from kidx.findings import Finding
from kidx.formats.indexes import OFFSET_INDEX, TIME_INDEX
from kidx.segments.walk import walk

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from kidx.segments.windows import Window

    Ints = npt.NDArray[np.int64]
    Numbers = array[int] | Ints

_FEW = 10  # healthy oddities up to here are told one by one, more of them by their number


class OffsetEntries:
    """An offset index's entries in order, to be met by the batches of its log. Entries out of order are left out.

    `slots`, `offsets` and `positions` hold one number an entry, int64, as arrays of numpy's or plain ones; positions
    rise strictly.
    """

    def __init__(self, file: str, slots: Numbers, offsets: Numbers, positions: Numbers) -> None:
        self.file, self.slots, self.offsets, self.positions = file, slots, offsets, positions

    def meet(self, log: Evidence, window: Window) -> Iterator[Finding]:
        """Check the entries that point into a window: each at a batch, and for its last offset or a later batch's.

        One append of several batches writes one entry before KAFKA-806 (followers do so): the position of the first
        batch with the last offset of the last one.
        """
        import numpy as np

        positions, offsets = np.asarray(self.positions), np.asarray(self.offsets)
        low, high = np.searchsorted(positions, [window.start, window.end]).tolist()
        if low == high:
            return
        wanted = positions[low:high]
        rows = np.searchsorted(window.position, wanted)
        at_batch = window.position[np.minimum(rows, len(window) - 1)] == wanted
        for index in (np.nonzero(~at_batch)[0] + low).tolist():
            row = int(np.searchsorted(window.position, positions[index], "right")) - 1
            around = [int(window.position[row])] + [int(p) for p in window.position[row + 1 : row + 2]] or [window.end]
            yield self._finding(
                "KX203",
                index,
                f"says offset {self.offsets[index]} is at byte {self.positions[index]} of the log; batches around it "
                f"start at {' and '.join(map(str, around))}",
                around,
                int(self.positions[index]),
            )
        fits = np.zeros(high - low, bool)
        fits[at_batch] = window.last_offset[rows[at_batch]] == offsets[low:high][at_batch]
        for index in (np.nonzero(at_batch & ~fits)[0] + low).tolist():
            yield from self._later_batch(log, window, index, int(rows[index - low]))

    def past_the_end(self, end: int) -> Iterator[Finding | SuppressedFindings]:
        """Findings for the entries that point at or past the end of the log, which is where its zero tail begins."""

        def past(index: int) -> Finding:
            position = int(self.positions[index])
            said = f"says offset {self.offsets[index]} is at byte {position} of a log of {end} bytes"
            return self._finding("KX201", index, said, f"< {end}", position)

        return FindingLimiter().of("KX201", range(bisect_left(self.positions, end), len(self.positions)), past)

    def _later_batch(self, log: Evidence, window: Window, index: int, row: int) -> Iterator[Finding]:
        """The entry's offset is not its batch's last: look for it in the batches up to the next entry."""
        offset = int(self.offsets[index])
        end = int(self.positions[index + 1]) if index + 1 < len(self.positions) else log.size
        own = int(window.last_offset[row])
        if offset > own:
            later = window.last_offset[row + 1 :][window.position[row + 1 :] < end]
            known = bool((later == offset).any())
            if not known and end > window.end and offset > int(window.last_offset[-1]):
                known = any(b.last_offset == offset for b in walk(log, window.end, end) if b.last_offset <= offset)
            if known:
                yield self._finding(
                    "KX209",
                    index,
                    f"says offset {offset} is at byte {self.positions[index]}; the batch there ends with {own}, "
                    f"and one shortly after it with {offset}",
                    own,
                    offset,
                )
                return
        yield self._finding(
            "KX204",
            index,
            f"says offset {offset} is at byte {self.positions[index]}; the batch there ends with offset {own}, and "
            f"none before the next entry ends with {offset}",
            own,
            offset,
        )

    def _finding(self, code: str, index: int, said: str, expected: object, found: object) -> Finding:
        slot = int(self.slots[index])
        return of_entry(code, self.file, OFFSET_INDEX.size, slot, f" {said}", expected=expected, found=found)


class TimeEntries:
    """A time index's entries in order, to be met by the batches of its log.

    An entry names the first batch that reached its timestamp, by its last offset; brokers up to 3.x may name the very
    record inside. `met` has a byte for each entry, 1 where its offset lies in some batch.
    """

    def __init__(self, file: str, slots: Numbers, offsets: Numbers, timestamps: Numbers) -> None:
        """As OffsetEntries; timestamps rise strictly, offsets do not fall."""
        self.file, self.slots, self.offsets, self.timestamps = file, slots, offsets, timestamps
        self.met = bytearray(len(slots))
        self.first_met: int | None = None

    def meet(self, log: Evidence, window: Window, first_offsets: Ints, max_before: int) -> Iterator[Finding]:
        """Check the entries for offsets in a window. `first_offsets` is each batch's, (batches,); `max_before` the
        largest timestamp of the batches before the window that this scan has seen, -1 if none."""
        import numpy as np

        offsets, timestamps = np.asarray(self.offsets), np.asarray(self.timestamps)
        low, high = between(offsets, int(first_offsets[0]), int(window.last_offset[-1]))
        if low >= high:
            return
        offsets, timestamps = offsets[low:high], timestamps[low:high]
        rows = np.minimum(np.searchsorted(window.last_offset, offsets), len(window) - 1)
        inside = (first_offsets[rows] <= offsets) & (offsets <= window.last_offset[rows])
        np.frombuffer(self.met, np.bool_)[low:high] |= inside
        if self.first_met is None and inside.any():
            self.first_met = low + int(np.argmax(inside))
        largest = window.column("max_timestamp")
        before = np.maximum.accumulate(np.concatenate(([max_before], largest)))[rows]
        wrong = inside & ((largest[rows] != timestamps) | (before >= timestamps))
        within = inside & ~wrong & (offsets != window.last_offset[rows])
        for at in np.nonzero(within)[0].tolist():
            from kidx.segments.records import read_records  # here, for next to no index has such entries

            records = read_records(log, window.batch(int(rows[at]))).records
            first = next((r.offset for r in records if r.timestamp >= timestamps[at]), None)
            wrong[at] = bool(records) and first != int(offsets[at])
        for at in np.nonzero(wrong)[0].tolist():
            yield self.mismatch(low + at, int(largest[rows[at]]), int(before[at]))

    def meet_all(self, low: int, high: int) -> None:
        """Mark the entries from `low` to before `high`: each was met by a batch and is right."""
        self.met[low:high] = b"\1" * (high - low)
        if low < high and self.first_met is None:
            self.first_met = low

    def mismatch(self, index: int, there: int, before: int) -> Finding:
        """The finding for an entry whose timestamp is not that of what it names."""
        timestamp, offset = int(self.timestamps[index]), int(self.offsets[index])
        if there == timestamp and before >= timestamp:
            said = f"earlier batches had reached {before} already"
        elif there == timestamp:
            said = "another record of that batch is the first to have it"
        else:
            said = f"the batch with that offset has {there} as its largest timestamp"
        return self._finding(
            "KX206", index, f"says offset {offset} is the first to reach timestamp {timestamp}; {said}", there
        )

    def join_met(self, met: bytes | bytearray) -> None:
        """Mark entries that another process met."""
        both = int.from_bytes(self.met, "little") | int.from_bytes(met, "little")
        self.met[:] = both.to_bytes(len(met), "little")

    def not_met(self) -> Iterator[Finding | SuppressedFindings]:
        """Findings for the entries whose offset no batch has."""

        def unmet(index: int) -> Finding:
            said = f"names offset {self.offsets[index]}, which no batch of the log has"
            return self._finding("KX205", index, said, None)

        missing = [index for index, met in enumerate(self.met) if not met] if 0 in self.met else []
        return FindingLimiter().of("KX205", missing, unmet)

    def _finding(self, code: str, index: int, said: str, expected: object) -> Finding:
        slot = int(self.slots[index])
        found = {"timestamp": int(self.timestamps[index]), "offset": int(self.offsets[index])}
        return of_entry(code, self.file, TIME_INDEX.size, slot, f" {said}", expected=expected, found=found)


def few_or_counted(findings: Sequence[Finding], code: str) -> list[Finding]:
    """The findings with those of one healthy, repetitive rule replaced by a single one where there are many."""
    odd = [f for f in findings if f.rule == code]
    if len(odd) <= _FEW:
        return list(findings)
    told = odd[0]._replace(
        byte_end=odd[-1].byte_end,
        slot=None,
        expected=None,
        found=len(odd),
        message=f"{len(odd):,} entries name a later batch than the one at their position: appends of several batches",
    )
    return [f for f in findings if f.rule != code] + [told]
