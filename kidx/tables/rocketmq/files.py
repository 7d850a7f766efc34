"""What `kidx rocketmq dump` prints: a table a file, every whole entry as stored."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

from kidx.errors import UsageError
from kidx.formats.fields import RecordFormat
from kidx.rocketmq import file_kinds, formats
from kidx.rocketmq.config import StoreConfig
from kidx.rocketmq.ext_units import EXT_LIMIT_BYTES, ext_units, filler_start
from kidx.rocketmq.files import OpenFiles, open_store_file
from kidx.rocketmq.index_file import IndexFile, infer_shape
from kidx.rocketmq.layout import base_of
from kidx.rocketmq.used_units import used_units
from kidx.tables.rocketmq.messages import message_table
from kidx.tables.table import BOOL, BYTES, INT, TEXT, TIMESTAMP, Column, Table

_CHUNK_UNITS = 1 << 15


def table_of(path: str, kind: str, config: StoreConfig, *, bodies: bool = False) -> Table:
    """The table of a file of that kind. Raises CannotRead, UsageError (an index file of unknown shape)."""
    if kind in (file_kinds.QUEUE, file_kinds.BATCH_QUEUE):
        return _units(path, formats.UNIT if kind == file_kinds.QUEUE else formats.BATCH_UNIT)
    if kind == file_kinds.MESSAGES:
        return message_table(path, bodies)
    return {
        file_kinds.EXT: _ext,
        file_kinds.INDEX: _index,
        file_kinds.INDEX_HEADER: _index_header,
        file_kinds.CHECKPOINT: _checkpoint,
        file_kinds.ABORT: _abort,
    }[kind](path, config)


def columns_of(record: RecordFormat) -> list[Column]:
    """A record's fields as columns; times are TIMESTAMP."""
    return [Column(f.name, TIMESTAMP if f.unit == "ms" else INT, f.unit) for f in record.fields]


def _units(path: str, record: RecordFormat) -> Table:
    summary: dict[str, Any] = {}
    simple = record is formats.UNIT
    first = (base_of(os.path.basename(path)) or 0) // record.size

    def rows() -> Iterator[Sequence[Any]]:
        with open_store_file(path) as evidence:
            extent = used_units(record.size, evidence)
            summary.update(extent._asdict())
            for start in range(0, extent.units, _CHUNK_UNITS):
                data = evidence.read(start * record.size, min(_CHUNK_UNITS, extent.units - start) * record.size)
                for slot, unit in enumerate(record.struct.iter_unpack(data), start):
                    yield (first + slot, *unit, _state(unit)) if simple else (first + slot, *unit)

    columns = [Column("offset" if simple else "slot"), *columns_of(record)]
    if simple:
        columns.append(Column("state", TEXT))
    return Table(record.schema, columns, rows(), summary, constants={"file": path})


def _state(unit: tuple[int, ...]) -> str:
    offset, size, tag_code = unit
    if (offset, size, tag_code) == (0, formats.PRE_BLANK_SIZE, 0):
        return "pre_blank"
    if not any(unit):
        return "zero"
    return "unit" if offset >= 0 and size > 0 else "invalid"


def _ext(path: str, _: StoreConfig) -> Table:
    with open_store_file(path) as evidence:
        data = evidence.read_all(EXT_LIMIT_BYTES)
    base = base_of(os.path.basename(path)) or 0
    names = ("position", "address", "size", "tag_code")
    columns = [Column(name) for name in names]
    columns += [Column("store_timestamp", TIMESTAMP, "ms"), Column("bitmap", BYTES)]
    rows = (
        (u.position, base + u.position - 2**63, u.size, u.tag_code, u.store_timestamp, u.bitmap)
        for u in ext_units(data)
    )
    summary = {"filler_start": filler_start(data)}
    return Table(formats.EXT_HEAD.schema, columns, rows, summary, constants={"file": path})


def _shape(opened: OpenFiles, path: str, config: StoreConfig) -> tuple[int, int]:
    if config.index_slots and config.index_entries:
        return config.index_slots, config.index_entries
    shape = infer_shape(opened, path)
    if shape is None:
        raise UsageError(
            f"{path}: how many slots it has is recorded nowhere and cannot be inferred from what is in it; "
            "give --config FILE with maxHashSlotNum and maxIndexNum (or --kind index_header)"
        )
    return shape


def _index(path: str, config: StoreConfig) -> Table:
    opened = OpenFiles()
    slots, entries = _shape(opened, path, config)
    index = IndexFile(opened, path, slots, entries)
    columns = [Column("entry"), Column("slot"), *columns_of(formats.INDEX_ENTRY), Column("timestamp", TIMESTAMP, "ms")]

    def rows() -> Iterator[Sequence[Any]]:
        for number in range(1, min(index.count, entries)):
            found = index.entry(number)
            if found is None:
                return
            yield number, found.hash % slots, *found, index.begin_timestamp + found.seconds * 1000

    summary = {"slots": slots, "entries": entries, "index_count": index.count, "used_slots": index.used_slots}
    return Table(formats.INDEX_ENTRY.schema, columns, rows(), summary, constants={"file": path})


def _index_header(path: str, _: StoreConfig) -> Table:
    return _single(path, formats.INDEX_HEADER)


def _checkpoint(path: str, _: StoreConfig) -> Table:
    return _single(path, formats.CHECKPOINT)


def _single(path: str, record: RecordFormat) -> Table:
    """One record at a file's start; fields that a short file lacks are null."""
    with open_store_file(path) as evidence:
        data = evidence.read(0, record.size)
    values: list[int | None] = []
    for field in record.fields:
        start, end = record.field_span(field.name)
        values.append(int.from_bytes(data[start:end], signed=True) if end <= len(data) else None)
    return Table(record.schema, columns_of(record), [values], constants={"file": path})


def _abort(path: str, _: StoreConfig) -> Table:
    with open_store_file(path) as evidence:
        text = evidence.read(0, 64).decode("ascii", "replace").strip()
    columns = [Column("unclean", BOOL), Column("pid")]
    row = [True, int(text) if text.isascii() and text.isdigit() else None]
    return Table("kidx.rocketmq_abort.v1", columns, [row], constants={"file": path})
