"""The pieces of files that the data source reads, found, cut and packed on the driver."""

from __future__ import annotations

import heapq
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from kidx.checks.engine.partition_context import is_tiered
from kidx.checks.engine.targets import Target, targets_of
from kidx.errors import CannotRead, KidxError
from kidx.evidence import Evidence, list_directory
from kidx.formats.batches import fault_at
from kidx.formats.checksums import crc_holds
from kidx.formats.indexes import OFFSET_INDEX, decode, extent_of
from kidx.formats.schemas.topics import FAMILY_OF_TOPIC
from kidx.logdir.names import LOG, OFFSET
from kidx.logdir.tree import Partition, Segment
from kidx.pipeline.filters import Conditions
from kidx.pipeline.listing import COST_PER_FILE_BYTES
from kidx.pipeline.places import place_of
from kidx.pipeline.schemas import BATCHES, DECODED_RECORDS, FINDINGS_KIND, INDEX_KINDS, RECORDS, SEGMENTS, file_kind
from kidx.segments.walk import walk

GROUP_BYTES = 64 << 20  # what a task reads, about
_OFFSET_COLUMN = {RECORDS: "offset", DECODED_RECORDS: "offset", BATCHES: "base_offset"} | dict.fromkeys(
    INDEX_KINDS, "offset"
)


class Piece(NamedTuple):
    """A file's bytes [start, end), `end` None for its end; or a directory, with `base_offset` -1."""

    path: str
    topic: str | None
    partition: int | None
    base_offset: int
    start: int
    end: int | None
    bytes: int


def find_pieces(kind: str, paths: Iterable[str], conditions: Conditions, piece_bytes: int) -> list[Piece]:
    """The pieces to read for a kind. Logs of more than `piece_bytes` are cut at index entries. Raises CannotRead."""
    pieces: list[Piece] = []
    for target in targets_of(paths):
        if isinstance(target, CannotRead):
            raise target
        place = place_of(target.directory)
        if not conditions.allows(topic=place.topic, partition=place.partition):
            continue
        if kind == DECODED_RECORDS and place.topic not in FAMILY_OF_TOPIC:
            continue
        partition = Partition(target.directory, list_directory(target.directory or "."))
        if kind in (FINDINGS_KIND, SEGMENTS):
            size = sum(file.size() for file in partition.files)
            pieces.append(Piece(target.directory, place.topic, place.partition, -1, 0, None, size))
            continue
        for segment, following in _with_following(partition):
            file = segment.file(file_kind(kind))
            if file is None or not _is_target(file.path, target) or is_tiered(file):
                continue
            if not conditions.may_hold(segment.base_offset, following, _OFFSET_COLUMN[kind]):
                continue
            size = file.size()
            cuts = [0]
            if file.kind == LOG and size > piece_bytes:
                cuts = safe_cuts(segment, piece_bytes)
            for start, end in zip(cuts, [*cuts[1:], None], strict=True):
                length = (size if end is None else end) - start
                pieces.append(Piece(file.path, place.topic, place.partition, segment.base_offset, start, end, length))
    return pieces


def _with_following(partition: Partition) -> Iterator[tuple[Segment, int | None]]:
    """The segments that are not marked as deleted, cleaned or swapped, each with the next one's base offset."""
    living = [s for s in partition.all_segments if not s.state]
    for number, segment in enumerate(living):
        yield segment, living[number + 1].base_offset if number + 1 < len(living) else None


def _is_target(path: str, target: Target) -> bool:
    return target.names is None or os.path.basename(path) in target.names


def safe_cuts(segment: Segment, piece_bytes: int) -> list[int]:
    """Positions at which a log may be cut into pieces of about `piece_bytes`: 0, and starts of batches.

    An index entry is used only if a complete batch with a correct CRC is at its position and starts at or before its
    offset. If the index is not in order, the log is not cut.
    """
    import numpy as np

    index, log = segment.file(OFFSET), segment.file(LOG)
    cuts = [0]
    if index is None or log is None:
        return cuts
    try:
        with index.open() as evidence:
            extent = extent_of(OFFSET_INDEX, evidence, search=True)
            entries = decode(OFFSET_INDEX, evidence.read(0, extent.entries * OFFSET_INDEX.size), segment.base_offset)
        positions = entries["position"]
        if not len(positions) or (np.diff(positions) <= 0).any() or (np.diff(entries["offset"]) <= 0).any():
            return cuts
        with log.open() as evidence:
            for wanted in range(piece_bytes, evidence.size, piece_bytes):
                for at in range(int(np.searchsorted(positions, wanted)), len(positions)):
                    position = int(positions[at])
                    if position >= wanted + piece_bytes or position <= cuts[-1]:
                        break
                    if _starts_batch(evidence, position, int(entries["offset"][at])):
                        cuts.append(position)
                        break
    except KidxError:
        return [0]
    return cuts


def _starts_batch(log: Evidence, position: int, offset: int) -> bool:
    head = log.read(position, 61)
    if not head or fault_at(head, 0, log.size - position) is not None:
        return False
    batch = next(walk(log, position), None)
    return batch is not None and batch.base_offset <= offset and crc_holds(batch, log.read(position, batch.size))


def packed(pieces: Sequence[Piece], piece_bytes: int) -> list[list[Piece]]:
    """Pieces in groups of about `piece_bytes`, one group for each task."""
    groups: dict[int, list[Piece]] = {}
    numbers = pack([p.bytes + COST_PER_FILE_BYTES for p in pieces], piece_bytes) if pieces else []
    for piece, number in zip(pieces, numbers, strict=True):
        groups.setdefault(number, []).append(piece)
    return list(groups.values())


def pack(costs: Sequence[int], target: int) -> list[int]:
    """A group number for each item, in groups of about `target` each. Group 0 holds the most expensive item.

    Longest processing time first (Graham, 1969): the most expensive item left goes to the cheapest group.
    """
    count = max(1, min(len(costs), -(-sum(costs) // target)))
    heap = [(0, number) for number in range(count)]
    groups = [0] * len(costs)
    for item in sorted(range(len(costs)), key=lambda i: -costs[i]):
        filled, number = heapq.heappop(heap)
        groups[item] = number
        heapq.heappush(heap, (filled + costs[item], number))
    return groups
