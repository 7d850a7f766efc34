"""Rows of bytes gathered from a buffer and compared with expected ones, eight bytes at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Bytes = npt.NDArray[np.uint8]
    Ints = npt.NDArray[np.int64]
    Mask = npt.NDArray[np.bool_]

SPARE_BYTES = 512  # that a buffer has after its data, so that rows can be gathered near its end


def rows_at(data: Bytes, dtype: str | np.dtype[Any], at: Ints) -> npt.NDArray[Any]:
    """The value of this type that begins at each of these bytes, shape (n,); alignment does not matter."""
    kind = np.dtype(dtype)
    anywhere = np.ndarray(len(data) - kind.itemsize + 1, f"V{kind.itemsize}", data.data, 0, (1,))
    return np.ndarray(len(at), kind, anywhere[at].data)


def one_for_all(values: Ints) -> Ints:
    """The first value alone where all are the same, so that what depends on it is computed once."""
    return values if np.count_nonzero(values != values[:1]) else values[:1]


class ExpectedRows:
    """Expected rows of bytes, each of its own length (`lengths`), compared as wide as the longest of them."""

    def __init__(self, rows: Sequence[bytes]) -> None:
        self.lengths = np.array([len(row) for row in rows], np.int64)
        self._width = max(map(len, rows), default=0) // 8 * 8 + 8
        self._rows = self._matrix(rows)
        self._compared = self._matrix([b"\xff" * len(row) for row in rows])

    def _matrix(self, rows: Sequence[bytes]) -> npt.NDArray[np.uint64]:
        """A line for each eight bytes of the rows."""
        data = b"".join(row.ljust(self._width, b"\0") for row in rows)
        return np.frombuffer(data, "=u8").reshape(len(rows), self._width // 8).T.copy()

    def differ(self, data: Bytes, at: Ints, which: Ints) -> Mask:
        """Whether another row than rows[which] lies at each place: bool, shape (n,). SPARE_BYTES follow the data."""
        found = rows_at(data, f"V{self._width}", at).view("=u8").reshape(len(at), self._width // 8)
        other = np.zeros(len(at), np.uint64)
        for word, (row, compared) in enumerate(zip(self._rows, self._compared, strict=True)):
            other |= (found[:, word] ^ row.take(which)) & compared.take(which)
        differ: Mask = other != 0
        return differ
