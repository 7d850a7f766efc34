"""The results of earlier scans by unit. A scan reads only what has changed, and continues an interrupted scan.

`manifest/` below --out holds Parquet files of results.RESULT: one for each finished wave while a scan runs, a single
one at its end. A unit's row is valid as long as its mark is the same (see inventory.Unit), with one exception: if a
timestamp was in the future (KX311) and no longer is, the log is read again.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa

from kidx.checks.engine.partition import FUTURE_MS
from kidx.pipeline.inventory import Unit
from kidx.pipeline.results import RESULT, Row, key_of
from kidx.pipeline.store import Store

_DIRECTORY = "manifest"


class Manifest:
    """The rows of earlier scans in a store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._files: list[str] = []

    def known(self, units: Iterable[Unit], now_ms: int) -> dict[str, Row]:
        """The rows that are still valid, by unit key. Units that could not be read are tried again."""
        marks = {unit.key: unit.mark for unit in units}
        rows: dict[str, Row] = {}
        tables = self._store.tables(_DIRECTORY)
        self._files = list(tables)
        for table in tables.values():
            if not table.schema.equals(RESULT):  # of another version of kidx, or damaged
                continue
            for row in table.to_pylist():
                key = key_of(row)
                if marks.get(key) == row["mark"] and not row["unread"] and not _future_has_passed(row, now_ms):
                    rows[key] = row
        return rows

    def keep(self, rows: Sequence[Row]) -> None:
        """Write the rows of a wave."""
        name = f"{time.time_ns():020d}-{uuid.uuid4().hex[:8]}.parquet"
        self._store.write_table(f"{_DIRECTORY}/{name}", pa.Table.from_pylist(list(rows), schema=RESULT))
        self._files.append(name)

    def finish(self, rows: Mapping[str, Row]) -> None:
        """Replace all files by one with these rows. Units that are gone from the fleet are dropped."""
        before = list(self._files)
        self.keep(list(rows.values()))
        for name in before:
            self._store.delete(f"{_DIRECTORY}/{name}")


def _future_has_passed(row: Row, now_ms: int) -> bool:
    """Whether a timestamp that was in the future no longer is, or is unknown. A finding has the first one of a log."""
    future = (f["found"] for f in row["findings"] if f["rule"] == "KX311")
    try:
        return any(json.loads(found)["timestamp"] <= now_ms + FUTURE_MS for found in future)
    except (ValueError, TypeError, KeyError):
        return True
