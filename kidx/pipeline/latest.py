"""The keys of a partition that DataFrames have put together, as a cleaning pass asks for them.

A cleaner's map knows keys by their digests alone, and so does this one: no key ever leaves the task that read it.
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
    """Digests in order, and the latest offset of each: 24 bytes a key. `latest_offset` is what the pass has read to."""

    def __init__(self, digests: pa.ChunkedArray, offsets: pa.ChunkedArray, latest_offset: int) -> None:
        self.latest_offset = latest_offset
        self._digest = digest_named(DIGEST)
        found = _as_array(digests, self._digest.size)
        order = np.argsort(found)
        self._digests = found[order]
        self._offsets = offsets.to_numpy()[order]

    def get(self, key: bytes) -> int:
        """The latest offset of a key, -1 where it has none."""
        wanted = np.frombuffer(self._digest.one(key), self._digests.dtype)[0]
        at = int(np.searchsorted(self._digests, wanted))
        if at < len(self._digests) and self._digests[at] == wanted:
            return int(self._offsets[at])
        return -1


def _as_array(digests: pa.ChunkedArray, size: int) -> npt.NDArray[np.bytes_]:
    """Fixed-width strings: all are of one length, so numpy's silence about NULs at the end makes no two alike."""
    fixed = digests.combine_chunks().cast(pa.binary(size))
    start = fixed.offset * size
    return np.frombuffer(fixed.buffers()[1] or b"", np.uint8)[start : start + len(fixed) * size].view(f"S{size}")
