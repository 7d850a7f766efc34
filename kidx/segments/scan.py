"""Scanning a whole log: every batch's header, every CRC, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from kidx.evidence import Evidence
from kidx.formats.batches import CRC_START, LEGACY_CRC_START, Batch
from kidx.segments.walk import Ending, walk
from kidx.segments.windows import Window

if TYPE_CHECKING:
    from kidx.segments.windows import Ints

WINDOW_BYTES = 2 << 20
_PIECE_BYTES = 1 << 20


class Scan(Iterator[Window]):
    """The windows of a log. When they have ended, `ending` says how; `position` is the byte up to which they came."""

    def __init__(self, windows: Iterator[Window]) -> None:
        self._windows = windows
        self.ending: Ending | None = None
        self.position = 0

    def __next__(self) -> Window:
        return next(self._windows)


def scan(
    evidence: Evidence,
    index_positions: Sequence[int] | Ints | None = None,
    *,
    start: int = 0,
    end: int | None = None,
    check_crc: bool = True,
) -> Scan:
    """Every batch from the batch boundary `start` to `end` (default: the file's), in windows of about 2 MiB.

    `index_positions` are the offset index's positions, in any state: they serve as parallel starting points and are
    believed only where batches meet them. Damage is no error: a wrong CRC is in the window, a broken structure ends the
    scan, and `ending` says where and how. Raises CannotRead and its children where the file cannot be read.
    """
    result = Scan(iter(()))
    result._windows = _windows(result, evidence, start, evidence.size if end is None else end, check_crc)
    return result


def _windows(result: Scan, evidence: Evidence, start: int, end: int, check_crc: bool) -> Iterator[Window]:
    steps = walk(evidence, start, end)
    group: list[Batch] = []
    result.position = start
    for batch in steps:
        if group and batch.next_position - group[0].position > WINDOW_BYTES:
            yield _window(evidence, group, check_crc)
            group = []
        group.append(batch)
        result.position = steps.position
    if group:
        yield _window(evidence, group, check_crc)
    result.ending = steps.ending


def _window(evidence: Evidence, group: list[Batch], check_crc: bool) -> Window:
    start, end = group[0].position, group[-1].next_position
    buffer = memoryview(evidence.read(start, end - start))
    bad = [i for i, b in enumerate(group) if not crc_holds(b, buffer[b.position - start : b.next_position - start])]
    headers = b"".join(b.header_bytes() for b in group)
    return Window(start, end, [b.position for b in group], headers, bad if check_crc else None, buffer)


def crc_holds(batch: Batch, entry: bytes | memoryview) -> bool:
    """Whether an entry (all its bytes) has the CRC that its header claims: CRC-32C in v2, CRC-32 in v0 and v1."""
    if batch.magic == 2:
        from fastcrc.crc32 import iscsi

        return int(iscsi(entry[CRC_START:])) == batch.crc
    import zlib

    return zlib.crc32(entry[LEGACY_CRC_START:]) == batch.crc


def resume(evidence: Evidence, position: int, end: int | None = None) -> int | None:
    """Where batches go on behind a place that is no batch: the next entry at or after `position` whose CRC holds."""
    end = evidence.size if end is None else end
    while position < end:
        data = evidence.read(position, min(_PIECE_BYTES, end - position))
        at = data.find(b"\x02", 16)
        while at >= 0:
            candidate = position + at - 16
            steps = walk(evidence, candidate, end)
            batch = next(steps, None)
            plausible = batch is not None and batch.magic == 2 and batch.base_offset >= 0 and batch.size < 1 << 28
            if batch is not None and plausible and crc_holds(batch, evidence.read(candidate, batch.size)):
                return candidate
            at = data.find(b"\x02", at + 1)
        if len(data) < _PIECE_BYTES:
            return None
        position += len(data) - 16
    return None


def parts(evidence: Evidence, index_positions: Sequence[int] | Ints | None, count: int) -> list[tuple[int, int]]:
    """Up to `count` byte ranges that together are the whole log, cut where the index says that batches start.

    A range's scan must end with END exactly at its end, else the index lies there and the log is to be scanned whole.
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
