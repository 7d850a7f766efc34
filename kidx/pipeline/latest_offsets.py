"""The latest offset of each key of a partition, aggregated by DataFrames, as a cleaning pass looks it up.

Keys are identified by their digests alone, as in the cleaner's own map. No key leaves the task that read it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from kidx.cleaner.digests import digest_named

if TYPE_CHECKING:
    import numpy.typing as npt

DIGEST = "MD5"  # the cleaner's own


class LatestOffsets:
    """Sorted digests with their latest offsets, 24 bytes a key. `latest_offset` is the last one that was read."""

    def __init__(self, digests: pa.ChunkedArray, offsets: pa.ChunkedArray, latest_offset: int) -> None:
        self.latest_offset = latest_offset
        self._digest = digest_named(DIGEST)
        found = _as_array(digests, self._digest.size)
        order = np.argsort(found)
        self._digests = found[order]
        self._offsets = offsets.to_numpy()[order]

    def get(self, key: bytes) -> int:
        """The latest offset of a key; -1 for an unknown key."""
        wanted = np.frombuffer(self._digest.one(key), self._digests.dtype)[0]
        at = int(np.searchsorted(self._digests, wanted))
        if at < len(self._digests) and self._digests[at] == wanted:
            return int(self._offsets[at])
        return -1


def _as_array(digests: pa.ChunkedArray, size: int) -> npt.NDArray[np.bytes_]:
    """Digests as fixed-width strings, shape (keys,). numpy ignores trailing NULs, which is safe at equal lengths."""
    fixed = digests.combine_chunks().cast(pa.binary(size))
    start = fixed.offset * size
    return np.frombuffer(fixed.buffers()[1] or b"", np.uint8)[start : start + len(fixed) * size].view(f"S{size}")
