"""Damaged files of results of an earlier scan: what cannot be read is left out and checked again; nothing raises."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

pa = pytest.importorskip("pyarrow", reason="needs kidx[spark]")

from kidx.pipeline.results import RESULT  # noqa: E402
from kidx.pipeline.runs import Journal, ReadFiles  # noqa: E402
from tests.pipeline.support import SET, checked_unit, units_of  # noqa: E402


def test_damaged_files_of_results(tmp_path: Path) -> None:
    rows = [checked_unit(unit) for unit in units_of(SET / "clean" / "plain-0")]
    Journal(str(tmp_path), "journal").write(pa.RecordBatch.from_pylist(rows, schema=RESULT))
    (file,) = (tmp_path / "journal").iterdir()
    names = pa.RecordBatch.from_pylist([{"name": f"journal/{file.name}"}])
    read = ReadFiles(str(tmp_path), RESULT)
    assert [row for batch in read(iter([names])) for row in batch.to_pylist()] == rows
    sound, chance = file.read_bytes(), random.Random(19)
    for _ in range(200):
        data = bytearray(sound)
        for _ in range(chance.choice((1, 3, 30))):
            data[chance.randrange(len(data))] = chance.randrange(256)
        file.write_bytes(data[: chance.choice((len(data), chance.randrange(len(data))))])
        assert all(batch.schema == RESULT for batch in read(iter([names])))
