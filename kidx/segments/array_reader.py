"""A range of a log in memory, split into batches with arrays: for logs of small batches, and for decoding records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from kidx.evidence import Evidence
from kidx.formats.batches import BATCH_HEADER, CRC_START, HEADER_BYTES
from kidx.formats.checksums import crc32c
from kidx.segments.crc_chain import CrcChain
from kidx.segments.parallel_walk import boundaries
from kidx.segments.windows import Window

if TYPE_CHECKING:
    import numpy.typing as npt

    Ints = npt.NDArray[np.int64]

_WINDOW_BYTES = 4 << 20  # many batches, and still in a cache
_CHAINED_BYTES = 8192  # average batch size up to which chaining their CRCs is faster than a call for each
_SPARE_BYTES = 64


class ArrayReader:
    """A reused buffer of `capacity` bytes, filled with complete v2 batches."""

    def __init__(
        self, evidence: Evidence, index_positions: Sequence[int] | Ints | None, check_crc: bool, hold: bool
    ) -> None:
        self.capacity = min(_WINDOW_BYTES, evidence.size)
        self._evidence, self._check_crc, self._hold = evidence, check_crc, hold
        self._index = _usable_positions(index_positions, evidence.size)
        length = self.capacity + _SPARE_BYTES
        self._bytes = np.zeros(length, np.uint8)
        self._view = self._bytes.data
        self._sizes = np.ndarray(length - 12, ">i4", self._bytes.data, 8, (1,))  # the length field of a batch at p
        self._headers = np.ndarray(length - HEADER_BYTES, f"V{HEADER_BYTES}", self._bytes.data, 0, (1,))
        self._chain: CrcChain | None = None
        self._position = self._filled = 0

    def load(self, position: int, end: int) -> memoryview:
        """Fill the buffer from byte `position` of the file, at most to `end`. Returns the bytes loaded."""
        self._position = position
        self._filled = self._evidence.read_into(position, self._view[: min(self.capacity, end - position)])
        return self._view[: self._filled]

    def window(self) -> Window:
        """The complete v2 batches that were loaded; the first entry must be one."""
        position, filled = self._position, self._filled
        low, high = self._index.searchsorted((position + 1, position + filled - HEADER_BYTES))
        ends = boundaries(self._sizes, filled, self._index[low:high] - position)
        starts = np.empty(len(ends), np.int64)
        starts[:1] = 0
        starts[1:] = ends[:-1]
        headers = self._headers[starts]
        rows = headers.view(BATCH_HEADER.dtype)
        other = (rows["magic"] != 2) | (ends - starts < HEADER_BYTES)
        if other.any():  # older messages, or no batch at all: the scan handles what follows
            count = int(other.argmax())
            starts, ends, headers = starts[:count], ends[:count], headers[:count]
        used = int(ends[-1])
        bad = self._bad_crcs(starts, ends, headers) if self._check_crc else None
        buffer = self._view if self._hold else None
        return Window(position, position + used, starts + position, headers.view(np.uint8).data, bad, buffer)

    def _bad_crcs(self, starts: Ints, ends: Ints, headers: npt.NDArray[np.void]) -> list[int]:
        """The rows whose CRC is wrong."""
        if int(ends[-1]) <= len(starts) * _CHAINED_BYTES:
            if self._chain is None:
                self._chain = CrcChain(self._bytes, self.capacity // HEADER_BYTES + 1)
            if self._chain.holds(starts, int(ends[-1]), headers):
                return []
        stored = headers.view(BATCH_HEADER.dtype)["crc"].tolist()
        spans = zip(starts.tolist(), ends.tolist(), stored, strict=True)
        return [row for row, (a, b, crc) in enumerate(spans) if crc32c(self._view[a + CRC_START : b]) != crc]


def _usable_positions(positions: Sequence[int] | Ints | None, size: int) -> Ints:
    """Positions inside the file, ascending, each once."""
    if positions is None or not len(positions):
        return np.empty(0, np.int64)
    array = np.asarray(positions, dtype=np.int64)
    if array[0] > 0 and array[-1] < size and (array[1:] > array[:-1]).all():
        return array
    return np.unique(array[(array > 0) & (array < size)])
