"""SQL by DuckDB, embedded: over the tables of kidx.sql.relations and nothing else.

DuckDB may not open files, load extensions or see Python's variables: SQL comes from the user, but names and values come
from evidence. What does not fit in its memory is spilled to a directory of its own below the system's temporary one.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from kidx.errors import LimitExceeded, UsageError
from kidx.execution import usual_jobs

if TYPE_CHECKING:
    import pyarrow as pa

    from kidx.sql.outcome import Outcome

_MEMORY = "256MiB"
_ROWS = 10_000  # in a batch of the result
# Functions as Spark has them, so that a query runs in both.
_MACROS = """
CREATE MACRO length(x BLOB) AS octet_length(x), (x VARCHAR) AS len(x), (x) AS len(x);
CREATE MACRO timestamp_millis(ms) AS epoch_ms(CAST(ms AS BIGINT));
CREATE MACRO unix_millis(t) AS epoch_ms(CAST(t AS TIMESTAMP));
CREATE MACRO get_json_object(text, path) AS json_extract_string(text, path);
"""


@contextmanager
def duckdb_query(sql: str, paths: Sequence[str], outcome: Outcome) -> Iterator[pa.RecordBatchReader]:
    """The result of a query, as a stream of batches, for a `with` block. `outcome` collects what cannot be read.

    Raises UsageError for SQL that DuckDB refuses, and without the packages of kidx[sql].
    """
    try:
        import duckdb
        import pyarrow  # noqa: F401
    except ImportError as e:
        raise UsageError(f"kidx query needs {e.name}: install kidx[sql]") from None
    from kidx.pipeline.schemas import KINDS
    from kidx.sql.relations import Relation

    with tempfile.TemporaryDirectory(prefix="kidx-sql-") as scratch:
        connection = duckdb.connect(":memory:", config=_settings(scratch))
        try:
            for kind in KINDS:
                connection.register(kind, Relation(kind, paths, outcome))
            connection.execute(_MACROS)
            connection.execute("SET enable_external_access = false")
            connection.execute("SET lock_configuration = true")
            with _explained(duckdb, outcome):
                relation = connection.sql(sql)
                if relation is None:
                    raise UsageError("the SQL has no result; write a SELECT, or DESCRIBE")
                yield relation.to_arrow_reader(_ROWS)
        finally:
            connection.close()


def _settings(scratch: str) -> dict[str, Any]:
    return {
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "python_enable_replacements": "false",
        "temp_directory": scratch,
        "memory_limit": _MEMORY,
        "threads": str(usual_jobs()),
    }


@contextmanager
def _explained(duckdb: Any, outcome: Outcome) -> Iterator[None]:
    try:
        yield
    except duckdb.OutOfMemoryException as e:
        raise LimitExceeded(f"the query needs more memory than {_MEMORY}: {_first_line(e)}") from None
    except duckdb.Error as e:
        if outcome.failure is not None:
            raise outcome.failure from None
        raise UsageError(f"DuckDB refuses the query: {_first_line(e)}") from None


def _first_line(e: BaseException) -> str:
    return " ".join(str(e).split("\n\n")[0].split())
