"""Logs and metadata snapshots as tables of records."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from kidx.cli import complain, exit_status
from kidx.formats.batches import Batch
from kidx.formats.control import control_type, type_name
from kidx.formats.records import Record
from kidx.segments.records import read_records
from kidx.tables.batches import LogReader
from kidx.tables.conditions import Condition, conditions_of, ends_of
from kidx.tables.selection import Selection
from kidx.tables.table import INT, TEXT, TIMESTAMP, TREE, Column, Table

SCHEMA = "kidx.record.v1"
_HASH_DIGITS = 16  # enough to tell values apart, too few to be looked up in a table of hashes of all of them


def _text(data: bytes) -> str:
    """UTF-8, with what is none escaped."""
    return data.decode("utf-8", "backslashreplace")


def _base64(data: bytes) -> str:
    from base64 import b64encode

    return b64encode(data).decode()


def _redacted(data: bytes) -> dict[str, Any]:
    from hashlib import sha256

    return {"length": len(data), "sha256": sha256(data).hexdigest()[:_HASH_DIGITS]}


# How keys, values and headers' values are shown.
SHOWN: dict[str, Callable[[bytes], Any]] = {"text": _text, "hex": bytes.hex, "base64": _base64, "redact": _redacted}


class RecordTable:
    """The records wanted of a log; `status` says afterwards whether all of them could be read."""

    def __init__(
        self, reader: LogReader, wanted: Selection, extra: dict[str, int], key: bytes | None, shown: str
    ) -> None:
        self.reader, self.wanted, self.key, self._show = reader, wanted, key, SHOWN[shown]
        self.status = exit_status.CLEAN
        cell = TREE if shown == "redact" else TEXT
        self.columns = [
            Column("offset"),
            Column("timestamp", TIMESTAMP, "ms"),
            Column("key", cell),
            Column("value", cell),
            Column("headers", TREE),
            Column("batch_position", INT, "bytes"),
            Column("producer_id"),
            Column("sequence"),
            Column("control_type", TEXT),
        ]
        names = (*(column.name for column in self.columns), "producer_epoch", "leader_epoch")
        self._conditions = conditions_of(wanted, names, {}, "offset", reader.evidence.path)
        self._conditions += [Condition(names.index(name), value, value) for name, value in extra.items()]

    def table(self, constants: dict[str, str]) -> Table:
        """The table, to be read once."""
        return Table(SCHEMA, self.columns, ends_of(self._rows(), self.wanted), constants=constants)

    def _rows(self) -> Iterator[tuple[Any, ...]]:
        for batch in self.reader.batches():
            if self._cannot_match(batch):
                continue
            decoded = read_records(self.reader.evidence, batch)
            for record in decoded.records:
                facts = _facts(batch, record)
                if (self.key is None or record.key == self.key) and all(c.holds(facts) for c in self._conditions):
                    yield self._row(batch, record, facts)
            if decoded.damage:
                complain(f"{self.reader.evidence.path}: the batch at byte {batch.position}: {decoded.damage.why}")
                self.status = exit_status.UNREADABLE

    def _cannot_match(self, batch: Batch) -> bool:
        """Whether the offsets of a batch's header rule it out, so that it need not be inflated."""
        if batch.magic < 2:
            return False
        limits = [c for c in self._conditions if c.column == 0]
        return any(
            (c.low is not None and batch.last_offset < c.low) or (c.high is not None and batch.base_offset > c.high)
            for c in limits
        )

    def _row(self, batch: Batch, record: Record, facts: tuple[Any, ...]) -> tuple[Any, ...]:
        control = type_name(control_type(record.key)) if batch.control else None
        key, value = (None if data is None else self._show(data) for data in (record.key, record.value))
        headers = [
            {"key": _text(name), "value": None if data is None else self._show(data)} for name, data in record.headers
        ]
        return (*facts[:2], key, value, headers, *facts[5:8], control)


def _facts(batch: Batch, record: Record) -> tuple[Any, ...]:
    """A record's numbers, at the places of their columns; None where its version has no such field."""
    new = batch.magic == 2
    return (
        record.offset,
        record.timestamp if batch.magic else None,
        None,
        None,
        None,
        batch.position,
        batch.producer_id if new else None,
        record.sequence if new else None,
        None,
        batch.producer_epoch if new else None,
        batch.leader_epoch if new else None,
    )
