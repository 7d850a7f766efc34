"""What earlier scans found, unit by unit: a scan reads only what has changed, and goes on where one was broken off.

`manifest/` below --out holds Parquet files of results.RESULT: one a finished wave while a scan runs, one in all when
it is through. A unit's row is good as long as its mark is the same (see inventory.Unit), with one exception: where a
timestamp was in the future (KX311) and is so no more, the log is read again. Time makes no new ones.
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
        """The rows that still hold, by unit key. What could not be read then is not taken over: it is tried again."""
        marks = {unit.key: unit.mark for unit in units}
        rows: dict[str, Row] = {}
        tables = self._store.tables(_DIRECTORY)
        self._files = list(tables)
        for table in tables.values():
            if table.schema.names != RESULT.names:  # another version of kidx
                continue
            for row in table.to_pylist():
                key = key_of(row)
                if marks.get(key) == row["mark"] and not row["unread"] and not _overtaken(row, now_ms):
                    rows[key] = row
        return rows

    def keep(self, rows: Sequence[Row]) -> None:
        """Keep what a wave found."""
        name = f"{time.time_ns():020d}-{uuid.uuid4().hex[:8]}.parquet"
        self._store.write_table(f"{_DIRECTORY}/{name}", pa.Table.from_pylist(list(rows), schema=RESULT))
        self._files.append(name)

    def finish(self, rows: Mapping[str, Row]) -> None:
        """Put everything into one file; units that are gone from the fleet are forgotten."""
        before = list(self._files)
        self.keep(list(rows.values()))
        for name in before:
            self._store.delete(f"{_DIRECTORY}/{name}")


def _overtaken(row: Row, now_ms: int) -> bool:
    """Whether a timestamp that was in the future is so no more. Of several in a log, the first one is told."""
    future = (json.loads(f["found"]) for f in row["findings"] if f["rule"] == "KX311")
    return any(timestamp <= now_ms + FUTURE_MS for timestamp in future)
