"""What is kept from one scan to the next."""

from __future__ import annotations

from pathlib import Path

import pytest

from kidx.checks.options import Options
from kidx.errors import Refused
from kidx.pipeline.inventory import discover
from kidx.pipeline.manifest import Manifest
from kidx.pipeline.store import Store
from kidx.pipeline.tasks import check_unit, task_row
from tests.pipeline.support import SET


def test_finished_waves_are_taken_over_and_damaged_ones_are_not(tmp_path: Path) -> None:
    units = discover([str(SET / "fleet" / "broker-1")], Options()).units
    rows = [check_unit(task_row(unit, 0), Options()) for unit in units]
    manifest = Manifest(Store(str(tmp_path / "out")))
    assert manifest.known(units) == {}
    manifest.keep(rows[:2])
    manifest.keep(rows[2:3])
    again = Manifest(Store(str(tmp_path / "out")))
    assert set(again.known(units)) == {unit.key for unit in units[:3]}
    again.finish(again.known(units))
    (only,) = (tmp_path / "out" / "manifest").iterdir()
    only.write_bytes(only.read_bytes()[:100])
    assert Manifest(Store(str(tmp_path / "out"))).known(units) == {}


def test_a_changed_unit_and_one_that_could_not_be_read_are_tried_again(tmp_path: Path) -> None:
    units = discover([str(SET / "fleet" / "broker-1")], Options()).units
    rows = [check_unit(task_row(unit, 0), Options()) for unit in units]
    rows[0]["unread"] = ["it could not be read"]
    manifest = Manifest(Store(str(tmp_path)))
    manifest.keep(rows)
    assert set(manifest.known(units)) == {unit.key for unit in units[1:]}
    other = discover([str(SET / "fleet" / "broker-1")], Options(live=True)).units
    assert manifest.known(other) == {}


def test_a_place_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(Refused, match="could not be written"):
        Store(str(tmp_path / "file" / "below")).write("a.json", b"{}")
