"""What is kept of runs below --out: tables in Parquet, partitioned by run, and what the next run takes over.

    units/run_date=2026-11-22/run_id=20261122T031500-1f2e3d4c/*.parquet     a row of results.RESULT for each unit
    findings/run_date=.../run_id=.../*.parquet                              and so for every table
    runs/RUN_ID.json                                                        the summary of a complete run; the last one
                                                                            is fleet.json, too
    journal/RUN_ID/*.parquet                                                what the tasks of an unfinished run found

Nothing of an earlier complete run is changed. A unit's row is valid for as long as its mark is the same (see listing),
with one exception: if a timestamp was in the future (KX311) and no longer is, the log is read again.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from kidx.checks.engine.partition import FUTURE_MS
from kidx.pipeline.frames import TaskFunction, frame_of, map_rows, parallelism, spark_schema
from kidx.pipeline.results import RESULT
from kidx.pipeline.store import Store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

UNITS, FINDINGS, _RUNS, _JOURNAL = "units", "findings", "runs", "journal"
_FILE = pa.schema([("name", pa.string())])
_WRITTEN = pa.schema([("name", pa.string()), ("rows", pa.int64())])
_ROWS_A_FILE = 1 << 20
_UNITS_A_FILE = 20_000


class Run(NamedTuple):
    """A run of a scan, by its id, which sorts by time, and the day it began (UTC)."""

    run_id: str
    run_date: str

    @classmethod
    def begun(cls, now_ms: int) -> Run:
        """A run that begins now."""
        moment = time.gmtime(now_ms // 1000)
        return cls(
            f"{time.strftime('%Y%m%dT%H%M%S', moment)}-{uuid.uuid4().hex[:8]}", time.strftime("%Y-%m-%d", moment)
        )

    def directory(self, table: str) -> str:
        """Where the run's part of a table is."""
        return f"{table}/run_date={self.run_date}/run_id={self.run_id}"


class Runs:
    """The runs in a store."""

    def __init__(self, store: Store) -> None:
        self.store = store
        names = store.names(_RUNS, ".json")
        summary = store.read_json(names[-1]) if names else None
        self.last = Run(summary["run_id"], summary["run_date"]) if summary else None

    def read(self, spark: SparkSession, table: str, schema: pa.Schema) -> DataFrame | None:
        """The last complete run's part of a table; None if there is none."""
        return None if self.last is None else self._files(spark, [self.last.directory(table)], schema)

    def known(self, spark: SparkSession, now_ms: int) -> DataFrame | None:
        """The rows of RESULT of the last run, and of unfinished ones since, that may still be valid."""
        from pyspark.sql import functions as f

        found = self._files(spark, [*([self.last.directory(UNITS)] if self.last else []), _JOURNAL], RESULT)
        if found is None:
            return None
        timestamp = "try_cast(get_json_object(x.found, '$.timestamp') as bigint)"
        near = f"x.rule = 'KX311' and coalesce({timestamp} <= {now_ms + FUTURE_MS}, true)"
        valid = found.where(f.size("unread") == 0).where(f.expr(f"not exists(findings, x -> {near})"))
        return valid.dropDuplicates(["key", "mark"])

    def _files(self, spark: SparkSession, directories: list[str], schema: pa.Schema) -> DataFrame | None:
        names = [name for directory in directories for name in self.store.names(directory)]
        if not names:
            return None
        tasks = min(len(names), 4 * parallelism(spark))
        files = frame_of(spark, [{"name": name} for name in names], _FILE, tasks)
        return map_rows(files, ReadFiles(self.store.root, schema))

    def journal(self, run: Run) -> Journal:
        """Where the tasks of a run note what they have found."""
        return Journal(self.store.root, f"{_JOURNAL}/{run.run_id}")

    def write(self, run: Run, tables: Mapping[str, tuple[DataFrame, pa.Schema]], units: int) -> None:
        """Write a run's part of the tables, in tasks. `units` is the size of the fleet: a small one needs few files."""
        files = 1 + units // _UNITS_A_FILE
        written = [
            frame.coalesce(files).mapInArrow(
                WriteFiles(self.store.root, run.directory(name), schema), spark_schema(_WRITTEN)
            )
            for name, (frame, schema) in tables.items()
        ]
        whole = written[0]
        for frame in written[1:]:
            whole = whole.unionByName(frame)
        whole.agg({"rows": "sum"}).collect()

    def finish(self, run: Run, summary: Mapping[str, Any]) -> None:
        """Make a run the last complete one. `summary` has its `run_id` and `run_date`."""
        self.store.write_json("fleet.json", summary)
        self.store.write_json(f"{_RUNS}/{run.run_id}.json", summary)
        self.store.delete_directory(_JOURNAL)


class Journal(NamedTuple):
    """A directory that tasks write their rows to. Picklable."""

    root: str
    directory: str

    def write(self, batch: pa.RecordBatch) -> None:
        """Write rows as one file. Raises Refused."""
        name = f"{self.directory}/{uuid.uuid4().hex}.parquet"
        Store(self.root).write_table(name, pa.Table.from_batches([batch]))


class ReadFiles(TaskFunction):
    """Reads Parquet files in tasks: names in, their rows out."""

    def __init__(self, root: str, schema: pa.Schema) -> None:
        super().__init__(schema)
        self.root = root

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        store = Store(self.root)
        for batch in batches:
            for name in batch.column("name").to_pylist():
                yield from store.batches(name, self.schema)


class WriteFiles:
    """Writes a DataFrame's rows in tasks, as files of up to _ROWS_A_FILE rows; a row for each file. Picklable."""

    def __init__(self, root: str, directory: str, schema: pa.Schema) -> None:
        self.root, self.directory, self.schema = root, directory, schema

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        store = Store(self.root)
        held: list[pa.RecordBatch] = []
        for batch in batches:
            held.append(batch)
            if sum(map(len, held)) >= _ROWS_A_FILE:
                yield self._written(store, held)
                held = []
        if any(map(len, held)):
            yield self._written(store, held)

    def _written(self, store: Store, held: list[pa.RecordBatch]) -> pa.RecordBatch:
        table = pa.Table.from_batches(held).select(self.schema.names).cast(self.schema)
        name = f"{self.directory}/{uuid.uuid4().hex}.parquet"
        store.write_table(name, table)
        return pa.RecordBatch.from_pylist([{"name": name, "rows": len(table)}], schema=_WRITTEN)
