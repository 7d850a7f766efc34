"""Producer snapshots, checkpoints and properties files as tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from kidx.errors import KidxError, WrongFormat
from kidx.evidence import Evidence
from kidx.formats import checkpoints
from kidx.formats.producer_snapshot import HEADER_BYTES, PRODUCER_ENTRY, ProducerSnapshot, parse_snapshot
from kidx.formats.remote_objects import parse_manifest, parse_manifest_json
from kidx.tables.selection import EVERYTHING, Selection, conditions_of
from kidx.tables.table import INT, TEXT, TIMESTAMP, TREE, Column, Notes, Table

_PRODUCER_COLUMNS = (
    "producer_id",
    "producer_epoch",
    "coordinator_epoch",
    "last_sequence",
    "last_offset",
    "offset_delta",
    "timestamp",
    "current_txn_first_offset",
)


def producer_table(
    evidence: Evidence,
    wanted: Selection = EVERYTHING,
    *,
    hexed: bool = False,
    constants: Mapping[str, str] | None = None,
) -> Table:
    """kidx.producer.v1: the wanted entries of a producer snapshot; `hexed` adds each field's bytes.

    Raises WrongFormat, UsageError for a bound that fits no column.
    """
    data = evidence.read_all()
    try:
        snapshot = parse_snapshot(data)
    except WrongFormat as e:
        raise WrongFormat(f"{evidence.path}: {e}") from None
    columns = [Column(n, TIMESTAMP if n == "timestamp" else INT) for n in _PRODUCER_COLUMNS]
    conditions = conditions_of(wanted, _PRODUCER_COLUMNS, "producer_id", evidence.path)
    numbered = enumerate(tuple(getattr(p, n) for n in _PRODUCER_COLUMNS) for p in snapshot.producers)
    kept = wanted.ends_of((i, row) for i, row in numbered if all(c.holds(row) for c in conditions))
    rows: Any = (row for _, row in kept)
    if hexed:
        spans = [PRODUCER_ENTRY.field_span(f.name) for f in PRODUCER_ENTRY.fields]
        hex_columns = [Column(f"{f.name}_hex", TEXT) for f in PRODUCER_ENTRY.fields]
        columns = [Column("byte_start", INT, "bytes"), *hex_columns, *columns]
        starts = ((HEADER_BYTES + i * PRODUCER_ENTRY.size, row) for i, row in kept)
        rows = ((at, *(data[at + a : at + b].hex(" ") for a, b in spans), *row) for at, row in starts)
    summary = {
        "version": snapshot.version,
        "crc": snapshot.crc,
        "crc_ok": snapshot.crc_ok,
        "entry_count": snapshot.entry_count,
        "entries": len(snapshot.producers),
        "extra_bytes": snapshot.extra_bytes,
    }
    notes = _notes(evidence.path, _snapshot_problems(snapshot))
    return Table(PRODUCER_ENTRY.schema, columns, rows, summary, constants=constants, notes=notes)


def _snapshot_problems(snapshot: ProducerSnapshot) -> Iterator[str]:
    if not snapshot.crc_ok:
        yield f"its CRC ({snapshot.crc}) does not hold: a broker throws this snapshot away"
    if snapshot.entry_count != len(snapshot.producers):
        yield f"it announces {snapshot.entry_count} entries and holds {len(snapshot.producers)}"
    if snapshot.extra_bytes:
        yield f"{snapshot.extra_bytes} bytes follow its last whole entry"


def _notes(path: str, problems: Iterable[str]) -> Notes:
    notes = Notes()
    for problem in problems:
        notes.add(f"{path}: {problem}", in_summary=True)
    return notes


def _offsets(data: bytes) -> tuple[list[Any], list[checkpoints.Problem]]:
    rows, problems = checkpoints.parse_offset_checkpoint(data)
    return list(rows), problems


def _epochs(data: bytes) -> tuple[list[Any], list[checkpoints.Problem]]:
    rows, problems = checkpoints.parse_leader_epochs(data)
    return list(rows), problems


def _properties(parse: Callable[[bytes], dict[str, Any]]) -> Callable[[bytes], Any]:
    return lambda data: (list(parse(data).items()), [])


def _flat(fields: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The values of nested objects, by their names joined with dots."""
    for name, value in fields.items():
        if isinstance(value, dict) and value:
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _manifest(data: bytes) -> tuple[list[Any], list[checkpoints.Problem]]:
    """A remote segment's manifest, whatever is in it."""
    rows = list(_flat(parse_manifest_json(data)))
    try:
        parse_manifest(data)
    except KidxError as e:
        return rows, [checkpoints.Problem(0, str(e))]
    return rows, []


_PROPERTY = ("kidx.property.v1", (Column("name", TEXT), Column("value", TEXT)), "name")
_PROPERTY_TREE = ("kidx.property.v1", (Column("name", TEXT), Column("value", TREE)), "name")
_TEXT_FILES: dict[str, tuple[str, tuple[Column, ...], str, Callable[[bytes], Any]]] = {
    "leader_epochs": ("kidx.leader_epoch.v1", (Column("epoch"), Column("start_offset")), "start_offset", _epochs),
    "offset_checkpoint": (
        "kidx.partition_offset.v1",
        (Column("topic", TEXT), Column("partition"), Column("offset")),
        "offset",
        _offsets,
    ),
    "meta_properties": (*_PROPERTY, _properties(checkpoints.parse_properties)),
    "partition_metadata": (*_PROPERTY, _properties(checkpoints.parse_partition_metadata)),
    "quorum_state": (*_PROPERTY_TREE, _properties(checkpoints.parse_quorum_state)),
    "remote_manifest": (*_PROPERTY_TREE, _manifest),
}
TEXT_KINDS = tuple(_TEXT_FILES)


def text_table(
    evidence: Evidence, kind: str, wanted: Selection = EVERYTHING, *, constants: Mapping[str, str] | None = None
) -> Table:
    """The wanted lines of a checkpoint or properties file, `kind` being one of TEXT_KINDS.

    kidx.leader_epoch.v1, kidx.partition_offset.v1 or kidx.property.v1. Raises WrongFormat, UsageError for a bound that
    fits no column.
    """
    schema, columns, natural, parse = _TEXT_FILES[kind]
    rows: Sequence[Sequence[Any]]
    try:
        rows, problems = parse(evidence.read_all())
    except KidxError as e:
        raise WrongFormat(f"{evidence.path}: {e}") from None
    numbers = tuple(c.name for c in columns if c.kind == INT)
    names = tuple(c.name for c in columns)
    found = conditions_of(wanted, numbers, natural, evidence.path)
    conditions = [c._replace(column=names.index(numbers[c.column])) for c in found]
    kept = wanted.ends_of(row for row in rows if all(c.holds(row) for c in conditions))
    texts = [f"line {p.line}: {p.why}" if p.line else p.why for p in problems]
    summary = {"lines": len(rows), "problems": texts}
    return Table(schema, columns, kept, summary, constants=constants, notes=_notes(evidence.path, texts))
