"""The batches of a whole partition in order, segment after segment."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from kidx.checks.engine.result import CheckResult
from kidx.errors import CannotRead
from kidx.evidence import Evidence
from kidx.formats.batches import DELETE_HORIZON_BIT, Batch
from kidx.formats.records import Record
from kidx.logdir.names import LOG
from kidx.logdir.tree import DataFile, Partition
from kidx.segments.records import read_records
from kidx.segments.scan import scan
from kidx.segments.walk import NO_BATCH

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from kidx.segments.windows import Window

_FIELDS = ("base_offset", "last_offset", "leader_epoch", "crc", "size")


class BatchRow(NamedTuple):
    """A batch and its place: `number` counts the partition's batches from 0, `file` is the .log that contains it."""

    number: int
    file: DataFile
    batch: Batch
    crc_ok: bool

    @property
    def content(self) -> tuple[int, ...]:
        """The fields that the same batch has on every replica."""
        return self.batch.base_offset, self.batch.last_offset, self.batch.crc, self.batch.size, self.crc_ok

    def shown(self) -> dict[str, Any]:
        """The batch as a difference shows it."""
        batch = self.batch
        return {
            "base_offset": batch.base_offset,
            "last_offset": batch.last_offset,
            "count": batch.record_count,
            "size": batch.size,
            "codec": batch.codec_name,
            "crc": batch.crc,
            "crc_ok": self.crc_ok,
            "leader_epoch": batch.leader_epoch,
        }

    def records(self) -> dict[int, Record] | None:
        """Its records by offset; None where the CRC does not hold or not all can be decoded. Raises CannotRead."""
        if not self.crc_ok:
            return None
        with self.file.open() as log:
            decoded = read_records(log, self.batch)
        return None if decoded.damage else {record.offset: record for record in decoded.records}


class BatchStream:
    """The batches of a partition's live segments, read window by window; at most one window is in memory.

    `first_offset`, `last_offset` and `compacted` describe the batches read so far. What cannot be read is in `checked`.
    """

    def __init__(self, partition: Partition, checked: CheckResult) -> None:
        self.first_offset: int | None = None
        self.last_offset = -1
        self.compacted = False
        self._checked = checked
        self._windows = self._read([f for f in partition.files if f.kind == LOG and not f.name.state])
        self._file: DataFile | None = None
        self._window: Window | None = None
        self._batches: list[Batch] = []
        self._columns: npt.NDArray[np.int64] | None = None
        self._at = self._before = 0

    def head(self) -> BatchRow | None:
        """The next batch, or None at the end."""
        if not self._fill() or self._window is None or self._file is None:
            return None
        if not self._batches:
            self._batches = list(self._window.batches())
        good = self._at not in self.damaged
        return BatchRow(self._before + self._at, self._file, self._batches[self._at], good)

    @property
    def damaged(self) -> list[int]:
        """Rows of the window whose CRC does not hold."""
        return (self._window.bad_crc or []) if self._window is not None else []

    def advance(self, count: int = 1) -> None:
        """Skip that many batches of the window."""
        self._at += count

    def skip_equal(self, other: BatchStream) -> None:
        """Advance both sides past batches that are the same in every field."""
        import numpy as np

        while self._fill() and other._fill():
            assert self._columns is not None and other._columns is not None
            mine, others = self._columns[:, self._at :], other._columns[:, other._at :]
            count = min(mine.shape[1], others.shape[1])
            differ = np.nonzero((mine[:, :count] != others[:, :count]).any(axis=0))[0]
            # Equal headers do not make a damaged batch the same.
            bad = [row - s._at for s in (self, other) for row in s.damaged if 0 <= row - s._at < count]
            equal = min([int(differ[0]) if len(differ) else count, *bad])
            self.advance(equal)
            other.advance(equal)
            if equal < count:
                return

    def _fill(self) -> bool:
        """Read on until a window has batches left; False at the end of the partition."""
        import numpy as np

        while self._window is None or self._at >= len(self._window):
            if self._window is not None:
                self._before += len(self._window)
            found = next(self._windows, None)
            if found is None:
                self._window = None
                return False
            self._file, self._window = found
            self._at, self._batches = 0, []
            columns = [getattr(self._window, name, None) for name in _FIELDS]
            self._columns = np.array(
                [self._window.column(n) if c is None else c for n, c in zip(_FIELDS, columns, strict=True)]
            )
            if self.first_offset is None:
                self.first_offset = int(self._columns[0, 0])
            self.last_offset = max(self.last_offset, int(self._columns[1].max()))
            spans = self._window.column("last_offset_delta") + 1
            horizon = self._window.column("attributes") & DELETE_HORIZON_BIT
            new = self._window.column("magic") == 2
            self.compacted |= bool((new & ((self._window.column("record_count") < spans) | (horizon > 0))).any())
        return True

    def _read(self, files: list[DataFile]) -> Iterator[tuple[DataFile, Window]]:
        for file in files:
            try:
                with file.open() as log:
                    yield from self._windows_of(file, log)
            except CannotRead as e:
                self._checked.cannot(file.path, str(e))

    def _windows_of(self, file: DataFile, log: Evidence) -> Iterator[tuple[DataFile, Window]]:
        windows = scan(log)
        batches = 0
        for window in windows:
            if len(window):
                batches += len(window)
                yield file, window
        self._checked.cover(file.path, windows.position, batches=batches)
        left = log.size - windows.position
        if windows.ending is not None and windows.ending.kind == NO_BATCH:
            why = f"{file.path}: no batch can be read at byte {windows.position}: {windows.ending.why}"
            self._checked.cannot(file.path, f"{why}; the {left:,} bytes from there on were not compared")
        elif left:
            self._checked.skip(file.path, "no batch can be read there", left)
