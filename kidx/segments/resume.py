"""Going on behind damage, and dividing a log among processes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kidx.evidence import Evidence
from kidx.formats.batches import Batch
from kidx.segments.scan import scan
from kidx.segments.walk import walk

if TYPE_CHECKING:
    from kidx.segments.windows import Ints

_PIECE_BYTES = 1 << 20
_MAGIC_AT = 16


def resume(evidence: Evidence, position: int, end: int | None = None) -> int | None:
    """Where batches go on behind a place that is no batch: the first v2 batch after it whose CRC holds, or None.

    A torn last batch and a damaged length look alike to a walk; what this finds tells them apart.
    """
    end = evidence.size if end is None else end
    at = position + 1
    while at + _MAGIC_AT < end:
        data = evidence.read(at, min(_PIECE_BYTES, end - at))
        found = data.find(b"\x02", _MAGIC_AT)
        while found >= 0:
            candidate = at + found - _MAGIC_AT
            if _is_batch(evidence, candidate, end):
                return candidate
            found = data.find(b"\x02", found + 1)
        at += max(len(data) - _MAGIC_AT, 1)
    return None


def _is_batch(evidence: Evidence, position: int, end: int) -> bool:
    batch = next(walk(evidence, position, end), None)
    if batch is None or batch.magic != 2 or not _plausible(batch):
        return False
    window = next(scan(evidence, start=position, end=batch.next_position))
    return not window.bad_crc


def _plausible(batch: Batch) -> bool:
    return batch.base_offset >= 0 and 0 <= batch.record_count <= batch.last_offset_delta + 1 and batch.attributes < 0x80


def parts(evidence: Evidence, index_positions: Sequence[int] | Ints | None, count: int) -> list[tuple[int, int]]:
    """Up to `count` byte ranges of about one size that together are the whole log, cut at positions of the index.

    Scanned apart they give what one scan gives, as long as each but the last ends with END exactly at its end. Where
    one does not, the batches end there or the index lies: what the ranges behind it gave is not to be used, and the
    log is to be scanned on from that range's start.
    """
    if count <= 1 or index_positions is None or not len(index_positions):
        return [(0, evidence.size)]
    inside = sorted({int(p) for p in index_positions if 0 < p < evidence.size})
    cuts = [0]
    for part in range(1, count):
        wanted = evidence.size * part // count
        cut = next((p for p in inside if p >= wanted), evidence.size)
        if cuts[-1] < cut < evidence.size:
            cuts.append(cut)
    return list(zip(cuts, [*cuts[1:], evidence.size], strict=True))
