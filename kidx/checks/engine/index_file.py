"""Reads one index: findings about its entries, and the sound entries to compare with the log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from kidx.checks.engine.discovery import checks_of, findings_about
from kidx.checks.engine.options import QUICK, Options
from kidx.checks.engine.result import CheckResult, cannot_read
from kidx.checks.rule import Check, Found
from kidx.checks.subjects.indexes import Entries, IndexFacts, IndexFile, entries_class, shared_buffer
from kidx.errors import CannotRead, ChangedWhileRead
from kidx.evidence import Evidence
from kidx.findings import NOT_HELD, Finding, FindingLimiter, limited
from kidx.formats.indexes import TRANSACTION_INDEX, Extent, IndexFormat, decode, extent_of, zeros_not_read
from kidx.logdir.names import INDEX_OF_KIND, OFFSET
from kidx.logdir.tree import DataFile

Bools = npt.NDArray[np.bool_]

_CHUNK_ENTRIES = 1 << 15
_OVERLAP = 64  # entries seen again with the next chunk, so that an order broken across the border has its neighbours


def check_index_file(
    file: DataFile, facts: IndexFacts, options: Options, done: CheckResult, *, keep_entries: bool = False
) -> IndexFile | None:
    """Check an index's entries into `done`; None where it cannot be read. `keep_entries`: keep them, to compare them
    with a log.

    report_index_file() follows, when the log has been read.
    """
    index_format = INDEX_OF_KIND[file.kind]
    try:
        with file.open() as evidence:
            extent = index_extent(evidence, index_format, search=options.level == QUICK)
            index = IndexFile(file.path, index_format, facts, evidence.size, extent)
            found = list(limited(entry_findings(evidence, index)))
            if keep_entries:
                _keep_sound_entries(evidence, index, found)
            unread = zeros_not_read(index_format, evidence, extent) if options.level == QUICK else 0
            if evidence.changed() and not options.live:
                raise ChangedWhileRead(f"{file.path}: it changed while it was read; try again, or with --live")
    except CannotRead as e:
        cannot_read(file, e, options, done)
        return None
    done.findings += found
    done.cover(file.path, evidence.size - unread, entries=extent.entries)
    if unread:
        done.skip(file.path, "--quick does not read the zeros after its entries", unread)
    return index


def check_lone_index(file: DataFile, facts: IndexFacts, options: Options, done: CheckResult) -> None:
    """Check an index that belongs to no segment here."""
    index = check_index_file(file, facts, options, done)
    if index is not None:
        report_index_file(index, done)
        done.skip(file.path, f"no log next to it, so its entries were {NOT_HELD} one")


def report_index_file(index: IndexFile, done: CheckResult) -> None:
    """Add the findings about an index as a whole."""
    done.findings += limited(findings_about(index))


def index_extent(evidence: Evidence, index_format: IndexFormat, *, search: bool = False) -> Extent:
    """Where an index's entries end. A transaction index is never preallocated: all its slots are entries.

    `search`: zeros after the entries are not read, as in extent_of. Raises CannotRead where entries are mostly holes.
    """
    if index_format is TRANSACTION_INDEX:
        entries, torn = divmod(evidence.size, index_format.size)
        extent = Extent(entries, 0, torn)
    else:
        extent = extent_of(index_format, evidence, search=search)
    evidence.must_be_written(extent.entries * index_format.size)
    return extent


def entry_findings(evidence: Evidence, index: IndexFile) -> Iterator[Found]:
    """Findings about the entries, chunk by chunk: each slot is reported once, by the first check that it violates."""
    limiter = FindingLimiter()
    checks = checks_of(entries_class(index.format))
    runs = {check: _Runs() for check in checks if check.runs}
    last = None
    for start, end, entries in _chunks(evidence, index):
        last = entries
        for check in checks:
            mask = check.condition(entries)
            if mask is None:
                continue
            if check.runs:
                yield from _report(check, entries, runs[check].add(mask, entries.first), limiter)
            mask = mask & ~entries.reported
            entries.reported |= mask
            if not check.runs:
                low, high = start - entries.first, end - entries.first
                yield from _report(check, entries, (mask[low:high].nonzero()[0] + low).tolist(), limiter)
    for check, joined in runs.items():
        if last is not None:
            yield from _report(check, last, joined.rest(), limiter)


def _report(check: Check[Entries], entries: Entries, items: Sequence[Any], limiter: FindingLimiter) -> Iterator[Found]:
    finding = check.finding
    assert finding is not None
    return limiter.of(check.rules[0].code, items, lambda item: finding(entries, item))


def _chunks(evidence: Evidence, index: IndexFile) -> Iterator[tuple[int, int, Entries]]:
    """An index's entries chunk by chunk through one buffer: the slots from the first number to before the second are
    new in this chunk. The entries begin and end up to _OVERLAP slots around them, and are valid until the next chunk.
    """
    width, count = index.format.size, index.extent.entries
    if not count:
        return
    subject = entries_class(index.format)
    buffer = memoryview(shared_buffer((_CHUNK_ENTRIES + 2 * _OVERLAP) * width, "bytes"))
    for start in range(0, count, _CHUNK_ENTRIES):
        end = min(start + _CHUNK_ENTRIES, count)
        first, last = max(0, start - _OVERLAP), min(count, end + _OVERLAP)
        view = buffer[: (last - first) * width]
        evidence.read_into(first * width, view)
        yield start, end, subject(index, first, view)


class _Runs:
    """Joins runs of rows across chunks that follow, touch or overlap each other."""

    def __init__(self) -> None:
        self._last: tuple[int, int] | None = None  # a run that may go on in the next chunk: first slot, slot after it

    def add(self, rows: Bools, first: int) -> list[tuple[int, int]]:
        """The runs that are known to have ended; row 0 is the slot `first`."""
        edges = np.diff(np.concatenate(([False], rows, [False])).astype(np.int8))
        begins, stops = (edges == 1).nonzero()[0] + first, (edges == -1).nonzero()[0] + first
        ended = []
        if self._last is not None:
            begin, stop = self._last
            seen = int(begins.searchsorted(stop, "right"))  # these go on with the last run, or were seen before it
            if seen:
                self._last = begin, max(stop, int(stops[seen - 1]))
            begins, stops = begins[seen:], stops[seen:]
        if len(begins):
            runs = list(zip(begins.tolist(), stops.tolist(), strict=True))
            ended = self.rest() + runs[:-1]
            self._last = runs[-1]
        return ended

    def rest(self) -> list[tuple[int, int]]:
        """The last run."""
        return [] if self._last is None else [self._last]


def _keep_sound_entries(evidence: Evidence, index: IndexFile, found: list[Finding]) -> None:
    """Keep the entries that no finding is about, unless they are still out of order."""
    count, width = index.extent.entries, index.format.size
    fields = decode(index.format, evidence.read(0, count * width), index.facts.base_offset)
    slots = np.arange(count)
    if found:
        damaged = np.zeros(count, bool)
        for one in found:
            if one.byte_start is not None and one.byte_end is not None:
                damaged[one.byte_start // width : -(-one.byte_end // width)] = True
        slots = (~damaged).nonzero()[0]
        fields = {name: values[slots] for name, values in fields.items()}
    if index.format is TRANSACTION_INDEX or _in_order(index.format, fields):
        index.slots, index.fields = slots, fields


def _in_order(index_format: IndexFormat, fields: dict[str, npt.NDArray[np.int64]]) -> bool:
    steps = {name: fields[name][1:] - fields[name][:-1] for name in (index_format.key, index_format.value)}
    strict = steps.pop("offset") if index_format.kind == OFFSET else steps.pop("timestamp")
    return bool((strict > 0).all()) and all(bool((values >= 0).all()) for values in steps.values())
