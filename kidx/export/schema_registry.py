"""Schemas out of a schema registry's own topic, and the records that carry their ids.

Sources: io.confluent.kafka.schemaregistry.storage (SchemaKey, SchemaValue: JSON records of _schemas), and
AbstractKafkaSchemaSerDe, the frame: a zero byte, the schema's id (int32), the payload. Avro is decoded by fastavro,
JSON by Python. Protobuf stays bytes: it needs descriptors, which only protoc makes of a schema's text.
"""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kidx.errors import CannotRead, UsageError
from kidx.export.reading import Asked, PartitionRecords
from kidx.export.sources import Wanted, find_sources

if TYPE_CHECKING:
    import numpy.typing as npt

    from kidx.text.spans import Spans

AVRO, JSON, PROTOBUF = "AVRO", "JSON", "PROTOBUF"
_FRAME_BYTES = 5
_UNKNOWN = -1


class Schema(NamedTuple):
    """A registered schema. `references` are (name, subject, version)."""

    schema_id: int
    subject: str
    version: int
    kind: str
    text: str
    references: tuple[tuple[str, str, int], ...] = ()


class SchemaRegistry:
    """The schemas in a copy of _schemas, deleted ones too: records that use them may still be there."""

    def __init__(self, schemas: Mapping[int, Schema], latest: Mapping[str, Schema]) -> None:
        """`schemas` by id; `latest` are the newest versions by subject."""
        self.schemas, self.latest = schemas, latest
        self._readers: dict[tuple[int, int | None], Callable[[bytes], Any] | None] = {}

    @cached_property
    def _by_subject(self) -> dict[tuple[str, int], Schema]:
        return {(s.subject, s.version): s for s in self.schemas.values()}

    def avro(self, schema: Schema) -> Any:
        """An Avro schema, parsed, with what it refers to. Raises UsageError without fastavro."""
        try:
            from fastavro.schema import parse_schema
        except ImportError:
            raise UsageError("schemas in Avro need fastavro: install kidx[avro]") from None
        named: dict[str, Any] = {}
        self._parse_references(schema, named, parse_schema, 0)
        return parse_schema(json.loads(schema.text), named_schemas=named)

    def _parse_references(self, schema: Schema, named: dict[str, Any], parse: Any, depth: int) -> None:
        for name, subject, version in schema.references:
            found = self._by_subject.get((subject, version))
            if found is not None and name not in named and depth < 100:
                self._parse_references(found, named, parse, depth + 1)
                parse(json.loads(found.text), named_schemas=named)

    def reader(self, schema_id: int, target: Schema | None = None) -> Callable[[bytes], Any] | None:
        """A function from a payload to its value, None for a schema that is unknown or cannot be used.

        `target`: the schema whose fields the value gets, by Avro's rules of resolution.
        """
        key = schema_id, None if target is None else target.schema_id
        if key not in self._readers:
            schema = self.schemas.get(schema_id)
            self._readers[key] = None if schema is None else self._made_reader(schema, target)
        return self._readers[key]

    def _made_reader(self, schema: Schema, target: Schema | None) -> Callable[[bytes], Any] | None:
        if schema.kind == JSON:
            return json.loads
        if schema.kind != AVRO:
            return None
        from fastavro import schemaless_reader

        try:
            written = self.avro(schema)
            wanted = None if target is None or target.schema_id == schema.schema_id else self.avro(target)
        except UsageError:
            raise
        except Exception:  # a schema's text may be anything; its records stay bytes
            return None

        def read(payload: bytes) -> Any:
            stream = io.BytesIO(payload)
            value = schemaless_reader(stream, written, wanted)
            if stream.tell() != len(payload):
                raise ValueError(f"{len(payload) - stream.tell()} bytes follow the value")
            return value

        return read


def read_registry(path: str) -> SchemaRegistry:
    """The schemas in a partition of _schemas: its directory or a log. Raises CannotRead where there are none."""
    sources, unread = find_sources([path], Wanted(all_states=True))
    for e in unread:
        raise e
    schemas: dict[int, Schema] = {}
    latest: dict[str, Schema] = {}
    for source in sources:
        for block in PartitionRecords(source, Asked()):
            for key, value in zip(block.columns.key.tolist(), block.columns.value.tolist(), strict=True):
                schema = _schema(key, value)
                if schema is None:
                    continue
                schemas[schema.schema_id] = schema
                if schema.subject not in latest or schema.version >= latest[schema.subject].version:
                    latest[schema.subject] = schema
    if not schemas:
        raise CannotRead(f"{path}: it has no schemas; name a copy of the registry's topic, _schemas-0")
    return SchemaRegistry(schemas, latest)


def _schema(key: bytes | None, value: bytes | None) -> Schema | None:
    try:
        if json.loads(key or b"")["keytype"] != "SCHEMA" or value is None:
            return None
        said = json.loads(value)
        references = tuple((str(r["name"]), str(r["subject"]), int(r["version"])) for r in said.get("references") or ())
        kind = str(said.get("schemaType") or AVRO)
        return Schema(
            int(said["id"]), str(said["subject"]), int(said["version"]), kind, str(said["schema"]), references
        )
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


class Decoder:
    """Decodes keys or values. `counts` says how many were decoded, and why others were not."""

    def __init__(self, registry: SchemaRegistry, target: Schema | None = None) -> None:
        self._registry, self._target = registry, target
        self.counts: Counter[str] = Counter()

    def decode(self, spans: Spans) -> tuple[npt.NDArray[np.int64], list[Any], npt.NDArray[np.bool_]]:
        """Schema ids (-1 for strings without a frame), values, and which strings were decoded."""
        framed = spans.length >= _FRAME_BYTES
        framed[framed] = spans.data[spans.start[framed]] == 0
        ids = np.full(len(spans), _UNKNOWN, np.int64)
        words = np.ndarray(max(len(spans.data) - 3, 0), ">i4", spans.data.data, 0, (1,))
        ids[framed] = words[spans.start[framed] + 1]
        values: list[Any] = [None] * len(spans)
        done = np.zeros(len(spans), np.bool_)
        for schema_id in np.unique(ids[framed]).tolist():
            rows = np.flatnonzero(ids == schema_id)
            read = self._registry.reader(schema_id, self._target)
            if read is None:
                known = self._registry.schemas.get(schema_id)
                self.counts[f"{known.kind} {schema_id}" if known else f"unknown id {schema_id}"] += len(rows)
                continue
            for row, data in zip(rows.tolist(), spans.part(rows).tolist(), strict=True):
                try:
                    values[row] = read((data or b"")[_FRAME_BYTES:])
                    done[row] = True
                except Exception:  # whatever bytes do to a decoder, the record stays as it is, and is counted
                    self.counts[f"not of schema {schema_id}"] += 1
        self.counts["decoded"] += int(done.sum())
        self.counts["no schema id"] += int((~framed & spans.present).sum())
        return ids, values, done
