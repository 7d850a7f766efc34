"""Naming what is wrong with an offset or time index's entries, besides zeros: a rule and a sentence for each slot."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kidx.checks.index_facts import LARGEST_OFFSET, IndexFacts
from kidx.checks.making import FindingLimiter, SuppressedFindings, of_entry
from kidx.checks.order import out_of_order
from kidx.findings import Finding
from kidx.formats.indexes import OFFSET_INDEX, IndexFormat, decode

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Bools = npt.NDArray[np.bool_]


class Entries:
    """Neighbouring entries of an index as arrays; `first` is the slot of the first one. `zero` are those of zeros."""

    def __init__(self, index_format: IndexFormat, facts: IndexFacts, first: int, data: memoryview) -> None:
        self.format, self.facts, self.first = index_format, facts, first
        self.is_offset_index = index_format is OFFSET_INDEX
        self.other_name = "position" if self.is_offset_index else "timestamp"
        fields = decode(index_format, data)
        self.offsets, self.other = fields["relative_offset"], fields[self.other_name]
        self.zero: Bools = (self.offsets == 0) & (self.other == 0)
        if first == 0 and not self.is_offset_index:
            self.zero[0] = False  # (0, base offset) can be real: a record of 1970 at the segment's start

    def fields(self, at: int) -> dict[str, int]:
        """One entry's fields, by names."""
        relative = int(self.offsets[at])
        return {
            "relative_offset": relative,
            "offset": relative + self.facts.base_offset,
            self.other_name: int(self.other[at]),
        }


def check_entries(
    file: str, entries: Entries, start: int, end: int, limiter: FindingLimiter
) -> Iterator[Finding | SuppressedFindings]:
    """Findings about the slots from `start` to before `end`, at most one a slot, the most telling rule first.

    The entries around them are looked at for their order's sake.
    """
    import numpy as np

    offsets, other, facts = entries.offsets, entries.other, entries.facts
    is_offset_index, at_start = entries.is_offset_index, entries.first == 0
    report = _Report(file, entries, start, end, limiter)
    yield from report.of("KX103", offsets < 0, "relative_offset", "0..2147483647")
    yield from report.of(
        "KX109" if is_offset_index else "KX111",
        other < 0,
        entries.other_name,
        "0..2147483647" if is_offset_index else ">= 0",
    )
    same = np.zeros(len(offsets), bool)
    same[1:] = (offsets[1:] == offsets[:-1]) & (other[1:] == other[:-1])
    yield from report.of("KX108", same)
    if is_offset_index and at_start:
        at_base = np.zeros(len(offsets), bool)
        at_base[0] = offsets[0] == 0 or other[0] == 0
        yield from report.of("KX113", at_base)
    yield from report.of("KX105", report.disordered(offsets, strict=is_offset_index), "offset")
    yield from report.of("KX106" if is_offset_index else "KX107", report.disordered(other), entries.other_name)
    if not is_offset_index:  # timestamps rise, so none but the first entry can be for the base offset
        at_base = offsets == 0
        at_base[: 1 if at_start else 0] = False
        yield from report.of("KX105", at_base, "offset")
    largest = LARGEST_OFFSET - facts.base_offset
    yield from report.of("KX104", offsets > largest, "relative_offset", f"<= {largest}")
    if facts.next_base_offset is not None:
        beyond = offsets >= facts.next_base_offset - facts.base_offset
        yield from report.of("KX112", beyond, "offset", f"<= {facts.next_base_offset - 1}")


class _Report:
    """Which entries have been blamed already, and what is said of those that are."""

    def __init__(self, file: str, entries: Entries, start: int, end: int, limiter: FindingLimiter) -> None:
        self.file, self.entries, self.start, self.end, self.limiter = file, entries, start, end, limiter
        self.blamed = entries.zero.copy()

    def disordered(self, values: npt.NDArray[np.int64], *, strict: bool = True) -> Bools:
        """Entries that break the order among those not blamed yet."""
        import numpy as np

        rest = np.nonzero(~self.blamed)[0]
        mask = np.zeros(len(values), bool)
        mask[rest[out_of_order(values[rest], strict=strict)]] = True
        return mask

    def of(
        self, code: str, mask: Bools, name: str | None = None, bound: str | None = None
    ) -> Iterator[Finding | SuppressedFindings]:
        """A finding for each entry of the mask not blamed yet; `name` is the field, `bound` what it should keep to."""
        import numpy as np

        mask = mask & ~self.blamed
        self.blamed |= mask
        rows = np.nonzero(mask)[0]
        first = self.entries.first
        rows = rows[np.searchsorted(rows, self.start - first) : np.searchsorted(rows, self.end - first)]
        yield from self.limiter.of(code, rows.tolist(), lambda row: self._finding(code, row, name, bound))

    def _finding(self, code: str, at: int, name: str | None, bound: str | None) -> Finding:
        entries = self.entries
        fields, where = entries.fields(at), "it"
        if bound is None and name and at:
            where = "after the entry before it, it"
            bound = f"{'>' if self._strict(name) else '>='} {entries.fields(at - 1)[name]}"
        elif bound is None and name and len(entries.offsets) > 1:
            where = "before the entry after it, it"
            bound = f"{'<' if self._strict(name) else '<='} {entries.fields(1)[name]}"
        said = f": {_SENTENCES[code].format(bound=bound, where=where, **fields)}"
        found = fields[name] if name else {n: fields[n] for n in ("offset", entries.other_name)}
        slot = at + entries.first
        return of_entry(code, self.file, entries.format.size, slot, said, expected=bound, found=found)

    def _strict(self, name: str) -> bool:
        """Whether a field rises from entry to entry, and does not only not fall."""
        return self.entries.is_offset_index or name != "offset"


_SENTENCES = {
    "KX103": "its relative offset is {relative_offset}; it can only be {bound}",
    "KX104": "its relative offset {relative_offset} leads past the largest offset there is",
    "KX105": "its offset {offset} breaks the order; {where} has to be {bound}",
    "KX106": "its position {position} breaks the order; {where} has to be {bound}",
    "KX107": "its timestamp {timestamp} breaks the order; {where} has to be {bound}",
    "KX108": "it repeats the entry before it",
    "KX109": "its position in the log is {position}; it can only be {bound}",
    "KX111": "its timestamp is {timestamp}; only timestamps from 0 on are indexed",
    "KX112": "its offset {offset} is not in this segment; it has to be {bound}",
    "KX113": "it says offset {offset} is at position {position}; no broker indexes the first batch of a segment",
}
