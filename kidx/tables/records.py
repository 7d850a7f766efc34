"""Logs and metadata snapshots as tables of records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kidx.evidence import Evidence
from kidx.exit_status import UNREADABLE
from kidx.formats.control import CONTROL_TYPE_NAMES
from kidx.tables.selection import EVERYTHING, Condition, Selection, conditions_of
from kidx.tables.table import INT, TEXT, TIMESTAMP, TREE, ArrayTable, Column, Notes

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from kidx.segments.column_reader import ColumnReader
    from kidx.segments.record_columns import RecordColumns
    from kidx.segments.sought_key import SoughtKey
    from kidx.tables.nested import Cells, Structs
    from kidx.text.spans import Spans

SCHEMA = "kidx.record.v1"
_HASH_DIGITS = 16  # enough to tell values apart, too few to be looked up in a table of hashes of all of them
_SLICE_BYTES = 1 << 19  # of records whose cells are made at once
_NAMES = ("offset", "timestamp", "key", "value", "headers", "batch_position", "producer_id", "sequence", "control_type")
_EXTRA = ("producer_epoch", "leader_epoch")  # columns for conditions alone
_NUMBERS = ("offset", "timestamp", "batch_position", "producer_id", "sequence", *_EXTRA)


def _redacted(spans: Spans) -> Structs:
    """Lengths and the beginnings of hashes."""
    from hashlib import sha256

    from kidx.tables.nested import Structs
    from kidx.text.spans import spans_of

    hashes = [sha256(text or b"").hexdigest()[:_HASH_DIGITS].encode() for text in spans.tolist()]
    return Structs({"length": spans.size, "sha256": spans_of(hashes)}, spans.present)


def _shown() -> dict[str, Callable[[Spans], Cells]]:
    """How keys, values and headers' values can be shown."""
    from functools import partial

    from kidx.text.spans import base64_text, hexed, utf8

    return {
        "text": utf8,
        "line": partial(utf8, one_line=True),
        "hex": hexed,
        "base64": base64_text,
        "redact": _redacted,
    }


def record_table(
    evidence: Evidence,
    wanted: Selection = EVERYTHING,
    *,
    equal: Mapping[str, int] | None = None,
    key: SoughtKey | None = None,
    show: str = "hex",
    one_line: bool = False,
    constants: Mapping[str, str] | None = None,
) -> ArrayTable:
    """kidx.record.v1: the wanted records of a log; of a damaged batch those before the damage, and a note.

    `equal` are columns (or `producer_epoch`, `leader_epoch`) and the values that they must have, `key` the key that
    they must have; `show` is text, hex, base64 or redact; `one_line` escapes
    control characters in keys and values shown as text. Raises UsageError for a bound that fits no column.
    """
    cell = TREE if show == "redact" else TEXT
    columns = [
        Column("offset"),
        Column("timestamp", TIMESTAMP, "ms"),
        Column("key", cell),
        Column("value", cell),
        Column("headers", TREE),
        Column("batch_position", INT, "bytes"),
        Column("producer_id"),
        Column("sequence"),
        Column("control_type", TEXT, choices=(*CONTROL_TYPE_NAMES, "UNKNOWN")),
    ]
    names = (*_NAMES, *_EXTRA)
    conditions = conditions_of(wanted, names, "offset", evidence.path)
    conditions += [Condition(names.index(name), value, value) for name, value in (equal or {}).items()]
    summary, notes = dict[str, Any](), Notes()
    rows = _Rows(evidence, conditions, key, _shown()[show], one_line and show == "text", notes)
    batches = rows.through(wanted.last_of(rows.pieces, rows.cells) or wanted.ends_of_arrays(rows.cells()), summary)
    return ArrayTable(SCHEMA, columns, batches, summary, constants=constants, notes=notes)


