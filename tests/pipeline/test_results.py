"""A check's result as a row and back, and what a task sends."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kidx.checks.engine.options import Options
from kidx.checks.engine.partition import check_target
from kidx.checks.engine.result import CheckResult
from kidx.checks.engine.targets import Target
from kidx.findings import Coverage, Finding, Skipped
from kidx.logdir.tree import Partition
from kidx.pipeline.inventory import discover
from kidx.pipeline.replicas import BucketSum
from kidx.pipeline.results import (
    buckets_of,
    checked_of,
    from_arrow_text,
    key_of,
    segments_of,
    to_arrow_text,
    to_batch,
    to_row,
)
from kidx.pipeline.segment_facts import segment_facts
from kidx.pipeline.tasks import check_unit, task_row
from tests.pipeline.support import SET, writable


@pytest.mark.parametrize("text", ["", "a/b", "größe", "x\udcff/\udc80y", "back\\slash", "\0of the working directory"])
def test_any_path_survives(text: str) -> None:
    to_arrow_text(text).encode("utf-8")
    assert from_arrow_text(to_arrow_text(text)) == text


def test_a_result_survives_arrow() -> None:
    odd = Finding("KX105", "error", "a/\udcff.index", 8, 16, 1, "> 4", {"x": [1, None]}, "entry 1 of \udcff", "")
    found = CheckResult([odd], Coverage(2, 3, 4, 5, 6, [Skipped("a", "b")], 1), ["cannot \udcff"])
    facts = list(segment_facts(Partition(str(SET / "fleet" / "broker-1" / "orders-0"))))
    sums = [BucketSum(0, 3, 2**64 - 1, 0, 9)]
    (row,) = to_batch([to_row("k\udcff", "m", found, facts, sums)]).to_pylist()
    again = checked_of(row)
    assert again.findings[0]._replace(broker="") == odd and again.findings[0].broker
    assert again.coverage == found.coverage and again.unread == found.unread
    assert key_of(row) == "k\udcff" and segments_of(row) == facts
    assert buckets_of(row) == [sums[0]._replace(total=-1)]


def test_a_task_gives_what_the_check_gives_with_paths_as_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = writable(SET / "fleet" / "broker-1", tmp_path / "b")
    index = sorted((root / "orders-0").glob("*.index"))[0]
    data = bytearray(index.read_bytes())
    data[0:8], data[8:16] = data[8:16], data[0:8]
    index.write_bytes(data)
    monkeypatch.chdir(tmp_path)
    for path in ("b", ".", str(root), f"b/orders-0/{index.name}"):
        for unit in discover([path], Options()).units:
            sent = task_row(unit, 0)
            monkeypatch.chdir("/")  # where an executor may run
            row = check_unit(sent, Options())
            monkeypatch.chdir(tmp_path)
            direct = check_target(unit.target, Options())
            assert checked_of(row).findings == direct.findings
            assert checked_of(row).coverage == direct.coverage


def test_a_bug_in_a_check_is_one_unit_not_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    import kidx.pipeline.tasks as tasks

    def broken(target: Target, options: Options) -> CheckResult:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(tasks, "check_target", broken)
    (unit,) = discover([str(SET / "fleet" / "broker-1" / "orders-0")], Options()).units
    told = checked_of(check_unit(task_row(unit, 0), Options()))
    assert told.coverage.unreadable == 1 and "a bug in kidx itself: ZeroDivisionError" in told.unread[0]
    assert os.path.basename(unit.target.directory) in told.unread[0]
