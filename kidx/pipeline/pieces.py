"""What the data source reads: pieces of files, cut and packed on the driver, decoded into Arrow batches in a task."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from kidx.checks.options import Options
from kidx.checks.partition import check_target
from kidx.checks.surroundings import is_tiered
from kidx.checks.targets import Target, targets_of
from kidx.errors import CannotRead, KidxError
from kidx.evidence import Evidence, list_directory, open_evidence
from kidx.formats.batches import fault_at
from kidx.formats.compression import CODEC_NAMES
from kidx.formats.crc import crc_holds
from kidx.formats.indexes import OFFSET_INDEX, decode, extent_of
from kidx.logdir.names import INDEX_OF_KIND, LOG, OFFSET
from kidx.logdir.tree import Partition, Segment
from kidx.pipeline.facts import segment_facts
from kidx.pipeline.filters import Conditions
from kidx.pipeline.inventory import place_of
from kidx.pipeline.results import finding_row, shield
from kidx.pipeline.schemas import BATCHES, FINDINGS_KIND, INDEX_KINDS, RECORDS, SEGMENTS, file_kind
from kidx.segments.record_blocks import RecordDecoder
from kidx.segments.scan import scan
from kidx.segments.walk import walk

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from kidx.segments.windows import Window

    Columns = Mapping[str, Any]

_ROWS = 1 << 16  # of an Arrow batch of index entries
_OFFSET_COLUMN = {RECORDS: "offset", BATCHES: "base_offset"} | dict.fromkeys(INDEX_KINDS, "offset")


class Piece(NamedTuple):
    """A file's bytes [start, end), end None for all of them; or a whole directory (base_offset -1)."""

    path: str
    topic: str | None
    partition: int | None
    base_offset: int
    start: int
    end: int | None
    bytes: int


def find_pieces(kind: str, paths: Iterable[str], conditions: Conditions, piece_bytes: int) -> list[Piece]:
    """The pieces to read for a kind; large logs are cut at index entries. Raises CannotRead."""
    pieces: list[Piece] = []
    for target in targets_of(paths):
        if isinstance(target, CannotRead):
            raise target
        place = place_of(target.directory)
        if not conditions.allows(topic=place.topic, partition=place.partition):
            continue
        partition = Partition(target.directory, list_directory(target.directory or "."))
        if kind in (FINDINGS_KIND, SEGMENTS):
            size = sum(file.size() for file in partition.files)
            pieces.append(Piece(target.directory, place.topic, place.partition, -1, 0, None, size))
            continue
        for segment, following in _with_following(partition):
            file = segment.file(file_kind(kind))
            if file is None or not _asked_for(file.path, target) or is_tiered(file):
                continue
            if not conditions.may_hold(segment.base_offset, following, _OFFSET_COLUMN[kind]):
                continue
            size = file.size()
            cuts = [0]
            if file.kind == LOG and size > piece_bytes:
                cuts = safe_cuts(segment, piece_bytes)
            for start, end in zip(cuts, [*cuts[1:], None], strict=True):
                length = (size if end is None else end) - start
                whole = Piece(file.path, place.topic, place.partition, segment.base_offset, start, end, length)
                pieces.append(whole)
    return pieces


def _with_following(partition: Partition) -> Iterator[tuple[Segment, int | None]]:
    """The living segments, each with the next one's base offset."""
    living = [s for s in partition.all_segments if not s.state]
    for number, segment in enumerate(living):
        yield segment, living[number + 1].base_offset if number + 1 < len(living) else None


def _asked_for(path: str, target: Target) -> bool:
    return target.names is None or os.path.basename(path) in target.names


def safe_cuts(segment: Segment, piece_bytes: int) -> list[int]:
    """Where a log may be cut into pieces of about `piece_bytes`: the first is 0, the others are starts of batches.

    An index entry is believed when a whole batch with a correct CRC lies where it points and starts at or before the
    offset it names; where the index is suspect, the log stays in one piece.
    """
    import numpy as np

    index, log = segment.file(OFFSET), segment.file(LOG)
    cuts = [0]
    if index is None or log is None:
        return cuts
    try:
        with index.open() as evidence:
            extent = extent_of(OFFSET_INDEX, evidence.size, evidence.read)
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


