"""Index files as tables: small ones entry by entry, large ones by arrays, both through one renderer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from kidx.evidence import Evidence
from kidx.execution import keep_freed_memory
from kidx.formats.indexes import Extent, IndexFormat, decode, extent_of
from kidx.tables.selection import Bound, Selection, field_of
from kidx.tables.table import INT, TIMESTAMP, ArrayTable, Column, Table

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

SMALL_ENTRIES = 100_000  # up to here plain Python is done before numpy is imported
_BATCH_ENTRIES = 1 << 16
_NATURAL = {"transaction_index": "last_offset"}  # what a bare number means; elsewhere the offset


class IndexReader:
    """An open index: its entries as rows or arrays, `names` being the columns, slot first.

    `extent` says where the entries end; `end` may be set lower, to show fewer.
    """

    def __init__(self, evidence: Evidence, index_format: IndexFormat, base_offset: int) -> None:
        self.evidence, self.format, self.base_offset = evidence, index_format, base_offset
        self.extent: Extent = extent_of(index_format, evidence, search=True)
        self.end = self.extent.entries
        fields = [f.name for f in index_format.fields]
        if index_format.relative:
            fields.insert(fields.index("relative_offset"), "offset")
        self.names = ("slot", *fields)

    @property
    def small(self) -> bool:
        """Whether plain Python is the quicker way."""
        return self.end <= SMALL_ENTRIES

    def columns(self) -> list[Column]:
        """The table's columns."""
        units = {f.name: f.unit for f in self.format.fields}
        return [Column(n, TIMESTAMP if n == "timestamp" else INT, units.get(n, "")) for n in self.names]

    def rows(self, slots: range) -> Iterator[tuple[int, ...]]:
        """Entries one by one, as Java computes them: an offset beyond int64 wraps round."""
        for start in range(slots.start, slots.stop, _BATCH_ENTRIES):
            end = min(start + _BATCH_ENTRIES, slots.stop)
            entries = self.format.struct.iter_unpack(self._read(start, end))
            if not self.format.relative:
                yield from ((slot, *fields) for slot, fields in enumerate(entries, start))
                continue
            at = self.names.index("relative_offset") - 2  # among the fields, which have neither slot nor offset
            for slot, fields in enumerate(entries, start):
                offset = self.base_offset + fields[at]
                if offset >= 1 << 63:
                    offset -= 1 << 64
                yield (slot, *fields[:at], offset, *fields[at:])

    def arrays(self, slots: range, names: Sequence[str] = ()) -> Iterator[tuple[npt.NDArray[np.int64], ...]]:
        """Entries as int64 arrays, one a column (those of `names`, else all), batch by batch."""
        import numpy as np

        keep_freed_memory(len(slots) * self.format.size)
        names = names or self.names
        buffer = memoryview(bytearray(_BATCH_ENTRIES * self.format.size))
        for start in range(slots.start, slots.stop, _BATCH_ENTRIES):
            end = min(start + _BATCH_ENTRIES, slots.stop)
            part = buffer[: (end - start) * self.format.size]
            self.evidence.read_into(start * self.format.size, part)
            found = decode(self.format, part, self.base_offset, names)
            if "slot" in names:
                found["slot"] = np.arange(start, end)
            yield tuple(found[name] for name in names)

    def _read(self, start: int, end: int) -> bytes:
        return self.evidence.read(start * self.format.size, (end - start) * self.format.size)

    def select(self, wanted: Selection) -> list[range]:
        """The slots of the entries wanted, as rising ranges. Raises UsageError for a bound that fits no column."""
        every = range(self.end)
        limits = [
            (self.names.index(self._field(bound)), bound.value, is_low)
            for bound, is_low in ((wanted.low, True), (wanted.high, False))
            if bound is not None
        ]
        if not limits:
            return wanted.of_these([every])
        if self.small:
            rows = self.rows(every)
            kept = (r[0] for r in rows if all(r[i] >= v if low else r[i] <= v for i, v, low in limits))
            return wanted.of_these(_ranges(kept))
        return wanted.of_these(self._select_by_arrays(every, limits))

    def _field(self, bound: Bound) -> str:
        return field_of(bound, _NATURAL.get(self.format.kind, "offset"), self.names, self.evidence.path)

    def _select_by_arrays(self, every: range, limits: Sequence[tuple[int, int, bool]]) -> list[range]:
        import numpy as np

        found: list[range] = []
        for arrays in self.arrays(every):
            keep = np.ones(len(arrays[0]), bool)
            for column, value, is_low in limits:
                keep &= arrays[column] >= value if is_low else arrays[column] <= value
            edges = np.flatnonzero(np.diff(keep, prepend=False, append=False)) + int(arrays[0][0])
            found += [range(a, b) for a, b in edges.reshape(-1, 2).tolist()]
        return found

    def summary(self, shown: list[range]) -> dict[str, Any]:
        """What json's envelope says of the file."""
        return {
            "kind": self.format.kind,
            "base_offset": self.base_offset if self.format.relative else None,
            "size_bytes": self.evidence.size,
            "entries": self.extent.entries,
            "shown": sum(map(len, shown)),
            "zero_tail_bytes": self.extent.zero_tail_bytes,
            "torn_bytes": self.extent.torn_bytes,
        }


def index_table(reader: IndexReader, wanted: Selection, *, hexed: bool, constants: dict[str, str]) -> Table:
    """The entries wanted, as a table; `hexed` adds each field's bytes."""
    slots = reader.select(wanted)
    columns, schema, summary = reader.columns(), reader.format.schema, reader.summary(slots)
    if hexed:
        return _hexed(reader, slots, constants)
    if reader.small:
        rows = (row for part in slots for row in reader.rows(part))
        return ArrayTable(schema, columns, rows=rows, summary=summary, constants=constants)
    batches = (batch for part in slots for batch in reader.arrays(part))
    last = [part[-1] for part in slots[-1:]]
    widest = next(reader.rows(range(last[0], last[0] + 1))) if last else ()
    return ArrayTable(schema, columns, batches, summary, widest=widest, constants=constants)


def _hexed(reader: IndexReader, slots: list[range], constants: dict[str, str]) -> Table:
    """Each entry with its place in the file and, field by field, the bytes that its numbers were read from."""
    index_format = reader.format
    spans = [index_format.field_span(f.name) for f in index_format.fields]
    columns = [
        reader.columns()[0],
        Column("byte_start"),
        *(Column(f"{f.name}_hex", "text") for f in index_format.fields),
        *reader.columns()[1:],
    ]

    def rows() -> Iterator[Sequence[Any]]:
        for part in slots:
            for row in reader.rows(part):
                at = row[0] * index_format.size
                entry = reader.evidence.read(at, index_format.size)
                yield (row[0], at, *(entry[a:b].hex(" ") for a, b in spans), *row[1:])

    return Table(index_format.schema, columns, rows(), reader.summary(slots), constants=constants)


def _ranges(numbers: Iterator[int]) -> list[range]:
    """Rising numbers as ranges of neighbours."""
    found: list[range] = []
    start = end = -1
    for number in numbers:
        if number != end:
            if end > start:
                found.append(range(start, end))
            start = number
        end = number + 1
    if end > start:
        found.append(range(start, end))
    return found
