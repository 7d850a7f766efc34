"""The same SQL gives the same rows in Spark and in DuckDB: the questions of docs/how-to/sql.md, and every table."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import pytest

from kidx.pipeline.schemas import KINDS
from tests.support import KAFKA_SETS, OWN_FIXTURES

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(not find_spec("duckdb"), reason="needs the extra: pip install 'kidx[sql]'"),
]
PAGE = OWN_FIXTURES.parent / "docs/how-to/sql.md"
QUERY = re.compile(r'^\$ kidx query "(.*?)" (data|fixtures/\S+)$', re.MULTILINE | re.DOTALL)


def questions() -> list[tuple[str, str]]:
    """The SQL of each question as the shell passes it on, and the path."""
    text = PAGE.read_text().replace("\\\n", "")
    return [(sql.replace('\\"', '"').replace("\\$", "$"), path) for sql, path in QUERY.findall(text)]


@pytest.fixture(scope="module")
def session(spark: Any) -> Iterator[Any]:
    from kidx.pipeline.sources import register
    from kidx.pipeline.sql import SETTINGS

    before = {name: spark.conf.get(name) for name in SETTINGS}
    register(spark)
    for name, value in SETTINGS.items():
        spark.conf.set(name, value)
    yield spark
    for name, value in before.items():
        spark.conf.set(name, value)


def in_both(session: Any, sql: str, paths: list[str]) -> tuple[list[list[Any]], list[list[Any]]]:
    from kidx.pipeline.sql import create_views
    from kidx.sql.engines import open_query
    from kidx.sql.outcome import Outcome
    from kidx.sql.result import result_table
    from kidx.tables.table import Notes

    create_views(session, paths)
    table = session.sql(sql).toArrow()
    by_spark = [list(row) for row in result_table(table.schema, table.to_batches(), Notes()).rows]
    with open_query(sql, paths, Outcome()) as result:
        return by_spark, [list(row) for row in result_table(result.schema, result, Notes()).rows]


def test_the_page_has_ten_questions() -> None:
    assert len(questions()) == 10


@pytest.mark.parametrize("number", range(10))
def test_a_question_has_one_answer(session: Any, number: int) -> None:
    sql, path = questions()[number]
    root = KAFKA_SETS[0] / "clean" if path == "data" else OWN_FIXTURES.parent / path
    by_spark, by_duckdb = in_both(session, sql, [str(root)])
    assert [[_time(v) for v in row] for row in by_spark] == [[_time(v) for v in row] for row in by_duckdb]


def _time(value: Any) -> Any:
    """Spark's timestamps have a time zone, DuckDB's have none; both are UTC."""
    return value.removesuffix("+00:00") if isinstance(value, str) else value


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_has_the_same_rows(session: Any, kind: str) -> None:
    roots = [str(fixture_set / "clean") for fixture_set in KAFKA_SETS]
    by_spark, by_duckdb = in_both(session, f"SELECT * FROM {kind}", roots)
    assert sorted(map(repr, by_spark)) == sorted(map(repr, by_duckdb))
    assert by_spark or kind == "findings"
