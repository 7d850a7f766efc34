"""The data source, the waves and the comparison on a real session."""

from __future__ import annotations

import shutil
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from kidx.checks.engine.options import Options
from kidx.checks.engine.partition import check_target
from kidx.logdir.tree import Partition
from kidx.pipeline import scan as scanning
from kidx.pipeline import waves
from kidx.pipeline.index_entries import write_entries
from kidx.pipeline.inventory import discover
from kidx.pipeline.replica_comparison import compare_replicas
from kidx.pipeline.replicas import bucket_sums
from kidx.pipeline.results import checked_of, key_of
from kidx.pipeline.schemas import KINDS, schema_of
from kidx.pipeline.sources import register
from tests.pipeline.support import SET, other_crc, writable
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


def test_waves_find_what_the_checks_find(spark: Any) -> None:
    units = discover([str(SET / "fleet"), str(SET / "unclean")], Options()).units
    planned = waves.plan(units, 1)
    found = {key_of(row): row for _, rows in waves.run_waves(spark, planned, Options()) for row in rows}
    assert set(found) == {unit.key for unit in units}
    for unit in units:
        direct = check_target(unit.target, Options())
        assert checked_of(found[unit.key]).findings == direct.findings


def test_a_second_scan_reads_what_has_changed(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = writable(SET / "fleet", tmp_path / "fleet")
    settings = scanning.Settings(out=str(tmp_path / "out"))
    sessions = []

    def session(*_: object) -> Any:
        sessions.append(spark)
        return nullcontext(spark)

    def scan() -> scanning.Scanned:
        return scanning.scan([str(root)], Options(), settings, lambda *_: None)

    monkeypatch.setattr(scanning, "spark_session", session)
    first = scan()
    assert first.units_read == len(first.inventory.units) and len(sessions) == 1
    index = sorted((root / "broker-2" / "orders-0").glob("*.index"))[0]
    index.write_bytes(index.read_bytes() + b"\1\2\3")
    second = scan()
    assert second.units_read == 1 and len(sessions) == 2
    assert {f.file for f in second.checked.findings} - {f.file for f in first.checked.findings} == {str(index)}
    third = scan()
    assert third.units_read == 0 and len(sessions) == 2  # nothing to do: no Spark
    assert third.checked.findings == second.checked.findings


def test_a_worker_that_dies_over_one_unit_loses_no_other(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from pyspark import cloudpickle

    from tests.pipeline import poison

    cloudpickle.register_pickle_by_value(poison)
    monkeypatch.setattr(waves, "CheckUnits", poison.Poisoned)
    units = discover([str(SET / "fleet" / "broker-1")], Options()).units
    try:
        done = [r for _, rows in waves.run_waves(spark, waves.plan(units, 1), Options()) for r in rows]
    finally:
        cloudpickle.unregister_pickle_by_value(poison)
    unread = {Path(key_of(row)).name: row["unread"] for row in done}
    assert len(done) == len(units)
    assert "the process that checked it failed twice" in unread.pop("payments-1")[0]
    assert not any(unread.values())


def test_the_first_divergence_is_found_in_tasks(spark: Any, tmp_path: Path) -> None:
    root = writable(SET / "fleet", tmp_path / "fleet")
    offset = other_crc(sorted((root / "broker-2" / "orders-1").glob("*.log"))[-1], -1)
    directories = [str(root / f"broker-{n}" / t) for n in (1, 2, 3) for t in ("orders-0", "orders-1")]
    rows = compare_replicas({d: bucket_sums(Partition(d)) for d in directories}, lambda: spark)
    assert [row["agree"] for row in rows] == [True, False]
    assert rows[1]["diverges_at"] == offset and rows[1]["differing"] == [str(root / "broker-2")]


def test_entries_are_written_by_tasks_with_a_manifest(spark: Any, tmp_path: Path) -> None:
    units = discover([TXN], Options()).units
    write_entries(lambda: spark, units, str(tmp_path))
    manifest = pq.read_table(tmp_path / "entries.parquet").to_pylist()
    expected = {kind: rows_of(kind, TXN) for kind in ("offset_index", "time_index", "transaction_index")}
    for kind, rows in expected.items():
        files = [row for row in manifest if row["kind"] == kind]
        assert sum(row["rows"] for row in files) == len(rows) > 0
        written = [row for f in files for row in pq.read_table(tmp_path / f["parquet"]).to_pylist()]
        assert sorted(written, key=repr) == sorted(rows, key=repr)
    assert len(list((tmp_path / "entries").rglob("*.parquet"))) == len(manifest)


def test_entries_of_changed_directories_are_written_anew_and_of_those_gone_deleted(spark: Any, tmp_path: Path) -> None:
    root, out = writable(SET / "fleet" / "broker-1", tmp_path / "b"), tmp_path / "out"

    def written() -> dict[str, int]:
        """Parquet files by the directory and name of their index, with the moment of writing."""
        write_entries(lambda: spark, discover([str(root)], Options()).units, str(out))
        rows = pq.read_table(out / "entries.parquet").to_pylist()
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
