"""Logs and metadata snapshots as tables of records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from kidx.evidence import Evidence
from kidx.exit_status import UNREADABLE
from kidx.formats.batches import Batch
from kidx.formats.control import control_type, type_name
from kidx.formats.records import Record
from kidx.segments.records import read_records
from kidx.tables.batches import LogReader
from kidx.tables.selection import EVERYTHING, Condition, Selection, conditions_of
from kidx.tables.table import INT, TEXT, TIMESTAMP, TREE, Column, Notes, Table

SCHEMA = "kidx.record.v1"
_HASH_DIGITS = 16  # enough to tell values apart, too few to be looked up in a table of hashes of all of them


def _text(data: bytes) -> str:
    """UTF-8; bytes that are not UTF-8 are escaped."""
    return data.decode("utf-8", "backslashreplace")


def _base64(data: bytes) -> str:
    from base64 import b64encode

    return b64encode(data).decode()


def _redacted(data: bytes) -> dict[str, Any]:
    from hashlib import sha256

    return {"length": len(data), "sha256": sha256(data).hexdigest()[:_HASH_DIGITS]}


# How keys, values and headers' values are shown.
SHOWN: dict[str, Callable[[bytes], Any]] = {"text": _text, "hex": bytes.hex, "base64": _base64, "redact": _redacted}


def record_table(
    evidence: Evidence,
    wanted: Selection = EVERYTHING,
    *,
    equal: Mapping[str, int] | None = None,
    key: bytes | None = None,
    show: str = "hex",
    constants: Mapping[str, str] | None = None,
) -> Table:
    """kidx.record.v1: the wanted records of a log; of a damaged batch those before the damage, and a note.

    `equal` are columns (or `producer_epoch`, `leader_epoch`) and the values that they must have, `key` the bytes that
    the key must equal; `show` is one of SHOWN. Raises UsageError for a bound that fits no column.
    """
    cell = TREE if show == "redact" else TEXT
    columns = [
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
    names = (*(column.name for column in columns), "producer_epoch", "leader_epoch")
    conditions = conditions_of(wanted, names, "offset", evidence.path)
    conditions += [Condition(names.index(name), value, value) for name, value in (equal or {}).items()]
    reader, summary, notes = LogReader(evidence), dict[str, Any](), Notes()
    rows = wanted.ends_of(_rows(reader, conditions, key, SHOWN[show], notes))
    return Table(SCHEMA, columns, reader.through(rows, summary, notes), summary, constants=constants, notes=notes)


def _rows(
    reader: LogReader, conditions: list[Condition], key: bytes | None, show: Callable[[bytes], Any], notes: Notes
) -> Iterator[tuple[Any, ...]]:
    for batch in reader.batches():
        if _cannot_match(batch, conditions):
            continue
        decoded = read_records(reader.evidence, batch)
        for record in decoded.records:
            facts = _facts(batch, record)
            if (key is None or record.key == key) and all(c.holds(facts) for c in conditions):
                yield _row(batch, record, facts, show)
        if decoded.damage:
            where = f"{reader.evidence.path}: the batch at byte {batch.position}"
            notes.add(f"{where}: {decoded.damage.why}", UNREADABLE)


def _cannot_match(batch: Batch, conditions: list[Condition]) -> bool:
    """Whether the offsets of a batch's header rule it out, so that it need not be decompressed."""
    if batch.magic < 2:
        return False
    limits = [c for c in conditions if c.column == 0]
    return any(
        (c.low is not None and batch.last_offset < c.low) or (c.high is not None and batch.base_offset > c.high)
        for c in limits
    )


def _row(batch: Batch, record: Record, facts: tuple[Any, ...], show: Callable[[bytes], Any]) -> tuple[Any, ...]:
    control = type_name(control_type(record.key)) if batch.control else None
    key, value = (None if data is None else show(data) for data in (record.key, record.value))
    headers = [{"key": _text(name), "value": None if data is None else show(data)} for name, data in record.headers]
    return (*facts[:2], key, value, headers, *facts[5:8], control)


def _facts(batch: Batch, record: Record) -> tuple[Any, ...]:
    """A record's numbers at the places of their columns, the epochs last; None where its version has no such field."""
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
