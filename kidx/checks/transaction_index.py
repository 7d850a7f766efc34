"""What a transaction index says about itself. It is never preallocated, so zeros are damage wherever they lie."""

from __future__ import annotations

from collections.abc import Iterator

from kidx.checks.index_alone import IndexFacts, check_extent
from kidx.checks.making import finding
from kidx.checks.order import out_of_order
from kidx.evidence import Evidence
from kidx.findings import Finding
from kidx.formats.indexes import TRANSACTION_INDEX, Extent, decode
from kidx.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_CHUNK_ENTRIES = 1 << 14
_WIDTH = TRANSACTION_INDEX.size


def transaction_extent(evidence: Evidence) -> Extent:
    """All whole entries and a torn rest: there is no preallocation to look for."""
    entries, torn = divmod(evidence.size, _WIDTH)
    return Extent(entries, 0, torn)


def check_transaction_index(evidence: Evidence, facts: IndexFacts, extent: Extent) -> Iterator[Finding]:
    """Findings about a transaction index by itself."""
    if evidence.size == 0:
        yield finding("KX114", evidence.path, "0 bytes: a broker creates this file with its first entry", found=0)
    yield from check_extent(evidence, TRANSACTION_INDEX, facts, extent)
    zeros: tuple[int, int] | None = None  # a run of all-zero entries that may go on in the next chunk
    for start in range(0, extent.entries, _CHUNK_ENTRIES):
        first = max(0, start - 2)
        last = min(extent.entries, start + _CHUNK_ENTRIES + 2)
        fields = decode(TRANSACTION_INDEX, evidence.read(first * _WIDTH, (last - first) * _WIDTH))
        end = min(extent.entries, start + _CHUNK_ENTRIES)
        zero = _all_zero(fields)
        for begin, stop in _runs(zero, first):
            if zeros and begin <= zeros[1]:
                zeros = (zeros[0], max(zeros[1], stop))
                continue
            if zeros:
                yield _zero_run(evidence.path, *zeros)
            zeros = (begin, stop)
        for one in _check_entries(evidence.path, facts, fields, first, zero):
            if one.slot is not None and start <= one.slot < end:
                yield one
    if zeros:
        yield _zero_run(evidence.path, *zeros)


def _all_zero(fields: dict[str, npt.NDArray[np.int64]]) -> npt.NDArray[np.bool_]:
    import numpy as np

    zero: npt.NDArray[np.bool_] = ~np.logical_or.reduce([values != 0 for values in fields.values()])
    return zero


def _runs(mask: npt.NDArray[np.bool_], first: int) -> Iterator[tuple[int, int]]:
    """Runs of True: first slot, slot after the last."""
    import numpy as np

    edges = np.diff(np.concatenate(([False], mask, [False])).astype(np.int8))
    begins, stops = np.nonzero(edges == 1)[0] + first, np.nonzero(edges == -1)[0] + first
    yield from zip(begins.tolist(), stops.tolist(), strict=True)


def _zero_run(file: str, begin: int, stop: int) -> Finding:
    count = stop - begin
    return finding(
        "KX102",
        file,
        f"{count:,} {'entry' if count == 1 else 'entries'} of nothing but zeros; this index is never preallocated",
        span=(begin * _WIDTH, stop * _WIDTH),
        slot=begin,
        found=count,
    )


def _check_entries(
    file: str, facts: IndexFacts, fields: dict[str, npt.NDArray[np.int64]], first: int, zero: npt.NDArray[np.bool_]
) -> Iterator[Finding]:
    """Name what is wrong with the entries that are not all `zero`. Each slot gets one finding."""
    import numpy as np

    version, producer = fields["version"], fields["producer_id"]
    begins, ends, stable = fields["first_offset"], fields["last_offset"], fields["last_stable_offset"]
    blamed = zero.copy()

    def report(code: str, mask: npt.NDArray[np.bool_], said: str, name: str, bound: str | None) -> Iterator[Finding]:
        for index in np.nonzero(mask)[0].tolist():
            entry = {n: int(values[index]) for n, values in fields.items()}
            before = {n: int(values[index - 1]) for n, values in fields.items()} if index else entry
            wanted = bound.format(before=before, **entry) if bound else None
            at = (index + first) * _WIDTH
            yield finding(
                code,
                file,
                f"entry {index + first:,}: " + said.format(wanted=wanted, before=before, **entry),
                span=(at, at + _WIDTH),
                slot=index + first,
                expected=wanted,
                found=entry[name],
            )

    odd = (version != 0) & ~blamed
    yield from report("KX115", odd, "its version is {version}; only version {wanted} exists", "version", "0")
    blamed |= odd
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
        odd = mask & ~blamed
        yield from report("KX117", odd, said, name, bound)
        blamed |= odd
    rest = np.nonzero(~blamed)[0]
    odd = np.zeros(len(ends), bool)
    odd[rest[out_of_order(ends[rest], strict=True)]] = True
    yield from report(
        "KX116",
        odd,
        "its last offset {last_offset} breaks the order; the entry before says {before[last_offset]}",
        "last_offset",
        "> {before[last_offset]}",
    )
    blamed |= odd
    rest = np.nonzero(~blamed)[0]
    odd = np.zeros(len(ends), bool)
    odd[rest[out_of_order(stable[rest], strict=False)]] = True
    yield from report(
        "KX117",
        odd,
        "its last stable offset {last_stable_offset} breaks the order; the entry before says "
        "{before[last_stable_offset]}, and it never falls",
        "last_stable_offset",
        ">= {before[last_stable_offset]}",
    )
    blamed |= odd
    if facts.next_base_offset is not None:
        odd = (ends >= facts.next_base_offset) & ~blamed
        yield from report(
            "KX112",
            odd,
            "its last offset {last_offset} is not in this segment; it has to be {wanted}",
            "last_offset",
            f"<= {facts.next_base_offset - 1}",
        )
