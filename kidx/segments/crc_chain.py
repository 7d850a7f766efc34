"""One CRC call for thousands of batches.

Checking a small batch costs less than calling a CRC function for it. A v2 batch's CRC-32C covers all but its first 21
bytes, so in a private copy those can be overwritten with bytes that carry the CRC register from one batch to the next:
the complement of the CRC that the previous header stores (if the previous body is intact, this takes the register to
zero), 13 zeros (which leave it there) and a constant that takes zero to the start value. One call over thousands of
batches ends in a known register exactly if all bodies match. A single wrong batch is always detected; several cancel
each other with a probability of 2^-32. On a mismatch the caller checks batch by batch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kidx.formats.batches import BATCH_HEADER, CRC_START
from kidx.formats.checksums import crc32c

if TYPE_CHECKING:
    import numpy.typing as npt

    Ints = npt.NDArray[np.int64]

_ALL_ONES = 0xFFFFFFFF  # the register's start; as a result to go on from it stands for register 0
_ZERO_TO_ALL_ONES = 0x641F6454  # four bytes, little-endian, that take a CRC-32C register from 0 to all ones
_LINK = np.dtype(
    {"names": ["crc", "restart"], "formats": ["<u4", "<u4"], "offsets": [0, CRC_START - 4], "itemsize": CRC_START}
)


class CrcChain:
    """Links the batches of a buffer, whose first bytes it overwrites, and checks them in one call."""

    def __init__(self, buffer: npt.NDArray[np.uint8], most_batches: int) -> None:
        """`buffer` has at least 4 bytes to spare after the last batch; at most `most_batches` are checked at once."""
        self._bytes = buffer.data
        self._heads = np.ndarray(len(buffer) - CRC_START, f"V{CRC_START}", buffer.data, 0, (1,))
        links = np.zeros((most_batches + 1) * CRC_START, np.uint8).data
        self._links = np.ndarray(most_batches + 1, _LINK, links)
        self._links["restart"] = _ZERO_TO_ALL_ONES
        self._link_rows = np.ndarray(most_batches + 1, f"V{CRC_START}", links)
        self._link_crcs = self._links["crc"]

    def holds(self, starts: Ints, end: int, headers: npt.NDArray[np.void]) -> bool:
        """Whether all batches match their CRCs. `starts` are the batches' first bytes, 0 first; `end` is their end.

        If they do not, the overwritten bytes are restored from `headers` (V61, one per batch).
        """
        count = len(starts)
        stored = headers.view(BATCH_HEADER.dtype)["crc"]
        np.bitwise_xor(stored, np.uint32(_ALL_ONES), out=self._link_crcs[1 : count + 1])
        behind = bytes(self._bytes[end : end + 4])
        self._heads[starts] = self._link_rows[:count]
        self._bytes[end : end + 4] = self._links["crc"][count].tobytes()
        holds = crc32c(self._bytes[: end + 4], _ALL_ONES) == _ALL_ONES
        self._bytes[end : end + 4] = behind
        if not holds:
            rows = headers.view(np.uint8).reshape(count, BATCH_HEADER.size)[:, :CRC_START]
            self._heads[starts] = np.ascontiguousarray(rows).view(f"V{CRC_START}").reshape(count)
        return bool(holds)
