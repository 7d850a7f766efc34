"""Logs and metadata snapshots as tables of batches."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from kidx.evidence import Evidence, open_evidence
from kidx.formats.batches import COUNT_UNKNOWN, DELETE_HORIZON_BIT, Batch
from kidx.formats.checksums import crc_holds
from kidx.formats.compression import CODEC_NAMES
from kidx.formats.indexes import OFFSET_INDEX, decode
from kidx.segments.resume import resume
from kidx.segments.scan import scan
from kidx.segments.walk import END, Ending, walk
from kidx.tables.conditions import Condition, conditions_of, ends_of
from kidx.tables.selection import Selection
from kidx.tables.table import BOOL, INT, TEXT, TIMESTAMP, ArrayTable, Column, Table
from kidx.text.integer_text import Maybe

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from kidx.segments.windows import Window

SMALL_BYTES = 4 << 20  # up to here batch by batch is done before numpy is imported
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
# What a range of offsets or times is compared with: a batch is shown where it overlaps.
SPANS = {"offset": ("base_offset", "last_offset"), "timestamp": ("first_timestamp", "max_timestamp")}
_LARGEST_HINT_BYTES = 64 << 20
_LEFT_OUT_OF_TEXT = ("magic", "timestamp_type", "base_timestamp", "delete_horizon", "crc")


def index_positions(path: str) -> Callable[[], npt.NDArray[np.int64]] | None:
    """The positions that the offset index beside a log names, to be read only if they are of use; they are hints."""
    stem, suffix = os.path.splitext(path)
    beside = stem + OFFSET_INDEX.suffix
    if suffix != ".log" or not os.path.isfile(beside):
        return None

    def read() -> npt.NDArray[np.int64]:
        with open_evidence(beside) as evidence:
            return decode(OFFSET_INDEX, evidence.read_all(_LARGEST_HINT_BYTES), 0, ("position",))["position"]

    return read


class LogReader:
    """An open log: its batches, going on behind damage. `endings` tells, when they are through, where batches broke
    off; a sound log has none.
    """

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        self.endings: list[Ending] = []
        self.batch_count = 0

    @property
    def small(self) -> bool:
        """Whether plain Python is the quicker way."""
        return self.evidence.size <= SMALL_BYTES

    def batches(self) -> Iterator[Batch]:
        """One batch after another."""
        start: int | None = 0
        while start is not None:
            steps = walk(self.evidence, start)
            for batch in steps:
                self.batch_count += 1
                yield batch
            start = self._after(steps.ending)

    def windows(self, *, hold: bool = False) -> Iterator[Window]:
        """Batches by the thousand, their CRCs checked; or with `hold` unchecked, for their records."""
        start: int | None = 0
        while start is not None:
            positions = index_positions(self.evidence.path)
            steps = scan(self.evidence, positions, start=start, check_crc=not hold, hold=hold)
            for window in steps:
                self.batch_count += len(window)
                yield window
            start = self._after(steps.ending)

    def _after(self, ending: Ending | None) -> int | None:
        if ending is None or ending.kind == END:
            return None
        self.endings.append(ending)
        return resume(self.evidence, ending.position)

    def complaints(self) -> list[str]:
        """What is to be said of the places where batches broke off."""
        return [
            f"{self.evidence.path}: the batches break off at byte {e.position} ({e.kind}): {e.why}"
            for e in self.endings
        ]

    def summary(self) -> dict[str, Any]:
        """What json's envelope says of the file, once all batches are through."""
        broken = [{"kind": e.kind, "position": e.position, "why": e.why} for e in self.endings]
        return {"size_bytes": self.evidence.size, "batches": self.batch_count, "broken_off": broken}


def batch_table(
    reader: LogReader, wanted: Selection, extra: dict[str, int], *, brief: bool, constants: dict[str, str]
) -> Table:
    """The batches wanted, as a table; `extra` are columns that must have a value, `brief` leaves some columns out."""
    names = (*NAMES, "first_timestamp")
    conditions = conditions_of(wanted, names, SPANS, "offset", reader.evidence.path)
    conditions += [Condition(names.index(name), value, value) for name, value in extra.items()]
    shown = [i for i, name in enumerate(NAMES) if not (brief and name in _LEFT_OUT_OF_TEXT)]
    columns = [_COLUMNS[i] for i in shown]
    if reader.small or wanted.head is not None or wanted.tail is not None:
        rows = (_row(reader.evidence, batch) for batch in reader.batches())
        kept = ends_of((row for row in rows if all(c.holds(row) for c in conditions)), wanted)
        return Table(SCHEMA, columns, ([row[i] for i in shown] for row in kept), constants=constants)
    return ArrayTable(SCHEMA, columns, _arrays(reader, conditions, shown), constants=constants)


def _row(evidence: Evidence, b: Batch) -> tuple[Any, ...]:
    """A batch's columns, and the least timestamp that it may hold; None where its version has no such field."""
    new = b.magic == 2
    return (
        b.position,
        b.size,
        b.magic,
        b.base_offset,
        b.last_offset,
        None if b.record_count == COUNT_UNKNOWN and not new else b.record_count,
        b.leader_epoch if new else None,
        b.codec_name,
        b.timestamp_type if b.magic else None,
        b.base_timestamp if new else None,
        b.max_timestamp if b.magic else None,
        b.producer_id if new else None,
        b.producer_epoch if new else None,
        b.base_sequence if new else None,
        b.transactional if new else None,
        b.control if new else None,
        b.delete_horizon,
        b.crc,
        crc_holds(b, evidence.read(b.position, b.size)),
        b.base_timestamp if new and b.delete_horizon is None and not b.log_append_time else b.max_timestamp,
    )


def _arrays(
    reader: LogReader, conditions: list[Condition], shown: list[int]
) -> Iterator[tuple[npt.NDArray[np.int64] | Maybe, ...]]:
    for window in reader.windows():
        columns = _columns(window)
        for condition in conditions:
            keep = condition.mask(columns)
            if not keep.all():
                columns = [c.part(keep) if isinstance(c, Maybe) else c[keep] for c in columns]
        picked = tuple(columns[i] for i in shown)
        if len(columns[0]):
            yield picked


def _columns(window: Window) -> list[npt.NDArray[np.int64] | Maybe]:
    """`_row` of every batch of a window."""
    import numpy as np

    magic, attributes = window.column("magic"), window.column("attributes")
    new, timed = magic == 2, magic > 0
    all_new, all_timed = bool(new.all()), bool(timed.all())

    def since_v2(values: npt.NDArray[Any]) -> npt.NDArray[np.int64] | Maybe:
        values = values.astype(np.int64, copy=False)
        return values if all_new else Maybe(values, new)

    def since_v1(values: npt.NDArray[Any]) -> npt.NDArray[np.int64] | Maybe:
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
