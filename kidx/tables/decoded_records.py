"""Records of Kafka's own topics as tables: each record's fields."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from kidx.errors import UsageError
from kidx.evidence import Evidence
from kidx.exit_status import UNREADABLE
from kidx.formats.batches import Batch
from kidx.formats.control import parse_control
from kidx.formats.records import Damage
from kidx.formats.schemas.topics import FAMILY_OF_TOPIC, Part, decoder_of
from kidx.logdir.names import METADATA_SNAPSHOT, parse_file_name, parse_partition_name
from kidx.segments.record_blocks import RecordDecoder
from kidx.segments.window_records import records_in_order
from kidx.tables.batches import LogReader
from kidx.tables.selection import EVERYTHING, Condition, Selection, conditions_of
from kidx.tables.table import TEXT, TIMESTAMP, TREE, Column, Notes, Table

if TYPE_CHECKING:
    from kidx.formats.schemas.topics import Decoder
    from kidx.segments.windows import Window

SCHEMA = "kidx.decoded_record.v1"
_COLUMNS = (
    Column("offset"),
    Column("timestamp", TIMESTAMP, "ms"),
    Column("key", TREE),
    Column("value", TREE),
    Column("problem", TEXT),
)

_BARE = re.compile(r"[^\s\"=,{}\[\]]+")  # text that needs no quotes


def family_of(path: str, given: str | None) -> str:
    """Which of Kafka's own topics a log belongs to: as given, or by its directory's name. Raises UsageError."""
    if given is not None:
        return given
    partition = parse_partition_name(os.path.dirname(os.path.abspath(path)))
    name = parse_file_name(path)
    if partition is not None and partition.topic in FAMILY_OF_TOPIC:
        return FAMILY_OF_TOPIC[partition.topic]
    if name is not None and name.kind == METADATA_SNAPSHOT:
        return FAMILY_OF_TOPIC["__cluster_metadata"]
    raise UsageError(
        f"{path}: its directory is not that of one of Kafka's own topics ({', '.join(FAMILY_OF_TOPIC)}); "
        "name the topic with --decoder"
    )


class DecodedRow(NamedTuple):
    """A record: key and value as trees of type, name, version and data (and bytes, where they could not be decoded)."""

    control: bool
    offset: int
    timestamp: int
    key: dict[str, Any] | None
    value: dict[str, Any] | None
    problem: str | None


def decoded_records(
    window: Window,
    decoder: RecordDecoder,
    decode: Decoder,
    damaged: list[tuple[Batch, Damage]],
    conditions: Sequence[Condition] = (),
) -> Iterator[DecodedRow]:
    """The records of a window of a scan with hold=True, decoded by `decode` (see decoder_of).

    `conditions` are about a record's offset (column 0) and timestamp (column 1). Of a damaged batch the records before
    the damage are yielded, and the batch is appended to `damaged`.
    """
    for control, offset, timestamp, key, value in records_in_order(decoder, window, damaged):
        if not all(condition.holds((offset, timestamp)) for condition in conditions):
            continue
        if control:
            yield DecodedRow(True, offset, timestamp, *_control(key, value))
        else:
            decoded = decode(key, value)
            trees = _tree(decoded.key), None if decoded.value is None else _tree(decoded.value)
            yield DecodedRow(False, offset, timestamp, *trees, decoded.problem)


def decoded_table(
    evidence: Evidence,
    family: str,
    wanted: Selection = EVERYTHING,
    *,
    as_text: bool = False,
    constants: Mapping[str, str] | None = None,
) -> Table:
    """kidx.decoded_record.v1: the wanted records of a log of one of Kafka's own topics (see family_of).

    `as_text` puts a record's contents into one column of text, for people. Raises UsageError for a bound that is about
    neither offset nor timestamp.
    """
    conditions = conditions_of(wanted, ("offset", "timestamp"), "offset", evidence.path)
    reader, summary, notes = LogReader(evidence), dict[str, Any](), Notes()
    records = _rows(reader, decoder_of(family), conditions, notes)
    kept = reader.through(wanted.ends_of(records), summary, notes)
    if as_text:
        columns = (*_COLUMNS[:2], Column("record", TEXT))
        texts = ((row.offset, row.timestamp, record_text(*row[3:])) for row in kept)
        return Table(SCHEMA, columns, texts, summary, constants=constants, notes=notes)
    return Table(SCHEMA, _COLUMNS, (row[1:] for row in kept), summary, constants=constants, notes=notes)


def _rows(reader: LogReader, decode: Decoder, conditions: Sequence[Condition], notes: Notes) -> Iterator[DecodedRow]:
    decoder = RecordDecoder(reader.evidence, partly=True)
    for window in reader.windows(hold=True):
        damaged: list[tuple[Batch, Damage]] = []
        yield from decoded_records(window, decoder, decode, damaged, conditions)
        for batch, damage in damaged:
            where = f"{reader.evidence.path}: the batch at byte {batch.position}"
            notes.add(f"{where}: {damage.why}", UNREADABLE)


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


def record_text(key: dict[str, Any] | None, value: dict[str, Any] | None, problem: str | None) -> str:
    """A record on one line for people, from the trees of its row: its kind, what it is about, an arrow, its contents.

    `OffsetCommit group=a topic=t partition=0 -> v3 offset=12 metadata=""`; a tombstone has `-> tombstone`. Records
    whose key only names the kind have no arrow: `TopicRecord v0 name=t topicId=...`.
    """
    about = _fields(key["data"]) if key and key["data"] else []
    if problem is not None:
        raw = [f"{name}={part['bytes']}" for name, part in (("key", key), ("value", value)) if part and "bytes" in part]
        return " ".join([_kind(key, value), *about, "undecoded:", problem, *raw]).strip()
    if value is None:
        return " ".join([_kind(key, value), *about, "->", "tombstone"])
    version = [] if value["version"] is None else [f"v{value['version']}"]
    fields = [*version, *_fields(value["data"] or {})]
    return " ".join([_kind(key, value), *about, *(["->"] if about else []), *fields])


def _kind(key: dict[str, Any] | None, value: dict[str, Any] | None) -> str:
    for part in (key, value):
        if part and part.get("name"):
            return str(part["name"])
    return ""


def _fields(data: dict[str, Any]) -> list[str]:
    return [f"{name}={_text(value)}" for name, value in data.items()]


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value if _BARE.fullmatch(value) else json.dumps(value, ensure_ascii=False)
    if isinstance(value, dict):
        return "{" + " ".join(_fields(value)) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_text, value)) + "]"
    return json.dumps(value)
