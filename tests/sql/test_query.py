"""`kidx query`: the tables, what a condition keeps from being read, output, damage, and what SQL may not do."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from kidx.evidence import Evidence
from kidx.pipeline.filters import Conditions
from kidx.pipeline.piece_batches import read_piece
from kidx.pipeline.pieces import find_pieces
from kidx.pipeline.schemas import KINDS, schema_of
from kidx.sql.engines import open_query
from kidx.sql.outcome import Outcome
from kidx.sql.pushdown import Filter
from tests.damage import flip_byte
from tests.support import KAFKA_SETS, kidx, kidx_here

CLEAN = KAFKA_SETS[0] / "clean"


def rows(sql: str, *paths: Path) -> list[dict[str, Any]]:
    with open_query(sql, [str(path) for path in paths], Outcome()) as result:
        return [row for batch in result for row in batch.to_pylist()]


@pytest.mark.parametrize("kind", KINDS)
def test_every_table_has_the_rows_of_the_data_source(kind: str) -> None:
    pieces = find_pieces(kind, [str(CLEAN)], Conditions(), 1 << 40)
    batches = [batch for piece in pieces for batch in read_piece(kind, piece, Conditions(), schema_of(kind))]
    want = pa.Table.from_batches(batches, schema_of(kind)).to_pylist()
    assert rows(f"SELECT * FROM {kind}", CLEAN) == want


@pytest.mark.parametrize(
    "condition",
    [
        '"offset" BETWEEN 100 AND 120',
        '"offset" >= 200',
        "topic = 'plain' AND \"offset\" < 10",
        "topic IN ('plain', 'times')",
        "partition = 2 OR topic = 'txn'",
        "producer_id = 6",
        "producer_id <> 6 AND timestamp >= 1700018137162",
        "timestamp BETWEEN 1700018137162 AND 1700018137500",
        "timestamp IS NULL OR timestamp > 1700018137500",
        "segment = 113",
        'control_type IS NULL AND "offset" IN (1, 5, 90)',
        '"offset" < 0',
        "key = 'key-736'::BLOB",
        'NOT ("offset" > 3)',
    ],
)
def test_conditions_that_are_pushed_down_change_no_result(condition: str) -> None:
    select = 'SELECT topic, partition, "offset"'
    want = rows(f"{select} FROM (SELECT * FROM records ORDER BY random()) WHERE {condition}", CLEAN)
    got = rows(f"{select} FROM records WHERE {condition}", CLEAN)
    assert sorted(got, key=repr) == sorted(want, key=repr)


def read_bytes(monkeypatch: pytest.MonkeyPatch, sql: str, path: Path) -> int:
    """Bytes of logs that a query reads."""
    counted = 0
    read, read_into = Evidence.read, Evidence.read_into

    def counting(self: Evidence, position: int, length: int) -> bytes:
        nonlocal counted
        data = read(self, position, length)
        counted += len(data) if self.path.endswith(".log") else 0
        return data

    def counting_into(self: Evidence, position: int, buffer: memoryview) -> int:
        nonlocal counted
        came = read_into(self, position, buffer)
        counted += came if self.path.endswith(".log") else 0
        return came

    monkeypatch.setattr(Evidence, "read", counting)
    monkeypatch.setattr(Evidence, "read_into", counting_into)
    rows(sql, path)
    monkeypatch.undo()
    return counted


def test_a_condition_on_offsets_reads_only_what_the_index_names(monkeypatch: pytest.MonkeyPatch) -> None:
    size = (CLEAN / "pages14-0/00000000000000000000.log").stat().st_size
    everything = read_bytes(monkeypatch, "SELECT count(*) FROM records", CLEAN / "pages14-0")
    part = read_bytes(monkeypatch, 'SELECT count(*) FROM records WHERE "offset" = 7000', CLEAN / "pages14-0")
    other = read_bytes(monkeypatch, "SELECT count(*) FROM records WHERE topic = 'other'", CLEAN / "pages14-0")
    assert everything >= size
    assert part < size / 20
    assert other == 0


def test_bounds_of_expressions() -> None:
    schema = pa.schema([("offset", pa.int64()), ("topic", pa.string())])
    offset, topic = ds.field("offset"), ds.field("topic")
    assert Filter((offset >= 5) & (offset < 10), schema).bounds("offset") == (5, 9)
    assert Filter((offset == 5) | (topic == "a"), schema).bounds("offset") is None
    assert Filter(offset.is_null() | (offset > 3), schema).bounds("offset") is None
    assert Filter(topic == "a", schema).bounds("offset") is None
    assert Filter(offset.isin([7, 9]), schema).bounds("offset") == (7, 9)
    low, high = Filter((offset > 5) & (offset < 3), schema).bounds("offset") or (0, 0)
    assert low > high


def test_damage_is_reported_and_its_records_are_left_out(tmp_path: Path) -> None:
    directory = Path(shutil.copytree(CLEAN / "plain-0", tmp_path / "plain-0"))
    log = max(directory.glob("*.log"), key=lambda path: path.stat().st_size)
    flip_byte(log, log.stat().st_size // 2)
    ran = kidx_here("query", "SELECT count(*) AS n FROM records", directory, "--format", "jsonl")
    exported = kidx_here("export", "--control", directory)
    assert (ran.status, ran.rows[0]["n"]) == (1, len(exported.rows))
    assert b"damaged" in ran.err


def test_output_to_a_file(tmp_path: Path) -> None:
    sql = 'SELECT topic, "offset", key FROM records'
    for suffix in ("parquet", "csv", "jsonl", "arrow"):
        assert kidx_here("query", sql, CLEAN / "plain-0", "--output", tmp_path / f"rows.{suffix}").status == 0
    table = pq.read_table(tmp_path / "rows.parquet")
    assert (table.num_rows, table.column_names) == (281, ["topic", "offset", "key"])
    assert len((tmp_path / "rows.csv").read_text().splitlines()) == 282
    for bad in ("rows.txt", "rows.csv"):
        assert kidx_here("query", sql, CLEAN / "plain-0", "--output", tmp_path / bad).status == 2


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM '/etc/passwd'",
        "SELECT * FROM glob('/etc/*')",
        "COPY (SELECT 1) TO 'x.csv'",
        "ATTACH 'x.db'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "SELECT * FROM outcome",
        "SELECT nothing FROM records",
        "SELECT",
    ],
)
def test_what_sql_may_not_do(sql: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ran = kidx_here("query", sql, CLEAN / "plain-0")
    assert (ran.status, ran.out) == (2, b""), ran.out
    assert ran.err.startswith(b"kidx: DuckDB refuses the query: "), ran.err
    assert list(tmp_path.iterdir()) == []


def test_a_process_says_nothing_but_its_answer(tmp_path: Path) -> None:
    ran = kidx("query", "SELECT count(*) AS n FROM batches", CLEAN / "plain-0", "--format", "jsonl")
    assert (ran.status, ran.err, len(ran.rows)) == (0, b"", 1)
    failed = kidx("query", "SELECT x FROM batches", CLEAN / "plain-0")
    assert (failed.status, len(failed.err.splitlines())) == (2, 1), failed.err


def test_types_of_sql_become_json() -> None:
    sql = (
        "SELECT 1::HUGEINT AS a, 0.5 AS b, 'NaN'::DOUBLE AS c, DATE '2026-01-31' AS d, [1, 2] AS e, "
        "{'x': '\\xff'::BLOB} AS f, '\\xff'::BLOB AS g, NULL AS h, 2 AS a"
    )
    (row,) = kidx_here("query", sql, CLEAN / "plain-0", "--format", "jsonl").rows
    assert row == {
        "schema": "kidx.query.v1",
        "a": 1,
        "b": 0.5,
        "c": None,
        "d": "2026-01-31",
        "e": [1, 2],
        "f": {"x": "ff"},
        "g": "ff",
        "h": None,
        "a_1": 2,
    }


def test_names_of_any_bytes_and_paths_without_files(tmp_path: Path) -> None:
    for number, name in enumerate((b"bad\xff", b"q'uo\"te\n")):
        shutil.copytree(CLEAN / "plain-0", tmp_path / f"{os.fsdecode(name)}-{number}")
    for sql in (
        "SELECT topic, count(*) FROM records GROUP BY topic",
        "SELECT * FROM segments",
        "SELECT * FROM batches",
    ):
        ran = kidx_here("query", sql, tmp_path, "--format", "jsonl")
        assert (ran.status, ran.err) == (0, b"")
        assert {row["topic"][:3] for row in ran.rows} == {"bad", "q'u"}
    assert kidx_here("query", "SELECT 1", tmp_path / "nowhere").status == 3
