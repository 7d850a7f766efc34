"""The data source and scans on a real session."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from kidx.checks.engine.options import Options
from kidx.checks.engine.run import check_all
from kidx.checks.engine.targets import targets_of
from kidx.errors import CannotRead, Refused
from kidx.pipeline import listing, scanning
from kidx.pipeline.fleet import TABLES
from kidx.pipeline.scanning import FINDINGS_TABLE, Scanned, scan
from kidx.pipeline.schemas import KINDS, schema_of
from kidx.pipeline.sources import register
from tests.damage import flip_byte
from tests.pipeline.support import SET, other_crc, units_of, writable
from tests.pipeline.test_pieces import rows_of

pytestmark = pytest.mark.spark
TXN = str(SET / "clean" / "txn-0")


@pytest.fixture(scope="module")
def reader(spark: Any) -> Any:
    register(spark)

    def read(kind: str, *paths: str, **options: str) -> Any:
        return spark.read.format("kidx").options(kind=kind, **options).load(list(paths) or [TXN])

    return read


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_gives_the_rows_of_its_pieces(reader: Any, kind: str) -> None:
    path = str(SET / "clean/__consumer_offsets-0") if kind == "decoded_records" else TXN
    frame = reader(kind, path)
    assert frame.columns == schema_of(kind).names
    rows = [row.asDict() for row in frame.collect()]
    for row in rows:
        row.update({name: bytes(v) for name, v in row.items() if isinstance(v, bytearray)})
    order = lambda row: repr(sorted((k, repr(v)) for k, v in row.items()))  # noqa: E731
    assert sorted(rows, key=order) == sorted(rows_of(kind, path), key=order) != []


def test_columns_several_paths_and_conditions(reader: Any) -> None:
    plain = str(SET / "clean" / "plain-0")
    everything = rows_of("records", TXN) + rows_of("records", plain)
    few = reader("records", TXN, plain, columns="topic, offset", partition_bytes="65536")
    assert few.columns == ["topic", "offset"] and few.count() == len(everything)
    wanted = sum(1 for row in everything if row["topic"] == "plain" and 50 <= row["offset"] < 90)
    asked = "topic = 'plain' and offset >= 50 and offset < 90"
    assert reader("records", TXN, plain, pushdown="true").where(asked).count() == wanted > 0
    assert reader("records", TXN, plain).where(asked).count() == wanted
    assert reader("records", TXN, plain, topic="plain", offset="50..89").count() == wanted
    assert reader("batches", TXN, topic="none").count() == 0


def test_what_cannot_be_read_fails_in_a_sentence_or_is_skipped(reader: Any, tmp_path: Path) -> None:
    (tmp_path / "t-0" / "00000000000000000000.index").mkdir(parents=True)
    (tmp_path / "t-0" / "00000000000000000005.index").write_bytes(bytes.fromhex("0000000100000010"))
    with pytest.raises(Exception, match="it is a directory, and a file is wanted"):
        reader("offset_index", str(tmp_path / "t-0")).collect()
    assert reader("offset_index", str(tmp_path / "t-0"), on_error="skip").count() == 1
    with pytest.raises(Exception, match="kind 'nothing': choose one of offset_index"):
        reader("nothing").collect()
    with pytest.raises(Exception, match="/nope: no such file or directory"):
        reader("batches", "/nope").collect()


def test_a_stream_is_refused_in_a_sentence(spark: Any, reader: Any) -> None:
    stream = spark.readStream.format("kidx").option("kind", "batches").load(TXN)
    with pytest.raises(Exception, match="it has no streaming reader"):
        stream.writeStream.format("noop").start().processAllAvailable()


def test_a_session_without_pyspark_python_runs_tasks_with_this_python(
    spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark.sparkContext, "pythonExec", "/nowhere/python3")
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    assert scanned(spark, SET / "fleet" / "broker-1").units_read > 4


def scanned(spark: Any, root: Path, out: Path | None = None, **options: Any) -> Scanned:
    return scan(spark, str(root), out=out and str(out), **options)


def test_a_scan_in_a_session_returns_frames_and_finds_what_verify_finds(spark: Any, tmp_path: Path) -> None:
    root = writable(SET / "fleet", tmp_path / "fleet")
    flip_byte(sorted((root / "broker-2").rglob("*.log"))[0], 200)
    found = scanned(spark, root)
    expected = check_all(targets_of([str(root)]), Options())
    checked = found.checked()
    assert [f for f in checked.findings if not f.rule.startswith("KX6")] == expected.findings != []
    assert checked.coverage == expected.coverage and checked.unread == expected.unread
    assert found.findings.columns == FINDINGS_TABLE.names
    assert {row.broker for row in found.findings.where("rule not like 'KX6%'").collect()} == {str(root / "broker-2")}
    for name, frame in found.tables.items():
        assert frame.columns == TABLES[name][1].names


def test_the_next_scan_reads_what_has_changed_and_says_what_is_new_fixed_and_persisting(
    spark: Any, tmp_path: Path
) -> None:
    root, out = writable(SET / "fleet", tmp_path / "fleet"), tmp_path / "out"

    def changes() -> tuple[int, dict[str, str]]:
        done = scanned(spark, root, out)
        rows = done.findings.collect() + done.fixed.collect()
        done.store({})
        return done.units_read, {Path(row.file).parent.parent.name: row.change for row in rows}

    def damage(broker: str) -> bytes:
        index = sorted((root / broker / "orders-0").glob("*.index"))[0]
        data = index.read_bytes()
        index.write_bytes(data + b"\1\2\3")
        return data

    whole = damage("broker-2")
    read, found = changes()
    assert read > 12 and found == {"broker-2": "new"}
    damage("broker-1")
    assert changes() == (1, {"broker-1": "new", "broker-2": "persisting"})
    sorted((root / "broker-2" / "orders-0").glob("*.index"))[0].write_bytes(whole)
    shutil.rmtree(root / "broker-1" / "orders-0")
    damage("broker-3")
    assert changes()[1] == {"broker-1": "gone", "broker-2": "fixed", "broker-3": "new"}
    assert len(list((out / "runs").iterdir())) == 3
    tables = {path.parent.parent.parent.name for path in out.glob("*/run_date=*/run_id=*/*.parquet")}
    assert {"units", "findings", "fixed_findings", "partitions", "brokers", "topics", "rules", "replicas"} <= tables
    schemas = {name: {str(pq.read_schema(p)) for p in out.glob(f"{name}/*/*/*.parquet")} for name in tables}
    assert {len(different) for different in schemas.values()} == {1}


def test_a_worker_that_dies_over_one_unit_loses_no_other(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from pyspark import cloudpickle

    from tests.pipeline import poison

    cloudpickle.register_pickle_by_value(poison)
    monkeypatch.setattr(scanning, "CheckUnits", poison.Poisoned)
    try:
        done = scanned(spark, SET / "fleet" / "broker-1").results.select("path", "unread").collect()
    finally:
        cloudpickle.unregister_pickle_by_value(poison)
    unread = {Path(row.path).name: row.unread for row in done}
    assert len(unread) == len(done) == len(units_of(SET / "fleet" / "broker-1"))
    assert "the process that checked it was killed twice" in unread.pop("payments-1")[0]
    assert not any(unread.values())


def test_what_fails_everywhere_is_one_sentence_at_once(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from pyspark import cloudpickle

    from tests.pipeline import poison

    cloudpickle.register_pickle_by_value(poison)
    monkeypatch.setattr(listing, "ListUnits", poison.Lacking)
    try:
        with pytest.raises(CannotRead, match=r"^Spark could not do it \(No module named 'fastcrc'\)$"):
            scanned(spark, SET / "fleet")
    finally:
        cloudpickle.unregister_pickle_by_value(poison)


def test_findings_are_appended_to_a_table_of_a_catalog(spark: Any, tmp_path: Path) -> None:
    root = writable(SET / "fleet" / "broker-1", tmp_path / "b")
    index = sorted((root / "orders-0").glob("*.index"))[0]
    index.write_bytes(index.read_bytes() + b"\1\2\3")
    try:
        runs = [scanned(spark, root) for _ in range(2)]
        for done in runs:
            done.append_to("kidx_findings")
        rows = spark.sql("select run_id, run_date, rule, file, change from kidx_findings").collect()
        assert {(row.run_id, str(row.run_date)) for row in rows} == {
            (done.run.run_id, done.run.run_date) for done in runs
        }
        assert {row.file for row in rows} == {str(index)} and {row.change for row in rows} == {"new"}
    finally:
        spark.sql("drop table if exists kidx_findings")


def test_the_place_for_results_is_tried_before_anything_is_listed(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Refused, match="could not be written"):
        scanned(spark, SET / "fleet", tmp_path / "file" / "out")


def test_the_first_divergence_is_found_in_tasks(spark: Any, tmp_path: Path) -> None:
    root = writable(SET / "fleet", tmp_path / "fleet")
    offset = other_crc(sorted((root / "broker-2" / "orders-1").glob("*.log"))[-1], -1)
    done = scanned(spark, root)
    rows = done.tables["replicas"].where("not agree").toArrow().to_pylist()
    assert [(row["topic"], row["partition"], row["diverges_at"]) for row in rows] == [("orders", 1, offset)]
    assert [r["broker"] for r in rows[0]["replicas"] if r["differs"]] == [str(root / "broker-2")]
    (found,) = done.findings.where("rule = 'KX601'").collect()
    assert (found.topic, found.partition, found.broker) == ("orders", 1, str(root / "broker-2"))
    counts = done.summary().counts()
    assert (counts["replicas"], counts["differing"]) == (4, 1)


def test_entries_are_written_by_tasks_with_a_table_of_the_files(spark: Any, tmp_path: Path) -> None:
    scanned(spark, Path(TXN), tmp_path, entries=True).store({})
    files = pq.read_table(tmp_path / "entry_files").to_pylist()
    expected = {kind: rows_of(kind, TXN) for kind in ("offset_index", "time_index", "transaction_index")}
    for kind, rows in expected.items():
        own = [row for row in files if row["kind"] == kind]
        assert sum(row["rows"] for row in own) == len(rows) > 0
        written = [row for f in own for row in pq.read_table(tmp_path / f["parquet"]).to_pylist()]
        assert sorted(written, key=repr) == sorted(rows, key=repr)
    assert len(list((tmp_path / "entries").rglob("*.parquet"))) == len(files)


def test_entries_of_changed_directories_are_written_anew_and_of_those_gone_deleted(spark: Any, tmp_path: Path) -> None:
    root, out = writable(SET / "fleet" / "broker-1", tmp_path / "b"), tmp_path / "out"

    def written() -> dict[str, int]:
        """Parquet files by the directory and name of their index, with the moment of writing."""
        done = scanned(spark, root, out, entries=True)
        done.store({})
        rows = pq.read_table(out / done.run.directory("entry_files")).to_pylist()
        assert {str(p.relative_to(out)) for p in (out / "entries").rglob("*.parquet")} == {r["parquet"] for r in rows}
        return {str(Path(r["file"]).relative_to(root)): (out / r["parquet"]).stat().st_mtime_ns for r in rows}

    before = written()
    index = next((root / "orders-0").glob("*.index"))
    index.write_bytes(index.read_bytes() + bytes(8))
    shutil.rmtree(root / "payments-0")
    after = written()
    assert {name for name in before if name.startswith("payments-0")} == before.keys() - after.keys() != set()
    changed = {name for name in after if after[name] != before[name]}
    assert changed == {name for name in after if name.startswith("orders-0")} != after.keys()
    assert written() == after
