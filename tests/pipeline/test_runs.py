"""What is kept from one run to the next."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from kidx.errors import Refused
from kidx.pipeline.frames import frame_of
from kidx.pipeline.results import RESULT
from kidx.pipeline.runs import UNITS, Run, Runs
from kidx.pipeline.store import Store
from tests.pipeline.support import NOW, SET, checked_unit, in_the_future, units_of, writable

BROKER = SET / "fleet" / "broker-1"


def keys(runs: Runs, spark: Any, now_ms: int = NOW) -> set[str]:
    known = runs.known(spark, now_ms)
    return set() if known is None else {row.key for row in known.select("key").collect()}


def batch(*rows: dict[str, Any]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(list(rows), schema=RESULT)


@pytest.mark.spark
def test_what_tasks_noted_is_taken_over_and_a_damaged_file_is_not(spark: Any, tmp_path: Path) -> None:
    rows = [checked_unit(unit) for unit in units_of(BROKER)]
    rows[3]["unread"] = ["it could not be read"]
    runs = Runs(Store(str(tmp_path)))
    assert keys(runs, spark) == set()
    journal = runs.journal(Run.begun(NOW))
    journal.write(batch(*rows[:2]))
    journal.write(batch(*rows[1:4]))  # a repeated task notes a row again; what was not read is tried again
    assert keys(Runs(Store(str(tmp_path))), spark) == {row["key"] for row in rows[:3]}
    for path in (tmp_path / "journal").rglob("*.parquet"):
        path.write_bytes(path.read_bytes()[:100])
    assert keys(Runs(Store(str(tmp_path))), spark) == set()


@pytest.mark.spark
def test_a_run_counts_once_it_is_complete_and_leaves_earlier_ones_as_they_are(spark: Any, tmp_path: Path) -> None:
    rows = [checked_unit(unit) for unit in units_of(BROKER)]
    for number, part in enumerate((rows[:2], rows[2:4])):
        runs = Runs(Store(str(tmp_path)))
        run = Run.begun(NOW + 86_400_000 * number)
        runs.write(run, {UNITS: (frame_of(spark, part, RESULT), RESULT)}, len(part))
        assert keys(Runs(Store(str(tmp_path))), spark) == {row["key"] for row in rows[:2] if number}
        runs.finish(run, run._asdict())
        assert keys(Runs(Store(str(tmp_path))), spark) == {row["key"] for row in part}
    dates = sorted(path.name for path in (tmp_path / "units").iterdir())
    assert dates == ["run_date=2027-01-15", "run_date=2027-01-16"]
    assert len(list((tmp_path / "runs").iterdir())) == 2 and not (tmp_path / "journal").exists()


@pytest.mark.spark
def test_a_timestamp_that_was_in_the_future_is_looked_at_again_when_it_is_near(spark: Any, tmp_path: Path) -> None:
    root = writable(BROKER / "orders-0", tmp_path / "orders-0")
    in_the_future(next(root.glob("*.log")), NOW)
    (unit,) = units_of(root)
    row = checked_unit(unit)
    assert [json.loads(f["found"])["timestamp"] for f in row["findings"] if f["rule"] == "KX311"] == [NOW]
    runs = Runs(Store(str(tmp_path / "out")))
    runs.journal(Run.begun(NOW)).write(batch(row))
    a_day = 86_400_000
    assert keys(runs, spark, NOW - a_day - 1) == {unit["key"]}
    assert keys(runs, spark, NOW - a_day) == set()


def test_a_place_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(Refused, match="could not be written"):
        Store(str(tmp_path / "file" / "below")).try_out()
    Store(str(tmp_path / "out")).try_out()
    assert list((tmp_path / "out").iterdir()) == []
