"""Index files as tables of entries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kidx.evidence import Evidence
from kidx.formats.indexes import Extent, IndexFormat, decode, extent_of
from kidx.tables.selection import EVERYTHING, Selection, conditions_of
from kidx.tables.table import INT, TEXT, TIMESTAMP, ArrayTable, Column, Notes, Table

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

BATCH_ENTRIES = 1 << 16
_NATURAL = {"transaction_index": "last_offset"}  # what a bare number means; elsewhere the offset


class IndexEntries:
    """The entries of an open index as columns; `names` are the columns' names, slot first.

    `extent` says where the entries end.
    """

    def __init__(self, evidence: Evidence, index_format: IndexFormat, base_offset: int) -> None:
        self.evidence, self.format, self.base_offset = evidence, index_format, base_offset
        self.extent: Extent = extent_of(index_format, evidence, search=True)
        fields = [f.name for f in index_format.fields]
        if index_format.relative:
            fields.insert(fields.index("relative_offset"), "offset")
        self.names = ("slot", *fields)

    def arrays(self, slots: range, names: Sequence[str] = ()) -> Iterator[tuple[npt.NDArray[np.int64], ...]]:
        """The columns `names` (all, where none is named): int64, shape (n,), n at most BATCH_ENTRIES.

        Offsets are computed as Java computes them: beyond int64 they wrap around.
        """
        import numpy as np

        names = names or self.names
        buffer = memoryview(bytearray(min(BATCH_ENTRIES, len(slots)) * self.format.size))
        for start in range(slots.start, slots.stop, BATCH_ENTRIES):
            end = min(start + BATCH_ENTRIES, slots.stop)
            part = buffer[: (end - start) * self.format.size]
            self.evidence.read_into(start * self.format.size, part)
            found = decode(self.format, part, self.base_offset, names)
            if "slot" in names:
                found["slot"] = np.arange(start, end)
            yield tuple(found[name] for name in names)

    def rows(self, slots: range, names: Sequence[str] = ()) -> Iterator[tuple[int, ...]]:
        """The same, entry by entry, as Python's integers."""
        for arrays in self.arrays(slots, names):
            yield from zip(*(array.tolist() for array in arrays), strict=True)

    def select(self, wanted: Selection) -> list[range]:
        """The slots of the wanted entries, as rising ranges. Raises UsageError for a bound that fits no column."""
        every = range(self.extent.entries)
        natural = _NATURAL.get(self.format.kind, "offset")
        conditions = conditions_of(wanted, self.names, natural, self.evidence.path)
        if not conditions:
            return wanted.ends_of_ranges([every])
        import numpy as np

        found: list[range] = []
        for arrays in self.arrays(every):
            keep = np.logical_and.reduce([condition.mask(arrays) for condition in conditions])
            edges = np.flatnonzero(np.diff(keep, prepend=False, append=False)) + int(arrays[0][0])
            found += [range(a, b) for a, b in edges.reshape(-1, 2).tolist()]
        return wanted.ends_of_ranges(found)


def index_table(
    entries: IndexEntries,
    wanted: Selection = EVERYTHING,
    *,
    hexed: bool = False,
    constants: Mapping[str, str] | None = None,
) -> Table:
    """kidx.offset_entry.v1, kidx.time_entry.v1 or kidx.aborted_txn.v1: the wanted entries of an index.

    `hexed` adds each field's bytes. Raises UsageError for a bound that fits no column.
    """
    slots, notes = entries.select(wanted), _notes_of(entries)
    schema, summary = entries.format.schema, _summary(entries, slots)
    units = {f.name: f.unit for f in entries.format.fields}
    columns = [Column(n, TIMESTAMP if n == "timestamp" else INT, units.get(n, "")) for n in entries.names]
    if hexed:
        added = [Column(f"{f.name}_hex", TEXT) for f in entries.format.fields]
        columns = [columns[0], Column("byte_start"), *added, *columns[1:]]
        rows = _hexed_rows(entries, slots)
        return Table(schema, columns, rows, summary, constants=constants, notes=notes)
    batches = (batch for part in slots for batch in entries.arrays(part))
    last = slots[-1][-1:] if slots else range(0)
    widest = next(entries.rows(last), ())
    return ArrayTable(schema, columns, batches, summary, widest=widest, constants=constants, notes=notes)


def _hexed_rows(entries: IndexEntries, slots: list[range]) -> Iterator[Sequence[Any]]:
    """Each entry with its place in the file and, field by field, the bytes that its numbers were read from."""
    spans = [entries.format.field_span(f.name) for f in entries.format.fields]
    for part in slots:
        for row in entries.rows(part):
            at = row[0] * entries.format.size
            entry = entries.evidence.read(at, entries.format.size)
            yield (row[0], at, *(entry[a:b].hex(" ") for a, b in spans), *row[1:])


def _summary(entries: IndexEntries, shown: list[range]) -> dict[str, Any]:
    return {
        "kind": entries.format.kind,
        "base_offset": entries.base_offset if entries.format.relative else None,
        "size_bytes": entries.evidence.size,
        "entries": entries.extent.entries,
        "shown": sum(map(len, shown)),
        "zero_tail_bytes": entries.extent.zero_tail_bytes,
        "torn_bytes": entries.extent.torn_bytes,
    }


def _notes_of(entries: IndexEntries) -> Notes:
    notes, evidence = Notes(), entries.evidence
    count, zeros, torn = entries.extent
    if zeros:
        text = f"{zeros} bytes of zeros after its {count} entries: preallocated, no entries"
        notes.add(f"{evidence.path}: {text}", in_summary=True)
    if torn:
        rest = evidence.read(evidence.size - torn, torn).hex(" ")
        ends = f"its last {torn} bytes are" if torn > 1 else "its last byte is"
        notes.add(f"{evidence.path}: {ends} no whole entry (torn): {rest}", in_summary=True)
    return notes
