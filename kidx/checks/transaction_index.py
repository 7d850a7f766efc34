"""What a transaction index says about itself. It is never preallocated, so zeros are damage wherever they lie."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kidx.checks.index_alone import check_extent
from kidx.checks.index_facts import IndexFacts
from kidx.checks.making import FindingLimiter, SuppressedFindings, finding, of_entry
from kidx.checks.order import out_of_order
from kidx.checks.zero_runs import ZeroRuns
from kidx.evidence import Evidence
from kidx.findings import Finding
from kidx.formats.indexes import TRANSACTION_INDEX, Extent, decode

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_CHUNK_ENTRIES = 1 << 14
_WIDTH = TRANSACTION_INDEX.size


def transaction_extent(evidence: Evidence) -> Extent:
    """All whole entries and a torn rest: there is no preallocation to look for."""
    entries, torn = divmod(evidence.size, _WIDTH)
    return Extent(entries, 0, torn)


def check_transaction_index(
    evidence: Evidence, facts: IndexFacts, extent: Extent
) -> Iterator[Finding | SuppressedFindings]:
    """Findings about a transaction index by itself."""
    if evidence.size == 0:
        yield finding("KX114", evidence.path, "0 bytes: a broker creates this file with its first entry", found=0)
    yield from check_extent(evidence, TRANSACTION_INDEX, facts, extent)
    limiter = FindingLimiter()
    zeros = ZeroRuns(evidence.path, _WIDTH, limiter, "; this index is never preallocated")
    for start in range(0, extent.entries, _CHUNK_ENTRIES):
        first = max(0, start - 2)
        last = min(extent.entries, start + _CHUNK_ENTRIES + 2)
        fields = decode(TRANSACTION_INDEX, evidence.read(first * _WIDTH, (last - first) * _WIDTH))
        end = min(extent.entries, start + _CHUNK_ENTRIES)
        zero = _all_zero(fields)
        yield from zeros.add(zero, first)
        check = _EntryCheck(evidence.path, facts, fields, first, (start, end), zero, limiter)
        yield from check.findings()
    yield from zeros.end()


def _all_zero(fields: dict[str, npt.NDArray[np.int64]]) -> npt.NDArray[np.bool_]:
    import numpy as np

    zero: npt.NDArray[np.bool_] = ~np.logical_or.reduce([values != 0 for values in fields.values()])
    return zero


class _EntryCheck:
    """Names what is wrong with the entries of one chunk that are not all `zero`. Each slot gets one finding.

    `fields` begin at slot `first`; findings are made for the slots from the first to before the second of `slots`.
    """

    def __init__(
        self,
        file: str,
        facts: IndexFacts,
        fields: dict[str, npt.NDArray[np.int64]],
        first: int,
        slots: tuple[int, int],
        zero: npt.NDArray[np.bool_],
        limiter: FindingLimiter,
    ) -> None:
        self.file, self.facts, self.fields, self.first, self.slots = file, facts, fields, first, slots
        self.blamed = zero.copy()
        self.limiter = limiter

    def findings(self) -> Iterator[Finding | SuppressedFindings]:
        """One rule after another."""
        fields, facts = self.fields, self.facts
        version, producer = fields["version"], fields["producer_id"]
        begins, ends, stable = fields["first_offset"], fields["last_offset"], fields["last_stable_offset"]
        odd = version != 0
        yield from self._report("KX115", odd, "its version is {version}; only version {wanted} exists", "version", "0")
        base = facts.base_offset
        for mask, said, name, bound in (
            (producer < 0, "its producer id is {producer_id}; ids start at 0", "producer_id", ">= 0"),
            (begins < 0, "its first offset is {first_offset}; offsets start at 0", "first_offset", ">= 0"),
            (ends < base, "its last offset {last_offset} lies before the segment", "last_offset", f">= {base}"),
            (
                begins >= ends,  # the marker comes after the records: first and last offset are never the same
                "it begins at offset {first_offset} and ends at {last_offset}; its ABORT marker comes last",
                "first_offset",
                "< {last_offset}",
            ),
            (
                (stable < 0) | (stable > ends + 1),
                "its last stable offset {last_stable_offset} is not 0 to the one after the marker at {last_offset}",
                "last_stable_offset",
                "<= {last_offset} + 1",
            ),
        ):
            yield from self._report("KX117", mask, said, name, bound)
        yield from self._report(
            "KX116",
            self._disordered(ends, strict=True),
            "its last offset {last_offset} breaks the order; the entry before says {before[last_offset]}",
            "last_offset",
            "> {before[last_offset]}",
        )
        yield from self._report(
            "KX117",
            self._disordered(stable, strict=False),
            "its last stable offset {last_stable_offset} breaks the order; the entry before says "
            "{before[last_stable_offset]}, and it never falls",
            "last_stable_offset",
            ">= {before[last_stable_offset]}",
        )
        if facts.next_base_offset is not None:
            yield from self._report(
                "KX112",
                ends >= facts.next_base_offset,
                "its last offset {last_offset} is not in this segment; it has to be {wanted}",
                "last_offset",
                f"<= {facts.next_base_offset - 1}",
            )

    def _disordered(self, values: npt.NDArray[np.int64], *, strict: bool) -> npt.NDArray[np.bool_]:
        """Entries that break the order among those not blamed yet."""
        import numpy as np

        rest = np.nonzero(~self.blamed)[0]
        odd = np.zeros(len(values), bool)
        odd[rest[out_of_order(values[rest], strict=strict)]] = True
        return odd

    def _report(
        self, code: str, mask: npt.NDArray[np.bool_], said: str, name: str, bound: str
    ) -> Iterator[Finding | SuppressedFindings]:
        """A finding for each entry of the mask not blamed yet; `name` is the field, `bound` what it should keep to."""
        import numpy as np

        mask = mask & ~self.blamed
        self.blamed |= mask
        rows = np.nonzero(mask)[0]
        start, end = self.slots
        rows = rows[np.searchsorted(rows, start - self.first) : np.searchsorted(rows, end - self.first)]
        yield from self.limiter.of(code, rows.tolist(), lambda row: self._finding(code, row, said, name, bound))

    def _finding(self, code: str, at: int, said: str, name: str, bound: str) -> Finding:
        entry = {n: int(values[at]) for n, values in self.fields.items()}
        before = {n: int(values[at - 1]) for n, values in self.fields.items()} if at else entry
        wanted = bound.format(before=before, **entry)
        told = ": " + said.format(wanted=wanted, before=before, **entry)
        return of_entry(code, self.file, _WIDTH, at + self.first, told, expected=wanted, found=entry[name])
