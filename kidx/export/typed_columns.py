"""Avro schemas as Arrow types, and Avro's values as Arrow's; what Arrow lacks becomes JSON text."""

from __future__ import annotations

import datetime
import decimal
import json
import math
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from kidx.segments.arrow_records import arrow

if TYPE_CHECKING:
    import pyarrow as pa

Convert = Callable[[Any], Any]


class Typed(NamedTuple):
    """An Arrow type, and the function that makes its values."""

    type: pa.DataType
    convert: Convert


def plain(value: Any) -> Any:
    """A decoded value as JSON has it: bytes as hex, times in ISO 8601, decimals as text."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, decimal.Decimal | uuid.UUID):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list | tuple) else value


def as_json(value: Any) -> str:
    """A decoded value as JSON text."""
    return json.dumps(plain(value), ensure_ascii=True, separators=(",", ":"))


def json_text() -> Typed:
    """JSON text as a type."""
    return Typed(arrow().string(), as_json)


def typed(schema: Any) -> Typed:
    """The type of a parsed Avro schema; unions of several types and recursive records are JSON text."""
    return _typed(schema, {}, frozenset())


def _typed(schema: Any, named: dict[str, Any], inside: frozenset[str]) -> Typed:
    if isinstance(schema, list):
        others = [one for one in schema if one != "null"]
        if len(others) != 1:
            return json_text()
        some = _typed(others[0], named, inside)
        return Typed(some.type, lambda value: None if value is None else some.convert(value))
    if isinstance(schema, str):
        if schema in named:
            return json_text() if schema in inside else _typed(named[schema], named, inside)
        return _primitive(schema)
    name = schema.get("name", "")
    if name:
        named[name] = schema
    kind = schema["type"]
    if "logicalType" in schema and (logical := _logical(schema)) is not None:
        return logical
    return _complex(schema, kind, named, inside | {name})


def _complex(schema: Any, kind: Any, named: dict[str, Any], inside: frozenset[str]) -> Typed:
    pa = arrow()
    if kind in ("record", "error"):
        fields = {field["name"]: _typed(field["type"], named, inside) for field in schema["fields"]}
        if not fields:
            return json_text()
        return Typed(
            pa.struct([(name, field.type) for name, field in fields.items()]),
            lambda value: {name: field.convert(value[name]) for name, field in fields.items()},
        )
    if kind == "array":
        item = _typed(schema["items"], named, inside)
        return Typed(pa.list_(item.type), lambda value: [item.convert(one) for one in value])
    if kind == "map":
        item = _typed(schema["values"], named, inside)
        return Typed(
            pa.map_(pa.string(), item.type), lambda value: [(key, item.convert(one)) for key, one in value.items()]
        )
    if kind == "enum":
        return Typed(pa.string(), str)
    if kind == "fixed":
        return Typed(pa.binary(int(schema["size"])), bytes)
    return _typed(kind, named, inside)


def _primitive(kind: str) -> Typed:
    pa = arrow()
    types = {
        "null": pa.null(),
        "boolean": pa.bool_(),
        "int": pa.int32(),
        "long": pa.int64(),
        "float": pa.float32(),
        "double": pa.float64(),
        "bytes": pa.binary(),
        "string": pa.string(),
    }
    return Typed(types[kind], lambda value: value) if kind in types else json_text()  # a name from another schema


def _logical(schema: Any) -> Typed | None:
    """The types of fastavro's logical values; None for those that it leaves as they are."""
    pa = arrow()
    types = {
        "date": pa.date32(),
        "time-millis": pa.time32("ms"),
        "time-micros": pa.time64("us"),
        "timestamp-millis": pa.timestamp("ms", "UTC"),
        "timestamp-micros": pa.timestamp("us", "UTC"),
        "local-timestamp-millis": pa.timestamp("ms"),
        "local-timestamp-micros": pa.timestamp("us"),
    }
    logical = schema["logicalType"]
    if logical in types:
        return Typed(types[logical], lambda value: value)
    if logical == "uuid":
        return Typed(pa.string(), str)
    if logical == "decimal":
        precision, scale = int(schema.get("precision", 38)), int(schema.get("scale", 0))
        if precision <= 76:
            return Typed((pa.decimal128 if precision <= 38 else pa.decimal256)(precision, scale), lambda value: value)
        return Typed(pa.string(), str)
    return None
