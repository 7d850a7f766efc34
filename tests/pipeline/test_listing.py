"""What is found by listing, in tasks, and what shows that it has changed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from kidx.checks.engine.options import Options
from kidx.checks.engine.targets import Target, targets_of
from kidx.pipeline.listing import list_units
from kidx.pipeline.places import Place, place_of
from tests.pipeline.support import SET, units_of, writable


def listed(spark: Any, *paths: str | Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = list_units(spark, map(str, paths), Options()).units.toArrow().to_pylist()
    return sorted(rows, key=lambda row: str(row["key"]))


@pytest.mark.spark
def test_units_are_directories_with_their_bytes(spark: Any) -> None:
    found = list_units(spark, [str(SET / "fleet")], Options())
    rows = found.units.toArrow().to_pylist()
    units = {os.path.relpath(row["path"], SET / "fleet"): row for row in rows}
    assert {"broker-2", "broker-1/orders-0", "broker-3/payments-1"} <= units.keys() and found.number == len(rows)
    assert found.bytes == sum(row["bytes"] for row in rows) and found.files == sum(row["files"] for row in rows)
    files = [f for f in (SET / "fleet" / "broker-1" / "orders-0").iterdir() if f.suffix in (".index", ".log")]
    unit = units["broker-1/orders-0"]
    assert unit["bytes"] >= sum(f.stat().st_size for f in files) and unit["files"] >= len(files)
    assert unit["compared"] and not units["broker-2"]["compared"] and units["broker-2"]["log_dir"]


@pytest.mark.spark
def test_tasks_find_the_targets_of_verify(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writable(SET / "fleet", tmp_path / "fleet")
    (tmp_path / "nothing").mkdir()
    (tmp_path / "fleet" / "link").symlink_to(tmp_path / "fleet" / "broker-1")
    log = next((tmp_path / "fleet" / "broker-1" / "orders-0").glob("*.log"))
    monkeypatch.chdir(tmp_path)
    for paths in (
        ["fleet"],
        ["fleet/"],
        ["./fleet", str(tmp_path / "fleet"), "fleet/broker-1"],
        ["nothing", "fleet/broker-3"],
        ["."],
        [str(log), "fleet/broker-1/orders-0/absent.log", "fleet/broker-2"],
        [str(log), "fleet/broker-1/orders-0/absent.log", "fleet"],
        ["fleet/broker-1/orders-0", "absent"],
    ):
        expected = {(t.directory, str(t.names)) for t in targets_of(paths) if isinstance(t, Target)}
        units = listed(spark, *paths)
        names = [unit["names"] and str({n: given for n, (given, _) in eval(unit["names"]).items()}) for unit in units]
        assert {(unit["directory"], str(n)) for unit, n in zip(units, names, strict=True)} == expected, paths
        assert len(units) == len(expected)


@pytest.mark.spark
def test_a_directory_that_cannot_be_listed_is_a_unit_with_the_reason(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import kidx.pipeline.listing as listing
    from kidx.errors import CannotRead

    def refusing(path: str) -> Any:
        yield CannotRead(f"{path}/closed: permission denied")

    monkeypatch.setattr(listing, "walk_tree", refusing)
    sent = [{"root": 0, "path": str(tmp_path), "given": "given", "deep": True}]
    (row,) = listing.ListUnits(Options()).rows(iter(sent))
    assert row["unlisted"] == "given/closed: permission denied" and row["directory"] is None


def test_a_mark_changes_with_the_files_the_log_dir_and_the_options(tmp_path: Path) -> None:
    root = writable(SET / "fleet" / "broker-1", tmp_path / "b")

    def marks(options: Options = Options()) -> dict[str, str]:  # noqa: B008
        return {os.path.basename(u["path"]): u["mark"] for u in units_of(root, options=options)}

    before = marks()
    assert marks() == before
    log = next((root / "orders-0").glob("*.log"))
    os.utime(log, ns=(1, 1))
    after = marks()
    assert {name for name in before if before[name] != after[name]} == {"orders-0"}
    assert set(marks(Options(live=True)).values()).isdisjoint(after.values())
    # Brokers write their checkpoints anew all the time; of partitions, only what checks ask of them counts.
    del after["b"]  # the log dir itself, whose files they are
    os.utime(root / "recovery-point-offset-checkpoint", ns=(1, 1))
    assert after.items() <= marks().items()
    (root / "cleaner-offset-checkpoint").write_text("0\n1\npayments 0 7\n")
    known = marks()
    assert {name for name in after if known[name] != after[name]} == {"payments-0"}
    mark = root / ".kafka_cleanshutdown"
    mark.unlink() if mark.exists() else mark.touch()
    stopped = marks()
    assert set(stopped.values()).isdisjoint(known.values())
    properties = root / "meta.properties"
    properties.write_text(properties.read_text().replace("cluster.id=", "cluster.id=x"))
    assert set(marks().values()).isdisjoint(stopped.values())


def test_a_place_needs_a_partition_name() -> None:
    assert place_of("/b/1/big.name-7-3") == Place("/b/1", "big.name-7", 3)
    assert place_of("s3://bucket/b1/t-0") == Place("s3://bucket/b1", "t", 0)
    assert place_of("/scratch/copies").topic is None
