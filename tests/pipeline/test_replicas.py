"""Replicas compared: healthy ones agree, a changed batch is found, a lag is no divergence."""

from __future__ import annotations

from pathlib import Path

import pytest

from kidx.logdir.tree import Partition
from kidx.pipeline import replicas
from kidx.pipeline.replicas import bucket_sums, find_divergence, suspicion
from tests.pipeline.support import SET, batch_starts, other_crc, writable


@pytest.fixture
def fleet(tmp_path: Path) -> list[str]:
    root = writable(SET / "fleet", tmp_path / "fleet")
    return [str(root / f"broker-{n}" / "orders-0") for n in (1, 2, 3)]


def sums_of(directories: list[str]) -> dict[str, list[replicas.BucketSum]]:
    return {d: bucket_sums(Partition(d)).buckets for d in directories}


def test_healthy_replicas_agree(fleet: list[str]) -> None:
    sums = sums_of(fleet)
    assert all(sums.values()) and suspicion(sums).buckets == []


@pytest.mark.parametrize("size", [1 << 16, 64, 7])
def test_the_first_other_batch_is_found(fleet: list[str], size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replicas, "BUCKET_OFFSETS", size)
    logs = sorted(Path(fleet[1]).glob("*.log"))
    other_crc(logs[-1], -1)
    offset = other_crc(logs[0], 5)
    suspects = suspicion(sums_of(fleet))
    found = find_divergence(fleet, suspects)
    assert found is not None and found.offset == offset and found.differing() == [fleet[1]]
    contents = [batch and batch.content for batch in (found.held[directory] for directory in fleet)]
    assert contents[0] == contents[2] != contents[1]


def test_a_lag_is_no_divergence_and_a_loss_is_one(fleet: list[str]) -> None:
    last = sorted(Path(fleet[2]).glob("*.log"))[-1]
    data = last.read_bytes()
    starts = batch_starts(data)
    last.write_bytes(data[: starts[-2]])
    assert find_divergence(fleet, suspicion(sums_of(fleet))) is None
    last.write_bytes(data[: starts[2]] + data[starts[3] :])
    found = find_divergence(fleet, suspicion(sums_of(fleet)))
    assert found is not None and found.held[fleet[2]] is None and found.differing() == [fleet[2]]


def test_what_the_cleaner_has_been_through_may_differ(fleet: list[str]) -> None:
    first, second = sorted(Path(fleet[0]).glob("*.log"))[:2]
    other_crc(first, 0)
    assert suspicion(sums_of(fleet)).buckets
    boundary = int(second.name[:20])
    assert find_divergence(fleet, suspicion(sums_of(fleet), cleaned_below=boundary)) is None
