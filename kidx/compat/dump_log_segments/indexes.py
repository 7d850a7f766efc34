"""Index files as DumpLogSegments prints them."""

from __future__ import annotations

from collections.abc import Iterator

from kidx.compat.dump_log_segments.lines import INDEX_LINES
from kidx.tables.index_entries import IndexReader


def shown_slots(reader: IndexReader) -> range:
    """The entries that DumpLogSegments prints: a zero entry 0 is printed, and the first later one at the base offset
    ends an offset or time index, be it a zero tail or damage.
    """
    slots = reader.evidence.size // reader.format.size
    if not reader.format.relative:
        return range(slots)
    end = min(slots, max(reader.extent.entries, 1))
    return range(_first_at_base(reader, range(1, end)) if end > 1 else end)


def _first_at_base(reader: IndexReader, slots: range) -> int:
    if reader.small:
        column = reader.names.index("relative_offset")
        return next((row[0] for row in reader.rows(slots) if row[column] == 0), slots.stop)
    seen = slots.start
    for (relative_offsets,) in reader.arrays(slots, ("relative_offset",)):
        zeros = (relative_offsets == 0).nonzero()[0]
        if len(zeros):
            return seen + int(zeros[0])
        seen += len(relative_offsets)
    return slots.stop


def lines(reader: IndexReader, slots: range) -> Iterator[bytes | memoryview]:
    """The entries' lines."""
    names, form = INDEX_LINES[reader.format.kind]
    # Of a transaction's version Kafka reads the first of two bytes (AbortedTxn.version); it is 0 in every sound file.
    shift = 8 if names[0] == "version" else 0
    if reader.small:
        columns = [reader.names.index(name) for name in names]
        rows = ([row[c] for c in columns] for row in reader.rows(slots))
        yield form.plain([first >> shift, *rest] for first, *rest in rows)
        return
    for first, *rest in reader.arrays(slots, names):
        yield from form.lines([first >> shift, *rest])
