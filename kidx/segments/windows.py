"""A window of a log: the headers of up to a few thousand neighbouring batches, as rows or as arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from kidx.formats.batches import (
    BATCH_HEADER,
    CODEC_MASK,
    CONTROL_BIT,
    LOG_APPEND_TIME_BIT,
    OVERHEAD_BYTES,
    TRANSACTIONAL_BIT,
    Batch,
)

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Ints = npt.NDArray[np.int64]
    Bools = npt.NDArray[np.bool_]


# The columns of Window.to_numpy: positions and sizes in bytes, timestamps in ms since the epoch (-1 none), `codec` 0
# none, 1 gzip, 2 snappy, 3 lz4, 4 zstd, `count` -1 where only inflating tells. `crc_ok` is True where not checked.
COLUMNS = [
    ("position", "<i8"),
    ("size", "<i8"),
    ("magic", "<i1"),
    ("base_offset", "<i8"),
    ("last_offset", "<i8"),
    ("count", "<i4"),
    ("leader_epoch", "<i4"),
    ("codec", "<i1"),
    ("log_append_time", "?"),
    ("transactional", "?"),
    ("control", "?"),
    ("base_timestamp", "<i8"),
    ("max_timestamp", "<i8"),
    ("producer_id", "<i8"),
    ("producer_epoch", "<i2"),
    ("base_sequence", "<i4"),
    ("crc", "<u4"),
    ("crc_ok", "?"),
]


class Window:
    """Neighbouring batches, in file order: rows from `batches()` without numpy, columns as arrays of shape (n,).

    `start` and `end` are the bytes of the file that the window covers, without gaps. `headers` holds `len(window)`
    headers of 61 bytes in the v2 layout (see Batch for what that means for v0 and v1). `bad_crc` lists the rows whose
    CRC does not match, None if CRCs were not checked. `buffer` has the bytes from `start` to `end`, except headers
    (which may have been overwritten), followed by some undefined bytes; it is valid until the next window is read, and
    None in a scan without `hold` and for batches that are too large or older than v2.
    """

    def __init__(
        self,
        start: int,
        end: int,
        positions: Sequence[int] | Ints,
        headers: bytes | bytearray | memoryview,
        bad_crc: list[int] | None,
        buffer: memoryview | None,
    ) -> None:
        self.start, self.end, self.headers, self.bad_crc, self.buffer = start, end, headers, bad_crc, buffer
        self._positions = positions
        self._columns: dict[str, Ints] = {}

    def __len__(self) -> int:
        return len(self._positions)

    def batches(self) -> Iterator[Batch]:
        """The rows, one Batch after another; for windows of few, large batches this is faster than arrays."""
        positions = self._positions if isinstance(self._positions, list) else self.position.tolist()
        for position, fields in zip(positions, BATCH_HEADER.struct.iter_unpack(self.headers), strict=True):
            yield Batch(position, *fields)

    def batch(self, row: int) -> Batch:
        """One row."""
        fields = BATCH_HEADER.struct.unpack_from(self.headers, row * BATCH_HEADER.size)
        return Batch(int(self._positions[row]), *fields)

    def column(self, name: str) -> Ints:
        """A field of BATCH_HEADER (base_offset, max_timestamp, producer_id, crc, ...), int64."""
        import numpy as np

        array = self._columns.get(name)
        if array is None:
            array = self._columns[name] = self._rows[name].astype(np.int64)
        return array

    def to_numpy(self) -> npt.NDArray[np.void]:
        """The batches as a structured array, shape (n,): see COLUMNS."""
        import numpy as np

        array = np.empty(len(self), COLUMNS)
        for name, _ in COLUMNS:
            if name == "crc_ok":
                array[name] = True if self.crc_ok is None else self.crc_ok
            elif name == "count":
                array[name] = self.column("record_count")
            else:
                array[name] = getattr(self, name) if hasattr(type(self), name) else self.column(name)
        return array

    @cached_property
    def _rows(self) -> npt.NDArray[np.void]:
        import numpy as np

        return np.frombuffer(self.headers, BATCH_HEADER.dtype)

    def _bit(self, bit: int, smallest_magic: int) -> Bools:
        import numpy as np

        bits = np.where(self.column("magic") >= smallest_magic, self.column("attributes") & bit, 0)
        return bits.astype(np.bool_)

    @cached_property
    def position(self) -> Ints:
        """First byte of each batch in the file, int64."""
        import numpy as np

        return np.asarray(self._positions, dtype=np.int64)

    @cached_property
    def size(self) -> Ints:
        """Bytes of each batch, header included, int64."""
        return self.column("length") + OVERHEAD_BYTES

    @cached_property
    def last_offset(self) -> Ints:
        """Base offset plus last offset delta, int64."""
        return self.column("base_offset") + self.column("last_offset_delta")

    @cached_property
    def codec(self) -> Ints:
        """Codec numbers, 0 for none; 5 to 7 are not defined."""
        return self.column("attributes") & CODEC_MASK

    @cached_property
    def log_append_time(self) -> Bools:
        """Whether the records have the broker's time: bool, shape (n,)."""
        return self._bit(LOG_APPEND_TIME_BIT, smallest_magic=1)

    @cached_property
    def transactional(self) -> Bools:
        """Whether the batch belongs to a transaction."""
        return self._bit(TRANSACTIONAL_BIT, smallest_magic=2)

    @cached_property
    def control(self) -> Bools:
        """Whether it holds a control record."""
        return self._bit(CONTROL_BIT, smallest_magic=2)

    @cached_property
    def crc_ok(self) -> Bools | None:
        """Whether each CRC matches: bool, shape (n,); None if they were not checked."""
        import numpy as np

        if self.bad_crc is None:
            return None
        good = np.ones(len(self), dtype=np.bool_)
        good[self.bad_crc] = False
        return good
