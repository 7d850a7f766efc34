"""Records of Kafka's own topics as tables: what each says, field by field."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from kidx.cli import complain, exit_status
from kidx.errors import UsageError
from kidx.formats.batches import Batch
from kidx.formats.control import parse_control
from kidx.formats.records import Damage
from kidx.formats.schemas.topics import FAMILY_OF_TOPIC, Part, decoder_of
from kidx.logdir.names import METADATA_SNAPSHOT, parse_file_name, parse_partition_name
from kidx.segments.records import read_records
from kidx.tables.batches import LogReader
from kidx.tables.conditions import conditions_of, ends_of
from kidx.tables.decoded_text import record_text
from kidx.tables.selection import Selection
from kidx.tables.table import TEXT, TIMESTAMP, TREE, Column, Table

SCHEMA = "kidx.decoded_record.v1"
_COLUMNS = (
    Column("offset"),
    Column("timestamp", TIMESTAMP, "ms"),
    Column("key", TREE),
    Column("value", TREE),
    Column("problem", TEXT),
)


def family_of(path: str, given: str | None) -> str:
    """Which of Kafka's own topics a log is of: as given, or by its directory's name. Raises UsageError."""
    if given is not None:
        return given
    partition = parse_partition_name(os.path.dirname(os.path.abspath(path)))
    name = parse_file_name(path)
    if partition is not None and partition.topic in FAMILY_OF_TOPIC:
        return FAMILY_OF_TOPIC[partition.topic]
    if name is not None and name.kind == METADATA_SNAPSHOT:
        return FAMILY_OF_TOPIC["__cluster_metadata"]
    raise UsageError(
        f"{path}: its directory is none of Kafka's own topics ({', '.join(FAMILY_OF_TOPIC)}); say which with --decoder"
    )


class DecodedTable:
    """The records wanted of a log, decoded; `status` says afterwards whether all of them could be read."""

    def __init__(self, reader: LogReader, wanted: Selection, family: str) -> None:
        self.reader, self.wanted, self.family = reader, wanted, family
        self.status = exit_status.CLEAN
        self._conditions = conditions_of(wanted, ("offset", "timestamp"), {}, "offset", reader.evidence.path)

    def table(self, constants: dict[str, str], *, brief: bool = False) -> Table:
        """The table, to be read once; `brief` puts what a record says into one column of text, for people."""
        rows: Iterator[tuple[Any, ...]] = ends_of(self._rows(), self.wanted)
        if brief:
            rows = ((offset, timestamp, record_text(*said)) for offset, timestamp, *said in rows)
            return Table(SCHEMA, [*_COLUMNS[:2], Column("record", TEXT)], rows, constants=constants)
        return Table(SCHEMA, _COLUMNS, rows, constants=constants)

    def _rows(self) -> Iterator[tuple[Any, ...]]:
        decode = decoder_of(self.family)
        conditions = self._conditions
        for control, offset, timestamp, key, value in self._contents():
            if conditions and not all(c.holds((offset, timestamp)) for c in conditions):
                continue
            if control:
                yield (offset, timestamp, *_control(key, value))
            else:
                said = decode(key, value)
                yield offset, timestamp, _tree(said.key), said.value and _tree(said.value), said.problem

    def _contents(self) -> Iterator[tuple[bool, int, int, bytes | None, bytes | None]]:
        """Each record: whether it is a control record, offset, timestamp, key, value."""
        evidence = self.reader.evidence
        if self.reader.small or self.wanted.head is not None:
            for batch in self.reader.batches():
                decoded = read_records(evidence, batch)
                for record in decoded.records:
                    yield batch.control, record.offset, record.timestamp, record.key, record.value
                self._complain(batch, decoded.damage)
            return
        from kidx.segments.record_blocks import RecordDecoder
        from kidx.segments.window_records import records_in_order

        decoder = RecordDecoder(evidence)
        for window in self.reader.windows(hold=True):
            damaged: list[tuple[Batch, Damage]] = []
            yield from records_in_order(evidence, decoder, window, damaged)
            for batch, damage in damaged:
                self._complain(batch, damage)

    def _complain(self, batch: Batch, damage: Damage | None) -> None:
        if damage is not None:
            complain(f"{self.reader.evidence.path}: the batch at byte {batch.position}: {damage.why}")
            self.status = exit_status.UNREADABLE


def _tree(part: Part) -> dict[str, Any]:
    """A part as its row has it: its kind and fields, and the bytes where they could not be decoded."""
    tree: dict[str, Any] = {"type": part.type, "name": part.name, "version": part.version, "data": part.data}
    if part.raw is not None:
        tree["bytes"] = part.raw.hex()
    return tree


def _control(key_bytes: bytes | None, value: bytes | None) -> tuple[Any, ...]:
    control = parse_control(key_bytes, value)
    if control is None:
        raw = None if key_bytes is None else {"bytes": key_bytes.hex()}
        return raw, None, "no control record by its key"
    key = {"type": control.type_id, "name": control.name, "version": None, "data": None}
    return key, {"type": control.type_id, "name": control.name, "version": None, "data": control.fields}, None
