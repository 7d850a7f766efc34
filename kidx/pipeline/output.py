"""The results of a scan below --out: findings and the fleet's tables, as Parquet and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kidx.pipeline.fleet import as_objects
from kidx.pipeline.results import FINDINGS, finding_row
from kidx.pipeline.store import Store

if TYPE_CHECKING:
    from kidx.pipeline.scan import Scanned


def write_results(out: str, scanned: Scanned, summary: Mapping[str, Any]) -> Store:
    """Write findings.parquet, a Parquet file for each table that has rows, and fleet.json with all tables."""
    store = Store(out)
    rows = [finding_row(f) for f in scanned.checked.findings]
    store.write_table("findings.parquet", pa.Table.from_pylist(rows, schema=FINDINGS))
    for name, table in scanned.fleet.tables.items():
        if table:
            store.write_table(f"{name}.parquet", _table(table))
        else:
            store.delete(f"{name}.parquet")  # an earlier scan's
    store.write_json(
        "fleet.json",
        {
            "schema": "kidx.fleet.v1",
            "summary": dict(summary),
            "scan": {
                "files": scanned.inventory.files,
                "bytes": scanned.inventory.bytes,
                "units": len(scanned.inventory.units),
                "units_read": scanned.units_read,
                "bytes_read": scanned.bytes_read,
            },
            **as_objects(scanned.fleet),
        },
    )
    return store


def _table(rows: list[dict[str, Any]]) -> pa.Table:
    """Rows as a table. A mapping of brokers to values becomes a list of pairs: brokers are not columns."""
    flat = [{k: _pairs(v) if isinstance(v, dict) else v for k, v in row.items()} for row in rows]
    return pa.Table.from_pylist(flat)


def _pairs(mapping: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"broker": broker, "value": value} for broker, value in mapping.items()]