def read_piece(kind: str, piece: Piece, conditions: Conditions, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """A piece's rows as Arrow batches of `schema`, which may hold some of the kind's columns. Raises KidxError."""
    if kind == FINDINGS_KIND:
        yield from _from_rows(piece, schema, map(finding_row, check_target(Target(piece.path), Options()).findings))
        return
    if kind == SEGMENTS:
        facts = segment_facts(Partition(piece.path))
        yield from _from_rows(piece, schema, (f._replace(directory=shield(f.directory))._asdict() for f in facts))
        return
    with open_evidence(piece.path) as evidence:
        parts = _index_columns(kind, evidence, piece) if kind in INDEX_KINDS else _log_columns(kind, evidence, piece)
        for columns in parts:
            batch = _batch(columns, piece, conditions, schema)
            if len(batch):
                yield batch


def _index_columns(kind: str, evidence: Evidence, piece: Piece) -> Iterator[Columns]:
    import numpy as np

    index_format = INDEX_OF_KIND[kind]
    width = index_format.size
    count = extent_of(index_format, evidence.size, evidence.read).entries
    for first in range(0, count, _ROWS):
        rows = min(_ROWS, count - first)
        data = evidence.read(first * width, rows * width)
        yield {"slot": np.arange(first, first + rows)} | decode(index_format, data, piece.base_offset)


def _log_columns(kind: str, evidence: Evidence, piece: Piece) -> Iterator[Columns]:
    records = kind == RECORDS
    windows = scan(evidence, start=piece.start, end=piece.end, check_crc=not records, hold=records)
    decoder = RecordDecoder(evidence)
    for window in windows:
        if not records:
            yield _batch_columns(window)
            continue
        for block in decoder.blocks(window):
            rows = block.batch
            yield {
                "offset": block.offset,
                "timestamp": block.timestamp,
                "key": lambda chosen, b=block: _bytes(b.buffer, b.key_start, b.key_length, chosen),
                "value": lambda chosen, b=block: _bytes(b.buffer, b.value_start, b.value_length, chosen),
                "header_count": block.header_count,
                "size": block.size,
                "batch_position": window.position[rows],
                "producer_id": window.column("producer_id")[rows],
                "control": window.control[rows],
            }


def _batch_columns(window: Window) -> Columns:
    same = ("magic", "base_offset", "leader_epoch", "base_timestamp", "max_timestamp", "producer_id", "crc")
    return {
        "position": window.position,
        "size": window.size,
        "last_offset": window.last_offset,
        "count": window.column("record_count"),
        "codec": lambda chosen: pa.array(CODEC_NAMES).take(pa.array(window.codec[chosen])),
        "log_append_time": window.log_append_time,
        "transactional": window.transactional,
        "control": window.control,
        "crc_ok": window.crc_ok,
        **{name: window.column(name) for name in (*same, "producer_epoch", "base_sequence")},
    }


def _bytes(
    buffer: memoryview, starts: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64], chosen: npt.NDArray[np.int64]
) -> pa.Array:
    spans = zip(starts[chosen].tolist(), lengths[chosen].tolist(), strict=True)
    return pa.array([None if n < 0 else bytes(buffer[a : a + n]) for a, n in spans], pa.binary())


def _batch(columns: Columns, piece: Piece, conditions: Conditions, schema: pa.Schema) -> pa.RecordBatch:
    """The wanted rows of some columns, with the place they are from. A callable column is made for those rows only."""
    import numpy as np

    arrays = {name: column for name, column in columns.items() if not callable(column)}
    count = len(next(iter(arrays.values())))
    mask = conditions.mask(arrays)
    chosen = np.arange(count) if mask is None else np.flatnonzero(mask)
    place = _place(piece)
    made = []
    for field in schema:
        if field.name in place:
            made.append(pa.repeat(pa.scalar(place[field.name], field.type), len(chosen)))
            continue
        column = columns[field.name]
        array = column(chosen) if callable(column) else pa.array(column[chosen])
        made.append(array.cast(field.type))
    return pa.RecordBatch.from_arrays(made, schema=schema)


def _from_rows(piece: Piece, schema: pa.Schema, rows: Iterable[Mapping[str, Any]]) -> Iterator[pa.RecordBatch]:
    place = _place(piece)
    named = [{field.name: (place | dict(row))[field.name] for field in schema} for row in rows]
    if named:
        yield pa.RecordBatch.from_pylist(named, schema=schema)


def _place(piece: Piece) -> dict[str, Any]:
    return {
        "file": shield(piece.path),
        "topic": piece.topic,
        "partition": piece.partition,
        "segment": piece.base_offset,
    }


def packed(pieces: Sequence[Piece], piece_bytes: int) -> list[list[Piece]]:
    """Pieces in groups of about `piece_bytes`, a group a task."""
    from kidx.pipeline.inventory import COST_PER_FILE_BYTES, pack

    groups: dict[int, list[Piece]] = {}
    numbers = pack([p.bytes + COST_PER_FILE_BYTES for p in pieces], piece_bytes) if pieces else []
    for piece, number in zip(pieces, numbers, strict=True):
        groups.setdefault(number, []).append(piece)
    return list(groups.values())
