"""Records that carry the id of a schema, decoded by a copy of the registry's topic."""

from __future__ import annotations

import io
import json
import struct
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from kidx.export.schema_registry import read_registry
from tests.building import batch, record
from tests.support import kidx_here

pytestmark = pytest.mark.skipif(not find_spec("fastavro"), reason="needs the extra: pip install 'kidx[avro]'")

OLD = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}
NEW: dict[str, Any] = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "note", "type": ["null", "string"], "default": None},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}, "default": 0},
        {"name": "next", "type": ["null", "Order"], "default": None},
    ],
}


def registered(schema_id: int, subject: str, version: int, schema: Any, **more: Any) -> tuple[bytes, bytes]:
    key = {"keytype": "SCHEMA", "subject": subject, "version": version, "magic": 1}
    value = {"subject": subject, "version": version, "id": schema_id, "schema": json.dumps(schema), "deleted": False}
    return json.dumps(key).encode(), json.dumps(value | more).encode()


def framed(schema_id: int, payload: bytes) -> bytes:
    return struct.pack(">bI", 0, schema_id) + payload


def avro(schema: Any, value: Any) -> bytes:
    from fastavro import schemaless_writer

    out = io.BytesIO()
    schemaless_writer(out, schema, value)
    return out.getvalue()


def partition(path: Path, pairs: list[tuple[bytes | None, bytes | None]]) -> Path:
    path.mkdir(parents=True)
    records = [record(delta, key=key, value=value) for delta, (key, value) in enumerate(pairs)]
    (path / f"{0:020}.log").write_bytes(batch(records))
    return path


@pytest.fixture
def schemas(tmp_path: Path) -> Path:
    noop = (b'{"keytype":"NOOP","magic":0}', None)
    return partition(
        tmp_path / "_schemas-0",
        [
            noop,
            registered(1, "orders-value", 1, OLD),
            registered(2, "orders-value", 2, NEW, schemaType="AVRO"),
            registered(3, "other", 1, {"type": "object"}, schemaType="JSON"),
            registered(4, "proto", 1, "syntax = 'proto3';", schemaType="PROTOBUF"),
            registered(5, "broken", 1, {"type": "no such type"}),
            (b"not json", b"not json"),
        ],
    )


@pytest.fixture
def orders(tmp_path: Path) -> Path:
    inner = {"id": 9, "note": None, "at": 0, "next": None}
    values = [
        framed(1, avro(OLD, {"id": 7})),
        framed(2, avro(NEW, {"id": 8, "note": "n", "at": 1000, "next": inner})),
        framed(3, b'{"a": [1]}'),
        framed(4, b"\x08\x01"),
        framed(5, b"x"),
        framed(99, b"y"),
        framed(2, b"\xff"),
        b"plain",
        None,
    ]
    return partition(tmp_path / "orders-0", [(b"k", value) for value in values])


def test_the_registry_has_its_schemas(schemas: Path) -> None:
    registry = read_registry(str(schemas))
    assert sorted(registry.schemas) == [1, 2, 3, 4, 5]
    assert registry.latest["orders-value"].schema_id == 2


def test_json_lines_have_the_decoded_values_and_the_bytes(schemas: Path, orders: Path, tmp_path: Path) -> None:
    manifest = tmp_path / "manifest.json"
    ran = kidx_here("export", "--schemas", schemas, "--encoding", "hex", "--manifest", manifest, orders)
    assert ran.status == 0
    assert [row["value_decoded"] for row in ran.rows] == [
        {"id": 7},
        {
            "id": 8,
            "note": "n",
            "at": "1970-01-01T00:00:01+00:00",
            "next": {"id": 9, "note": None, "at": "1970-01-01T00:00:00+00:00", "next": None},
        },
        {"a": [1]},
        *[None] * 6,
    ]
    assert [row["value_schema_id"] for row in ran.rows] == [1, 2, 3, 4, 5, 99, 2, None, None]
    assert ran.rows[3]["value"] == "00000000040801"
    counts = json.loads(manifest.read_text())["partitions"][0]["decoded"]["value"]
    assert counts == {
        "decoded": 3,
        "PROTOBUF 4": 1,
        "AVRO 5": 1,
        "unknown id 99": 1,
        "not of schema 2": 1,
        "no schema id": 1,
    }
    assert b"unknown id 99: 1" in ran.err


def test_parquet_has_typed_columns(schemas: Path, orders: Path, tmp_path: Path) -> None:
    import pyarrow.parquet

    out = tmp_path / "orders.parquet"
    assert kidx_here("export", "--schemas", schemas, "--format", "parquet", "--output", out, orders).status == 0
    table = pyarrow.parquet.read_table(out)
    decoded = table.schema.field("value_decoded").type
    assert [decoded.field(i).name for i in range(decoded.num_fields)] == ["id", "note", "at", "next"]
    rows = table["value_decoded"].to_pylist()
    assert (rows[0]["id"], rows[0]["note"], rows[1]["note"]) == (7, None, "n"), (
        "an older schema is resolved to the newest"
    )
    assert json.loads(rows[1]["next"])["id"] == 9
    assert table["value"].to_pylist()[7] == b"plain"


def test_a_path_without_schemas_is_refused(orders: Path) -> None:
    ran = kidx_here("export", "--schemas", orders, orders)
    assert (ran.status, ran.out, b"_schemas-0" in ran.err) == (3, b"", True)
