"""The same SQL in Spark: each kind of the data source is a view."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from kidx.errors import UsageError
from kidx.evidence import absolute

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

# As in DuckDB: "offset" in double quotes is a name, and times are UTC.
SETTINGS = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.ansi.doubleQuotedIdentifiers": "true",
    "spark.sql.session.timeZone": "UTC",
}


@contextmanager
def spark_query(sql: str, paths: Sequence[str], master: str) -> Iterator[pa.RecordBatchReader]:
    """The result of a query, for a `with` block. Raises UsageError for SQL that Spark refuses."""
    from kidx.pipeline.session import need_spark, spark_session

    need_spark()
    import pyarrow as pa

    from kidx.pipeline.sources import register

    with spark_session(master, SETTINGS) as spark:
        register(spark)
        create_views(spark, paths)
        try:
            table: Any = spark.sql(sql).toArrow()
        except _spark_errors() as e:
            raise UsageError(f"Spark refuses the query: {str(e).splitlines()[0]}") from None
        yield pa.RecordBatchReader.from_batches(table.schema, table.to_batches())


def create_views(spark: SparkSession, paths: Sequence[str]) -> None:
    """Make each kind a temporary view of a session, over these paths."""
    from kidx.pipeline.schemas import KINDS

    given = json.dumps([absolute(path) for path in paths])
    for kind in KINDS:
        reader = spark.read.format("kidx").option("kind", kind).option("paths", given).option("pushdown", "true")
        reader.load().createOrReplaceTempView(kind)


def _spark_errors() -> tuple[type[Exception], ...]:
    from pyspark.errors import AnalysisException, ParseException

    return AnalysisException, ParseException
