"""Logs and metadata snapshots as tables of batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from kidx.evidence import Evidence
from kidx.formats.batches import COUNT_UNKNOWN, DELETE_HORIZON_BIT
from kidx.formats.compression import CODEC_NAMES
from kidx.segments.column_reader import LogIndexes
from kidx.segments.resume import resume
from kidx.segments.scan import scan
from kidx.segments.walk import END, Ending
from kidx.tables.selection import EVERYTHING, Condition, Selection, conditions_of, part_of
from kidx.tables.table import BOOL, INT, TEXT, TIMESTAMP, ArrayTable, Column, Notes
from kidx.text.integer_text import Maybe

if TYPE_CHECKING:
    import numpy.typing as npt

    from kidx.segments.windows import Window
    from kidx.tables.nested import Cells
    from kidx.text.integer_text import Integers

T = TypeVar("T")
SCHEMA = "kidx.batch.v1"
_TIME_TYPES = ("CreateTime", "LogAppendTime")
_COLUMNS = (
    Column("position", INT, "bytes"),
    Column("size", INT, "bytes"),
    Column("magic"),
    Column("base_offset"),
    Column("last_offset"),
    Column("count", INT, "records"),
    Column("leader_epoch"),
    Column("codec", TEXT, choices=CODEC_NAMES),
    Column("timestamp_type", TEXT, choices=_TIME_TYPES),
    Column("base_timestamp", TIMESTAMP, "ms"),
    Column("max_timestamp", TIMESTAMP, "ms"),
    Column("producer_id"),
    Column("producer_epoch"),
    Column("base_sequence"),
    Column("transactional", BOOL),
    Column("control", BOOL),
    Column("delete_horizon", TIMESTAMP, "ms"),
    Column("crc"),
    Column("crc_ok", BOOL),
)
NAMES = tuple(column.name for column in _COLUMNS)
# A batch has a range of these: it is shown where its range overlaps the wanted one.
_SPANS = {"offset": ("base_offset", "last_offset"), "timestamp": ("first_timestamp", "max_timestamp")}
_DETAILS = ("magic", "timestamp_type", "base_timestamp", "delete_horizon", "crc")
BRIEF_NAMES = tuple(name for name in NAMES if name not in _DETAILS)  # the columns of text for people


class LogReader:
    """An open log and its batches; reading resumes after damage.

    Once the batches have been read, `endings` says where they broke off; a sound log has none.
    """

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        self.indexes = LogIndexes.next_to(evidence.path)
        self.endings: list[Ending] = []
        self.batch_count = 0

    def windows(self, first: int = 0, end: int | None = None, *, hold: bool = False) -> Iterator[Window]:
        """Thousands of batches at a time of a range of bytes, their CRCs checked; with `hold` unchecked, and with their
        records' bytes.
        """
        start: int | None = first
        while start is not None:
            positions = None if self.indexes is None else self.indexes.positions
            steps = scan(self.evidence, positions, start=start, end=end, check_crc=not hold, hold=hold)
            for window in steps:
                self.batch_count += len(window)
                yield window
            start = self._after(steps.ending, end)

    def pieces(self) -> Iterator[tuple[int, int]]:
        """Byte ranges of the log, from its end on, cut where batches start."""
        return iter([(0, self.evidence.size)]) if self.indexes is None else self.indexes.last_pieces(self.evidence)

    def _after(self, ending: Ending | None, end: int | None = None) -> int | None:
        if ending is None or ending.kind == END:
            return None
        self.endings.append(ending)
        return resume(self.evidence, ending.position, end)

    def through(self, rows: Iterable[T], summary: dict[str, Any], notes: Notes) -> Iterator[T]:
        """The rows of a table; after the last one, its summary and notes say how many batches there were and where
        they broke off.
        """
        yield from rows
        self.endings.sort(key=lambda e: e.position)
        broken = [{"kind": e.kind, "position": e.position, "why": e.why} for e in self.endings]
        summary |= {"size_bytes": self.evidence.size, "batches": self.batch_count, "broken_off": broken}
        for e in self.endings:
            where = f"{self.evidence.path}: the batches break off at byte {e.position} ({e.kind})"
            notes.add(f"{where}: {e.why}", in_summary=True)


def batch_table(
    evidence: Evidence,
    wanted: Selection = EVERYTHING,
    *,
    equal: Mapping[str, int] | None = None,
    columns: Sequence[str] = NAMES,
    constants: Mapping[str, str] | None = None,
) -> ArrayTable:
    """kidx.batch.v1: the wanted batches of a log, CRCs checked.

    `equal` are columns and the values that they must have; `columns` are those that the table gets, of NAMES. Raises
    UsageError for a bound that fits no column.
    """
    names = (*NAMES, "first_timestamp")
    conditions = conditions_of(wanted, names, "offset", evidence.path, _SPANS)
    conditions += [Condition(names.index(name), value, value) for name, value in (equal or {}).items()]
    places = [NAMES.index(name) for name in columns]
    reader, summary, notes = LogReader(evidence), dict[str, Any](), Notes()

    def columns_of(start: int = 0, end: int | None = None) -> Iterator[Sequence[Cells]]:
        return _wanted_columns(reader.windows(start, end), conditions)

    batches = wanted.last_of(reader.pieces, columns_of) or wanted.ends_of_arrays(columns_of())
    rows = (tuple(arrays[i] for i in places) for arrays in reader.through(batches, summary, notes))
    return ArrayTable(SCHEMA, [_COLUMNS[i] for i in places], rows, summary, constants=constants, notes=notes)


def _wanted_columns(windows: Iterable[Window], conditions: list[Condition]) -> Iterator[Sequence[Cells]]:
    for window in windows:
        columns: Sequence[Any] = _columns(window)
        for condition in conditions:
            keep = condition.mask(columns)
            if not keep.all():
                columns = part_of(columns, keep)
        if len(columns[0]):
            yield columns


def _columns(window: Window) -> list[Integers | Maybe]:
    """The columns of NAMES, and the smallest timestamp that each batch may hold: shape (n,), a batch each.

    Values are absent where a batch's version has no such field.
    """
    import numpy as np

    magic, attributes = window.column("magic"), window.column("attributes")
    new, timed = magic == 2, magic > 0
    all_new, all_timed = bool(new.all()), bool(timed.all())

    def since_v2(values: npt.NDArray[Any]) -> Integers | Maybe:
        values = values.astype(np.int64, copy=False)
        return values if all_new else Maybe(values, new)

    def since_v1(values: npt.NDArray[Any]) -> Integers | Maybe:
        values = values.astype(np.int64, copy=False)
        return values if all_timed else Maybe(values, timed)

    count, base_timestamp = window.column("record_count"), window.column("base_timestamp")
    horizon = new & ((attributes & DELETE_HORIZON_BIT) != 0)
    relative = new & ~horizon & ~window.log_append_time
    assert window.crc_ok is not None
    return [
        window.position,
        window.size,
        magic,
        window.column("base_offset"),
        window.last_offset,
        count if all_new else Maybe(count, new | (count != COUNT_UNKNOWN)),
        since_v2(window.column("leader_epoch")),
        window.codec,
        since_v1(window.log_append_time),
        since_v2(base_timestamp),
        since_v1(window.column("max_timestamp")),
        *(since_v2(window.column(name)) for name in ("producer_id", "producer_epoch", "base_sequence")),
        since_v2(window.transactional),
        since_v2(window.control),
        Maybe(base_timestamp, horizon),
        window.column("crc"),
        window.crc_ok.astype(np.int64),
        np.where(relative, base_timestamp, window.column("max_timestamp")),
    ]