class _Rows:
    """The rows of a log that meet some conditions, as cells."""

    def __init__(
        self,
        evidence: Evidence,
        conditions: list[Condition],
        key: SoughtKey | None,
        show: Callable[[Spans], Cells],
        one_line: bool,
        notes: Notes,
    ) -> None:
        from kidx.segments.column_reader import LogIndexes

        self._evidence, self._conditions, self._key, self._notes = evidence, conditions, key, notes
        self._show, self._one_line = show, one_line
        self._indexes = LogIndexes.next_to(evidence.path)
        self._readers: list[ColumnReader] = []

    def pieces(self) -> Iterator[tuple[int, int]]:
        """Byte ranges of the log, from its end on."""
        return iter([(0, self._evidence.size)]) if self._indexes is None else self._indexes.last_pieces(self._evidence)

    def cells(self, start: int = 0, end: int | None = None) -> Iterator[Sequence[Cells]]:
        """The rows of a range of bytes."""
        from kidx.segments.column_reader import Wanted, read_columns

        ranges = {name: _range_of(self._conditions, _NAMES.index(name)) for name in ("offset", "timestamp")}
        among = Wanted(offsets=ranges["offset"], timestamps=ranges["timestamp"])
        others = [c for c in self._conditions if c.column > 1]
        reader = read_columns(self._evidence, self._indexes, among, start=start, end=end, check_crc=False)
        self._readers.append(reader)
        for block in reader:
            keep = None if self._key is None else self._key.among(block.key)
            for condition in others:
                met = _meet(block, condition)
                keep = met if keep is None else keep & met
            if keep is not None and not keep.all():
                block = block.where(keep)
            for part in block.slices(_SLICE_BYTES):
                yield self._cells_of(part)

    def _cells_of(self, block: RecordColumns) -> Sequence[Cells]:
        import numpy as np

        from kidx.tables.nested import Lists, Structs
        from kidx.text.spans import utf8

        headers = block.headers
        fields = {"key": utf8(headers.key), "value": self._show(headers.value)}
        lists = Lists(headers.counts, Structs(fields, np.ones(len(headers.key), np.bool_)))
        numbers = [block.column(name) for name in ("offset", "timestamp", *_NAMES[5:])]
        contents = [utf8(s, one_line=True) if self._one_line else self._show(s) for s in (block.key, block.value)]
        return [*numbers[:2], *contents, lists, *numbers[2:]]

    def through(self, rows: Iterator[Sequence[Cells]], summary: dict[str, Any]) -> Iterator[Sequence[Cells]]:
        """The rows of the table; after the last one, its summary and notes are complete."""
        yield from rows
        path, notes = self._evidence.path, self._notes
        damage = sorted({found for reader in self._readers for found in reader.damage})
        for found in damage:
            if found.base_offset is not None:
                notes.add(f"{path}: the batch at byte {found.start}: {found.why}", UNREADABLE)
        broken = [found for found in damage if found.base_offset is None]
        summary |= {
            "size_bytes": self._evidence.size,
            "batches": sum(reader.batches for reader in self._readers),
            "broken_off": [{"kind": f.kind, "position": f.start, "why": f.why} for f in broken],
        }
        for f in broken:
            notes.add(f"{path}: the batches break off at byte {f.start} ({f.kind}): {f.why}", in_summary=True)


def _range_of(conditions: list[Condition], column: int) -> tuple[int | None, int | None]:
    """The range that the conditions on a column leave."""
    lows = [c.low for c in conditions if c.column == column and c.low is not None]
    highs = [c.high for c in conditions if c.column == column and c.high is not None]
    return max(lows, default=None), min(highs, default=None)


def _meet(block: RecordColumns, condition: Condition) -> npt.NDArray[np.bool_]:
    """Which records meet a condition; none where it is on a column that has no numbers."""
    import numpy as np

    name = (*_NAMES, *_EXTRA)[condition.column]
    if name not in _NUMBERS:
        return np.zeros(len(block), np.bool_)
    return condition._replace(column=0).mask([block.column(name)])
