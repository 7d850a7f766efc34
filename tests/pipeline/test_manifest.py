"""What is kept from one scan to the next."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kidx.checks.engine.options import Options
from kidx.errors import Refused
from kidx.pipeline.inventory import discover
from kidx.pipeline.manifest import Manifest
from kidx.pipeline.store import Store
from kidx.pipeline.tasks import check_unit, task_row
from tests.pipeline.support import SET, in_the_future, writable

NOW = 1_800_000_000_000


def test_finished_waves_are_taken_over_and_damaged_ones_are_not(tmp_path: Path) -> None:
    units = discover([str(SET / "fleet" / "broker-1")], Options()).units
    rows = [check_unit(task_row(unit, 0), Options()) for unit in units]
    manifest = Manifest(Store(str(tmp_path / "out")))
    assert manifest.known(units, NOW) == {}
    manifest.keep(rows[:2])
    manifest.keep(rows[2:3])
    again = Manifest(Store(str(tmp_path / "out")))
    assert set(again.known(units, NOW)) == {unit.key for unit in units[:3]}
    again.finish(again.known(units, NOW))
    (only,) = (tmp_path / "out" / "manifest").iterdir()
    only.write_bytes(only.read_bytes()[:100])
    assert Manifest(Store(str(tmp_path / "out"))).known(units, NOW) == {}


def test_a_changed_unit_and_one_that_could_not_be_read_are_tried_again(tmp_path: Path) -> None:
    units = discover([str(SET / "fleet" / "broker-1")], Options()).units
    rows = [check_unit(task_row(unit, 0), Options()) for unit in units]
    rows[0]["unread"] = ["it could not be read"]
    manifest = Manifest(Store(str(tmp_path)))
    manifest.keep(rows)
    assert set(manifest.known(units, NOW)) == {unit.key for unit in units[1:]}
    other = discover([str(SET / "fleet" / "broker-1")], Options(live=True)).units
    assert manifest.known(other, NOW) == {}


def test_a_timestamp_that_was_in_the_future_is_looked_at_again_when_it_is_near(tmp_path: Path) -> None:
    root = writable(SET / "fleet" / "broker-1" / "orders-0", tmp_path / "orders-0")
    in_the_future(next(root.glob("*.log")), NOW)
    (unit,) = discover([str(root)], Options()).units
    row = check_unit(task_row(unit, 0), Options())
    assert [json.loads(f["found"])["timestamp"] for f in row["findings"] if f["rule"] == "KX311"] == [NOW]
    manifest = Manifest(Store(str(tmp_path / "out")))
    manifest.keep([row])
    a_day = 86_400_000
    assert set(manifest.known([unit], NOW - a_day - 1)) == {unit.key}
    assert manifest.known([unit], NOW - a_day) == {}


def test_a_place_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(Refused, match="could not be written"):
        Store(str(tmp_path / "file" / "below")).write("a.json", b"{}")
