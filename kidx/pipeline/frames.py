"""Rows and DataFrames: sending rows to tasks, functions that tasks run, and text that Arrow can hold."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Row = dict[str, Any]
_ROWS_A_BATCH = 256
_ESCAPED = "\0"


class TaskFunction:
    """A function for mapInArrow: rows in, rows of `schema` out. Picklable, as its attributes are."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        held: list[Row] = []
        for row in self.rows(row for batch in batches for row in batch.to_pylist()):
            held.append(row)
            if len(held) >= _ROWS_A_BATCH:
                yield self.batch(held)
                held = []
        if held:
            yield self.batch(held)

    def rows(self, sent: Iterator[Row]) -> Iterator[Row]:
        """The rows for those that were sent."""
        raise NotImplementedError

    def batch(self, rows: Sequence[Row]) -> pa.RecordBatch:
        """Rows as one Arrow batch."""
        return pa.RecordBatch.from_pylist(list(rows), schema=self.schema)


def map_rows(frame: DataFrame, function: TaskFunction) -> DataFrame:
    """The rows that a function makes of a DataFrame's, partition by partition."""
    return frame.mapInArrow(function, spark_schema(function.schema))


def frame_of(spark: SparkSession, rows: Iterable[Row], schema: pa.Schema, tasks: int = 0) -> DataFrame:
    """Rows as a DataFrame. With `tasks`, they are dealt out to as many partitions."""
    table = pa.Table.from_pylist(list(rows), schema=schema)
    if not tasks:
        return spark.createDataFrame(table)
    group = pa.array([number % tasks for number in range(len(table))], pa.int32())
    return spark.createDataFrame(table.append_column("group", group)).repartitionById(tasks, "group").drop("group")


def kept(frame: DataFrame) -> DataFrame:
    """The DataFrame, whose rows are kept on the executors' disks once they have been computed."""
    from pyspark import StorageLevel

    return frame.persist(StorageLevel.DISK_ONLY)


def parallelism(spark: SparkSession) -> int:
    """How many tasks the session runs at once, or is configured to; Spark Connect does not say."""
    try:
        return max(1, int(spark.sparkContext.defaultParallelism))
    except Exception:
        return max(1, int(spark.conf.get("spark.default.parallelism", "8") or 8))


def spark_schema(schema: pa.Schema) -> Any:
    """An Arrow schema as Spark's StructType."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(schema)


def to_arrow_text(text: str) -> str:
    """Text that Arrow can store as UTF-8. Undecodable bytes of a path are lone surrogates, which UTF-8 has not."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return _ESCAPED + text.encode("unicode_escape").decode("ascii")
    # A path has no NUL, but a unit's key has, and begins with one for files of the working directory.
    return _ESCAPED + text.encode("unicode_escape").decode("ascii") if text.startswith(_ESCAPED) else text


def from_arrow_text(text: str) -> str:
    """The text that `to_arrow_text` was given."""
    return text[1:].encode("ascii").decode("unicode_escape") if text.startswith(_ESCAPED) else text


def reason(e: BaseException) -> str:
    """The cause in a Spark error: the most informative line, no stack frame, at most 160 characters."""
    lines = [line.strip() for line in str(e).splitlines()]
    lines = [line for line in lines if line and not line.startswith(("at ", "File ", "Traceback", "...", "raise "))]
    for words in _CAUSES:
        for line in lines:
            if any(word in line for word in words):
                start = min(line.find(word) for word in words if word in line)
                return line[start:][:160]
    python = [line for line in lines if re.match(r"[A-Za-z_.]+(Error|Exception): ", line)]
    return (python or lines or [type(e).__name__])[-1 if python else 0][:160]


# The worst first. A missing package shows as Python's own sentence, a missing Python as the system's.
_CAUSES: tuple[tuple[str, ...], ...] = (
    ("No module named", "Cannot run program", "PYTHON_VERSION_MISMATCH"),
    ("OutOfMemoryError", "MemoryError", "Container killed", "exited unexpectedly", "ExecutorLostFailure"),
)
