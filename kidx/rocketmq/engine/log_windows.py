"""Windows of a commit-log file: read, decoded, and checked by all rules, in any process."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kidx.evidence import Evidence
from kidx.findings import Finding
from kidx.rocketmq.formats import MAGIC_V1, MAGIC_V2, MESSAGE_HEAD
from kidx.rocketmq.layout import StoreFile
from kidx.rocketmq.messages import MAX_MESSAGE_BYTES
from kidx.rocketmq.registry import findings_of
from kidx.rocketmq.subjects.byte_rows import SPARE_BYTES
from kidx.rocketmq.subjects.log_units import MESSAGE, NO_MESSAGE, OTHER_SIZE, SIZES_DISAGREE, LogUnits
from kidx.rocketmq.subjects.log_window import QueueTopics, UnitWindow, WrongBody, window_of
from kidx.rocketmq.subjects.tag_hashes import TagHashes

if TYPE_CHECKING:
    import numpy.typing as npt

    from kidx.rocketmq.subjects.byte_rows import Bytes, Ints, Mask

# Small enough to stay in the processor's cache between the passes over it; and numpy asks for huge pages from 4 MiB on,
# for which the system may first have to make room.
WINDOW_BYTES = 3 << 20


class Times(NamedTuple):
    """Store times of messages in their order, epoch ms; `backwards` counts those earlier than the one before."""

    first: int
    last: int
    latest: int
    backwards: int


class UnitColumns(NamedTuple):
    """The results for a window's units: the columns of LogUnits that the scan sets."""

    target: npt.NDArray[np.int8]
    tag_hash: Ints
    store_timestamp: Ints


class WindowResult(NamedTuple):
    """A window's findings and what is needed after it.

    `columns` is None where every unit leads to a message with the unit's tag code. `times` is None without messages.
    `light` are units of light queues.
    """

    findings: list[Finding]
    wrong_bodies: list[WrongBody]
    times: Times | None
    columns: UnitColumns | None
    light: list[int]


class LogWindows:
    """One commit-log file, and the units that lead into it; one buffer serves all windows."""

    def __init__(self, evidence: Evidence, file: StoreFile, units: LogUnits, *, check_crcs: bool) -> None:
        self._evidence, self._path, self._base = evidence, file.path, file.base or 0
        self._units, self._check_crcs = units, check_crcs
        self._topics, self._tags = QueueTopics(units), TagHashes()
        self._buffer = np.empty(0, np.uint8)

    def cut(self, at: Ints, start: int, stop: int) -> list[tuple[int, int]]:
        """The range [start, stop) of ascending offsets, cut wherever another WINDOW_BYTES of the file are full."""
        cuts = [start]
        while cuts[-1] < stop:
            cuts.append(min(stop, int(at.searchsorted(int(at[cuts[-1]]) + WINDOW_BYTES))))
        return list(pairwise(cuts))

    def check_units(self, part: tuple[int, int]) -> WindowResult:
        """Check the messages that a range of units lead to."""
        units, rows = self._units, np.arange(*part)
        position, size = units.at[part[0] : part[1]] - self._base, units.size[part[0] : part[1]]
        target = np.full(len(rows), NO_MESSAGE, np.int8)
        fits = self._fit(position, size, target)
        if not fits.all():
            rows, position, size = rows[fits], position[fits], size[fits]
        if not len(rows):
            return WindowResult([], [], None, UnitColumns(target, *np.zeros((2, len(target)), np.int64)), [])
        first, data = self._read(position, size)
        made, magic, right, whole = window_of(
            self._path, self._base, first, data, position - first, size, check_crcs=self._check_crcs
        )
        target[fits] = np.where(
            whole, MESSAGE, np.where(right, SIZES_DISAGREE, np.where(magic, OTHER_SIZE, NO_MESSAGE))
        )
        window = UnitWindow(made, units, rows if whole.all() else rows[whole], self._topics)
        properties, end = window.parts.properties, window.start + window.size
        tag_hash = self._tags.of(data, properties, end, units.tag_code[window.rows])
        findings = list(findings_of(window))
        times = window.parts.store_timestamp
        columns = None
        if len(window.rows) < len(target) or np.count_nonzero(tag_hash != units.tag_code[window.rows]):
            columns = UnitColumns(target, *np.zeros((2, len(target)), np.int64))
            columns.tag_hash[target == MESSAGE], columns.store_timestamp[target == MESSAGE] = tag_hash, times
        light = [] if window.own.all() else window.rows[list(window.light)].tolist()
        return WindowResult(findings, window.wrong_bodies, _times_of(times), columns, light)

    def check_messages(self, position: Ints, size: Ints) -> WindowResult:
        """Check messages of known places that no unit leads to."""
        first, data = self._read(position, size)
        window, *_ = window_of(self._path, self._base, first, data, position - first, size, check_crcs=self._check_crcs)
        times = _times_of(window.parts.store_timestamp)
        return WindowResult(list(findings_of(window)), window.wrong_bodies, times, None, [])

    def _fit(self, position: Ints, size: Ints, target: npt.NDArray[np.int8]) -> Mask:
        """Which units can lead to a message within the file: bool, shape (n,).

        A size above WINDOW_BYTES counts only if the message states it, too, so a damaged unit causes no large read.
        """
        fits: Mask = (size >= MESSAGE_HEAD.size) & (size <= MAX_MESSAGE_BYTES)
        fits &= position + size <= self._evidence.size
        for i in (fits & (size > WINDOW_BYTES)).nonzero()[0].tolist():
            head = self._evidence.read(int(position[i]), 8)
            magic = int.from_bytes(head[4:]) in (MAGIC_V1, MAGIC_V2)
            if not magic or int.from_bytes(head[:4], signed=True) != size[i]:
                fits[i], target[i] = False, OTHER_SIZE if magic else NO_MESSAGE
        return fits

    def _read(self, position: Ints, size: Ints) -> tuple[int, Bytes]:
        """Where the messages' bytes begin in the file, and these bytes, SPARE_BYTES after them."""
        first = int(position[0])
        length = int((position + size).max()) - first
        if len(self._buffer) < length + SPARE_BYTES:
            self._buffer = np.zeros(length + SPARE_BYTES, np.uint8)
        self._evidence.read_into(first, self._buffer[:length].data)
        return first, self._buffer


def _times_of(times: Ints) -> Times | None:
    if not len(times):
        return None
    return Times(int(times[0]), int(times[-1]), int(times.max()), int(np.count_nonzero(times[1:] < times[:-1])))
