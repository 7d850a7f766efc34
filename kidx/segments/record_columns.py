"""Records of a log as columns."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kidx.formats.batches import SEQUENCES
from kidx.formats.control import CONTROL_TYPE_NAMES
from kidx.formats.records import Damage
from kidx.segments.fields import Fields, header_spans
from kidx.segments.varints import Bytes
from kidx.segments.windows import Window
from kidx.text.integer_text import Maybe
from kidx.text.spans import Spans

if TYPE_CHECKING:
    import numpy.typing as npt

    from kidx.segments.varints import Ints

    Bools = npt.NDArray[np.bool_]

CONTROL_NAMES = (*CONTROL_TYPE_NAMES, "UNKNOWN")  # what the numbers of the column control_type stand for
TIMESTAMP_TYPES = ("CreateTime", "LogAppendTime")  # and those of timestamp_type
_CONTROL_KEY_BYTES = 4  # version and type, int16 each


class Headers(NamedTuple):
    """Headers of records: `counts` int64, shape (records,); `key` and `value` of all headers, record after record."""

    counts: Ints
    key: Spans
    value: Spans


class RecordColumns:
    """Records of neighbouring batches of a window, in the log's order; arrays of shape (records,).

    `batch` is the row of each record's batch in the window. `key`, `value` and `headers` point into a buffer that is
    valid until the next block is read; everything else stays valid once it has been read. `damage` has damaged batches
    by row of the window. Columns are computed when they are first used.
    """

    def __init__(
        self,
        window: Window,
        batch: Ints,
        fields: Fields,
        size: Ints,
        data: Bytes,
        damage: list[tuple[int, Damage]] | None = None,
    ) -> None:
        self.window, self.batch, self.size = window, batch, size
        self.damage = damage or []
        self._fields, self._data = fields, data

    def __len__(self) -> int:
        return len(self.size)

    def where(self, rows: Any) -> RecordColumns:
        """Some records: a slice, a mask or an array of row numbers."""
        fields = Fields(*(column[rows] for column in self._fields))
        return RecordColumns(self.window, self.batch[rows], fields, self.size[rows], self._data, self.damage)

    def slices(self, most_bytes: int) -> Iterator[RecordColumns]:
        """The records in slices of about `most_bytes`, one record at least."""
        ends = self.size.cumsum()
        start = 0
        while start < len(self):
            before = int(ends[start - 1]) if start else 0
            end = max(start + 1, int(ends.searchsorted(before + most_bytes, "right")))
            yield self.where(slice(start, end)) if end - start < len(self) else self
            start = end

    @property
    def offset_delta(self) -> Ints:
        """Offsets, relative to the batch's base offset."""
        return self._fields.offset_delta

    @property
    def header_count(self) -> Ints:
        """How many headers each record has."""
        return self._fields.header_count

    @cached_property
    def offset(self) -> Ints:
        """Offsets, int64."""
        return self.window.column("base_offset")[self.batch] + self._fields.offset_delta

    @cached_property
    def timestamp(self) -> Ints:
        """Timestamps in ms: the batch's largest under LogAppendTime; -1 where there is none."""
        window, delta = self.window, self._fields.timestamp_delta
        appended = window.log_append_time
        if not appended.any():
            return window.column("base_timestamp")[self.batch] + delta
        base = np.where(appended, window.column("max_timestamp"), window.column("base_timestamp"))
        timestamps: Ints = base[self.batch] + np.where(appended[self.batch], 0, delta)
        return timestamps

    @cached_property
    def key(self) -> Spans:
        """Keys."""
        return Spans(self._data.array, self._fields.key_start, self._fields.key_length)

    @cached_property
    def value(self) -> Spans:
        """Values."""
        return Spans(self._data.array, self._fields.value_start, self._fields.value_length)

    @cached_property
    def headers(self) -> Headers:
        """Headers."""
        key, value = header_spans(self._data, self._fields.header_start, self._fields.header_count)
        return Headers(self._fields.header_count, key, value)

    def column(self, name: str) -> Ints | Maybe:
        """A column of numbers, int64; Maybe where a record's format lacks the field.

        offset, timestamp (absent in format 0), size (bytes of the record), header_count, batch_position, batch_size,
        magic, codec; since format 1 timestamp_type (see TIMESTAMP_TYPES); since format 2 leader_epoch, producer_id,
        producer_epoch, sequence (-1 where there is none), transactional and control (0 or 1); control_type (see
        CONTROL_NAMES; absent except for control records).
        """
        magic = self._magics
        if name == "timestamp":
            return self.timestamp if magic is None else Maybe(self.timestamp, magic > 0)
        if name in ("offset", "size", "header_count"):
            return getattr(self, name)  # type: ignore[no-any-return]
        window, batch = self.window, self.batch
        if name in ("batch_position", "batch_size", "codec"):
            return getattr(window, name.removeprefix("batch_"))[batch]  # type: ignore[no-any-return]
        if name == "magic":
            return window.column("magic")[batch]
        if name == "timestamp_type":
            types = window.log_append_time.astype(np.int64)[batch]
            return types if magic is None else Maybe(types, magic > 0)
        if name == "control_type":
            return self._control_types
        if name == "sequence":
            base = window.column("base_sequence")[batch]
            values = np.where(base >= 0, (base + self._fields.offset_delta) % SEQUENCES, -1)
        elif name in ("transactional", "control"):
            values = getattr(window, name).astype(np.int64)[batch]
        else:
            values = window.column(name)[batch]
        return values if magic is None else Maybe(values, magic == 2)

    @cached_property
    def _magics(self) -> Ints | None:
        """Each record's format; None if all are of format 2."""
        magic = self.window.column("magic")
        return None if (magic == 2).all() else magic[self.batch]

    @cached_property
    def _control_types(self) -> Maybe:
        types = np.zeros(len(self), np.int64)
        control: Bools = self.window.control
        if not control.any():
            return Maybe(types, np.zeros(len(self), np.bool_))
        control = control[self.batch]
        types[control] = len(CONTROL_NAMES) - 1
        rows = np.flatnonzero(control & (self.key.length >= _CONTROL_KEY_BYTES))
        at = self.key.start[rows]
        version, kind = (np.ndarray(len(self._data.array) - 1, ">i2", self._data.array.data, 0, (1,))[at + n]
                         for n in (0, 2))  # fmt: skip
        known = (version >= 0) & (kind >= 0) & (kind < len(CONTROL_TYPE_NAMES))
        types[rows[known]] = kind[known]
        return Maybe(types, control)
