"""The engines that run a query: DuckDB in this process, or Spark at a master."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from kidx.evidence import must_exist

if TYPE_CHECKING:
    import pyarrow as pa

    from kidx.sql.outcome import Outcome


def open_query(
    sql: str, paths: Sequence[str], outcome: Outcome, master: str | None = None
) -> AbstractContextManager[pa.RecordBatchReader]:
    """The result of a query as a stream of Arrow batches: in DuckDB, or in Spark at `master`.

    Raises CannotRead for a path where there is nothing, UsageError for SQL that the engine refuses.
    """
    for path in paths:
        must_exist(path)
    if master is None:
        from kidx.sql.duck import duckdb_query

        return duckdb_query(sql, paths, outcome)
    from kidx.pipeline.sql import spark_query

    return spark_query(sql, paths, master)
