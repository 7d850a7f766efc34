"""A check's result as a row and back, and what a task sends."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from kidx.checks.engine.options import Options
from kidx.checks.engine.partition import check_target
from kidx.checks.engine.result import CheckResult
from kidx.checks.engine.targets import Target, targets_of
from kidx.findings import Coverage, Finding, Skipped
from kidx.logdir.tree import Partition
from kidx.pipeline.frames import from_arrow_text, to_arrow_text
from kidx.pipeline.replicas import BucketSum
from kidx.pipeline.results import RESULT, checked_of, replica_of, result_row
from kidx.pipeline.segment_facts import segment_facts
from tests.pipeline.support import SET, checked_unit, units_of, writable


@pytest.mark.parametrize("text", ["", "a/b", "größe", "x\udcff/\udc80y", "back\\slash", "\0of the working directory"])
def test_any_path_survives(text: str) -> None:
    to_arrow_text(text).encode("utf-8")
    assert from_arrow_text(to_arrow_text(text)) == text


def test_a_result_survives_arrow() -> None:
    odd = Finding("KX105", "error", "a/\udcff.index", 8, 16, 1, "> 4", {"x": [1, None]}, "entry 1 of \udcff", "")
    found = CheckResult([odd], Coverage(2, 3, 4, 5, 6, [Skipped("a", "b")], 1), ["cannot \udcff"])
    facts = list(segment_facts(Partition(str(SET / "fleet" / "broker-1" / "orders-0"))))
    sums = [BucketSum(0, 3, 2**64 - 1, 0, 9)]
    (unit,) = units_of(SET / "fleet" / "broker-1" / "orders-0")
    made = result_row(unit, found, facts, sums)
    (row,) = pa.RecordBatch.from_pylist([made], schema=RESULT).to_pylist()
    again = checked_of(row)
    assert again.findings[0]._replace(broker="") == odd and again.findings[0].broker
    assert again.coverage == found.coverage and again.unread == found.unread
    assert row["log_bytes"] == sum(s.log_bytes for s in facts) and row["segments"] == len(facts)
    assert replica_of(row).sums == [sums[0]._replace(total=-1)]


def test_a_task_gives_what_the_check_gives_with_paths_as_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = writable(SET / "fleet" / "broker-1", tmp_path / "b")
    index = sorted((root / "orders-0").glob("*.index"))[0]
    data = bytearray(index.read_bytes())
    data[0:8], data[8:16] = data[8:16], data[0:8]
    index.write_bytes(data)
    monkeypatch.chdir(tmp_path)
    for path in ("b", ".", str(root), f"b/orders-0/{index.name}"):
        targets = [target for target in targets_of([path]) if isinstance(target, Target)]
        for unit, target in zip(units_of(path), targets, strict=True):
            monkeypatch.chdir("/")  # where an executor may run
            row = checked_unit(unit)
            monkeypatch.chdir(tmp_path)
            direct = check_target(target, Options())
            assert checked_of(row).findings == direct.findings
            assert checked_of(row).coverage == direct.coverage


def test_a_bug_in_a_check_is_one_unit_not_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    import kidx.pipeline.tasks as tasks

    def broken(*_: object) -> CheckResult:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(tasks, "check_target", broken)
    (unit,) = units_of(SET / "fleet" / "broker-1" / "orders-0")
    told = checked_of(checked_unit(unit))
    assert told.coverage.unreadable == 1 and "a bug in kidx itself: ZeroDivisionError" in told.unread[0]
    assert "orders-0: nothing in it was checked" in told.unread[0]
