"""Index files as DumpLogSegments prints them."""

from __future__ import annotations

from collections.abc import Iterator

from kidx.compat.dump_log_segments.line_forms import INDEX_LINES
from kidx.tables.index_entries import IndexEntries


def shown_slots(entries: IndexEntries) -> range:
    """The entries that DumpLogSegments prints.

    A zero entry 0 is printed; the first later entry at the base offset ends an offset or time index, whether it is a
    zero tail or damage.
    """
    slots = entries.evidence.size // entries.format.size
    if not entries.format.relative:
        return range(slots)
    end = min(slots, max(entries.extent.entries, 1))
    seen = 1
    for (relative_offsets,) in entries.arrays(range(1, end), ("relative_offset",)):
        zeros = (relative_offsets == 0).nonzero()[0]
        if len(zeros):
            return range(seen + int(zeros[0]))
        seen += len(relative_offsets)
    return range(end)


def index_lines(entries: IndexEntries, slots: range) -> Iterator[bytes | memoryview]:
    """The entries' lines, many at a time."""
    names, form = INDEX_LINES[entries.format.kind]
    # Of a transaction's version Kafka reads the first of two bytes (AbortedTxn.version); it is 0 in every sound file.
    shift = 8 if names[0] == "version" else 0
    for first, *rest in entries.arrays(slots, names):
        yield from form.lines([first >> shift, *rest])
