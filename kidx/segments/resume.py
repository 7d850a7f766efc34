"""Finding the next batch after damage, and dividing a log among processes."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kidx.evidence import Evidence
from kidx.formats.batches import BATCH_HEADER, HEADER_BYTES, OVERHEAD_BYTES
from kidx.segments.scan import scan

if TYPE_CHECKING:
    from kidx.segments.windows import Ints

_PIECE_BYTES = 1 << 20
_MAGIC_AT = BATCH_HEADER.field_span("magic")[0]
_MOST_CRC_BYTES = 4 << 30  # of candidates in all: bytes made to look like headers must not cost days


def resume(evidence: Evidence, position: int, end: int | None = None) -> int | None:
    """Where batches resume after a position without one: the first v2 batch whose CRC matches, or None.

    A walk cannot distinguish a torn last batch from a damaged length; this can. It gives up after checking 4 GiB of
    candidates.
    """
    end = evidence.size if end is None else end
    budget = _MOST_CRC_BYTES
    at = position + 1
    while at + HEADER_BYTES <= end:
        data = bytearray(min(_PIECE_BYTES, end - at))
        evidence.read_into(at, memoryview(data))
        for found, size in _plausible_headers(data, end - at):
            if _is_batch(evidence, at + found, size):
                return at + found
            budget -= size
            if budget < 0:
                return None
        at += len(data) - HEADER_BYTES + 1
    return None


def _plausible_headers(data: bytearray, remaining: int) -> list[tuple[int, int]]:
    """Where in `data` plausible v2 headers start whose batches end within the file, and the sizes that they state."""
    import numpy as np

    array = np.frombuffer(data, np.uint8)
    starts = np.flatnonzero(array[_MAGIC_AT : len(array) - HEADER_BYTES + 1 + _MAGIC_AT] == 2)
    headers = np.ndarray(len(data) - HEADER_BYTES + 1, f"V{HEADER_BYTES}", array.data, 0, (1,))[starts]
    rows = headers.view(BATCH_HEADER.dtype)
    sizes = rows["length"].astype(np.int64) + OVERHEAD_BYTES
    delta, count = rows["last_offset_delta"].astype(np.int64), rows["record_count"]
    fits = (sizes >= HEADER_BYTES) & (sizes <= remaining - starts)
    fits &= (rows["base_offset"] >= 0) & (rows["attributes"] >= 0) & (rows["attributes"] < 0x80)
    fits &= (count >= 0) & (count <= delta + 1)
    return list(zip(starts[fits].tolist(), sizes[fits].tolist(), strict=True))


def _is_batch(evidence: Evidence, position: int, size: int) -> bool:
    window = next(scan(evidence, start=position, end=position + size), None)
    return window is not None and not window.bad_crc


def parts(evidence: Evidence, index_positions: Sequence[int] | Ints | None, count: int) -> list[tuple[int, int]]:
    """Up to `count` byte ranges of about equal size that together are the complete log, cut at positions of the index.

    Scanned separately they give the same result as one scan, provided that each but the last ends with END exactly at
    its end. If one does not, the batches end there or the index is wrong: discard the results of the ranges after it,
    and continue the scan from that range's start.
    """
    cuts = [0]
    if index_positions is not None and len(index_positions):
        for part in range(1, count):
            slot = bisect_left(index_positions, evidence.size * part // count)
            cut = int(index_positions[min(slot, len(index_positions) - 1)])
            if cuts[-1] < cut < evidence.size:
                cuts.append(cut)
    return list(zip(cuts, [*cuts[1:], evidence.size], strict=True))
