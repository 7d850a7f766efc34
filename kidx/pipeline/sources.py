"""Spark's data source "kidx": entries, batches, records, segments and findings as DataFrames.

    from kidx.pipeline.sources import register
    register(spark)
    spark.read.format("kidx").option("kind", "offset_index").load("/mnt/brokers/*/data")

Options: `kind` (schemas.KINDS); `columns`, a comma list (Spark does not pass the columns of a query to a Python
source); `partition_bytes` (64 MiB); `on_error` (fail, or skip what cannot be read). Conditions: `topic` and `partition`
(comma lists), `segment`, `base_offset`, `offset`, `timestamp`, `max_timestamp` (a number, or LEAST..MOST). `pushdown`
(true) uses the conditions of the query, too; see PushdownReader.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from kidx.errors import KidxError, UsageError
from kidx.evidence import absolute, must_exist
from kidx.logdir.tree import expand
from kidx.pipeline.filters import Conditions, conditions_from, take
from kidx.pipeline.frames import spark_schema
from kidx.pipeline.piece_batches import read_piece
from kidx.pipeline.pieces import GROUP_BYTES, Piece, find_pieces, packed
from kidx.pipeline.schemas import schema_of
from kidx.pipeline.shipping import ship

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

_PUSHDOWN = "spark.sql.python.filterPushdown.enabled"


def register(spark: SparkSession) -> None:
    """Register format("kidx") with a session, send kidx to its executors, and enable filter pushdown."""
    ship(spark)
    spark.conf.set(_PUSHDOWN, "true")
    spark.dataSource.register(KidxDataSource)


class KidxDataSource(DataSource):
    """The data source "kidx". It is read-only."""

    @classmethod
    def name(cls) -> str:
        return "kidx"

    def schema(self) -> StructType:
        return spark_schema(self._arrow_schema())  # type: ignore[no-any-return]

    def reader(self, schema: StructType) -> DataSourceReader:
        pushed = self._option("pushdown", "false", ("true", "false")) == "true"
        kind = PushdownReader if pushed else KidxReader
        skip = self._option("on_error", "fail", ("fail", "skip")) == "skip"
        conditions = conditions_from(self.options, schema_of(self._kind()).names)
        return kind(self._kind(), self._paths(), self._arrow_schema(), conditions, self._partition_bytes(), skip)

    def streamReader(self, schema: StructType) -> Any:  # noqa: N802 (Spark's name)
        raise UsageError('format("kidx") reads files that are there; it has no streaming reader, use spark.read')

    def _kind(self) -> str:
        kind = self.options.get("kind")
        if kind is None:
            raise UsageError('format("kidx") needs an option "kind"')
        return str(kind)

    def _arrow_schema(self) -> pa.Schema:
        columns = self.options.get("columns")
        return schema_of(self._kind(), [c.strip() for c in columns.split(",")] if columns else None)

    def _paths(self) -> list[str]:
        given = json.loads(self.options["paths"]) if "paths" in self.options else [self.options.get("path")]
        if not given or given[0] is None:
            raise UsageError('format("kidx") needs a path: load("/mnt/brokers")')
        return [absolute(str(path)) for path in given]

    def _partition_bytes(self) -> int:
        given = self.options.get("partition_bytes", str(GROUP_BYTES))
        if not given.isdigit() or int(given) < 1 << 16:
            raise UsageError(f"partition_bytes {given}: give a number of bytes, at least 65536")
        return int(given)

    def _option(self, name: str, default: str, allowed: tuple[str, ...]) -> str:
        value = str(self.options.get(name, default)).lower()
        if value not in allowed:
            raise UsageError(f"{name} {value}: give {' or '.join(allowed)}")
        return value


class KidxReader(DataSourceReader):
    """Reads the rows that the options select. Spark applies a query's own conditions to them."""

    def __init__(
        self,
        kind: str,
        paths: Sequence[str],
        schema: pa.Schema,
        conditions: Conditions,
        partition_bytes: int,
        skip_unreadable: bool,
    ) -> None:
        self.kind, self.paths, self.schema, self.conditions = kind, paths, schema, conditions
        self.partition_bytes, self.skip_unreadable = partition_bytes, skip_unreadable

    def partitions(self) -> Sequence[InputPartition]:
        paths = list(expand(self.paths))
        for path in paths:
            must_exist(path)
        pieces = find_pieces(self.kind, paths, self.conditions, self.partition_bytes)
        groups = packed(pieces, self.partition_bytes)
        # Spark would make InputPartition(None) of an empty list.
        return [InputPartition(group) for group in groups] or [InputPartition([])]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        pieces: list[Piece] = partition.value
        empty = True
        for piece in pieces:
            try:
                for batch in read_piece(self.kind, piece, self.conditions, self.schema):
                    empty = False
                    yield batch
            except KidxError:
                if not self.skip_unreadable:
                    raise
        if empty:
            yield pa.RecordBatch.from_pylist([], schema=self.schema)


class PushdownReader(KidxReader):
    """Also skips what the query's conditions exclude. A separate class: Spark refuses pushFilters unless it is enabled.

    Spark 4.3 reuses the filters of one query for the next one over the SAME DataFrame, if that has no conditions
    (PythonScanBuilder stores them in the shared source). So load a DataFrame for each query, or use the options.
    """

    def pushFilters(self, filters: list[Any]) -> Iterable[Any]:  # noqa: N802 (Spark's name)
        return take(self.conditions, filters)
