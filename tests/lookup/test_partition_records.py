"""A partition's records as Arrow are those that it has one after another."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

import kidx
from tests.damage import flip_byte
from tests.support import FIXTURES

PARTITIONS = sorted({log.parent for log in FIXTURES.glob("kafka-*/clean/*/*.log") if log.stat().st_size})


def test_every_partition_and_ranges_of_it() -> None:
    pytest.importorskip("pyarrow")
    chance = random.Random(2)
    for directory in PARTITIONS:
        partition = kidx.open_partition(str(directory))
        every = list(partition.records())
        assert partition.records(columns=["offset"]).to_arrow()["offset"].to_pylist() == [r.offset for r in every]
        if not every:
            continue
        low, high = sorted(r.offset for r in chance.choices(every, k=2))
        since, until = sorted(r.timestamp for r in chance.choices(every, k=2))
        for range_ in ({"start": low, "end": high}, {"since": since, "until": until}):
            records = partition.records(**range_, columns=["offset", "timestamp", "key", "value"])  # type: ignore[arg-type]
            expected = [(r.offset, r.timestamp, r.key, r.value) for r in records]
            rows = records.to_arrow().to_pylist()
            assert [tuple(row.values()) for row in rows] == expected
            assert expected
            assert not [d for d in records.damaged if d.range.kind != "preallocated"]


def test_times_may_be_texts_and_must_be_times() -> None:
    partition = kidx.open_partition(str(FIXTURES / "kafka-4.3.1/clean/plain-0"))
    assert [*partition.records(since="2023-11-15T00:00Z")] == [*partition.records()]
    assert [*partition.records(until="2023-11-15T00:00Z")] == []
    with pytest.raises(kidx.UsageError, match="some time ago"):
        partition.records(since="some time ago")


def test_damage_is_listed(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    directory = Path(shutil.copytree(FIXTURES / "kafka-4.3.1/clean/plain-0", tmp_path / "plain-0"))
    log = max(directory.glob("*.log"), key=lambda path: path.stat().st_size)
    flip_byte(log, log.stat().st_size // 2)
    records = kidx.open_partition(str(directory)).records()
    assert 0 < records.to_arrow().num_rows < len(list(records))
    ((path, damage),) = records.damaged
    assert path == str(log)
    assert damage.kind == "crc"
