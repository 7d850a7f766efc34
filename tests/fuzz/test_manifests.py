"""Manifests of any kind: what is no row of an earlier scan is checked again, and nothing raises."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

pa = pytest.importorskip("pyarrow", reason="needs kidx[spark]")

from kidx.pipeline.inventory import discover  # noqa: E402
from kidx.pipeline.manifest import Manifest  # noqa: E402

from kidx.checks.engine.options import Options  # noqa: E402
from kidx.pipeline.results import RESULT  # noqa: E402
from kidx.pipeline.store import Store  # noqa: E402
from kidx.pipeline.tasks import check_unit, task_row  # noqa: E402
from tests.support import KAFKA_SETS  # noqa: E402

NOW = 1_800_000_000_000


def test_manifests(tmp_path: Path) -> None:
    units = discover([str(KAFKA_SETS[0] / "clean" / "plain-0")], Options()).units
    rows = [check_unit(task_row(unit, 0), Options()) for unit in units]
    manifest = Manifest(Store(str(tmp_path)))
    manifest.keep(rows)
    (file,) = (tmp_path / "manifest").iterdir()
    sound = file.read_bytes()
    known = Manifest(Store(str(tmp_path))).known(units, NOW)
    assert list(known) == [unit.key for unit in units]
    chance = random.Random(19)
    for _ in range(100):
        data = bytearray(sound)
        for _ in range(chance.choice((1, 3, 30))):
            data[chance.randrange(len(data))] = chance.randrange(256)
        file.write_bytes(data[: chance.choice((len(data), chance.randrange(len(data))))])
        found = Manifest(Store(str(tmp_path))).known(units, NOW)
        assert set(found) <= set(known)


@pytest.mark.parametrize("value", [None, 7, "x", [], [{"rule": "KX311", "found": "{"}]])
def test_other_columns_of_the_same_names(tmp_path: Path, value: object) -> None:
    units = discover([str(KAFKA_SETS[0] / "clean" / "plain-0")], Options()).units
    rows = [check_unit(task_row(unit, 0), Options()) for unit in units]
    store = Store(str(tmp_path))
    table = pa.table({name: [row[name] if name != "findings" else value for row in rows] for name in RESULT.names})
    store.write_table("manifest/0.parquet", table)
    assert Manifest(store).known(units, NOW) == {}
