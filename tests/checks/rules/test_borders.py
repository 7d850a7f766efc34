"""What shows only where two ranges of a log meet: behind a place that is no batch, or where forks share a log."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from kidx.checks.engine.discovery import findings_about
from kidx.checks.subjects.indexes import TimeEntries
from kidx.checks.subjects.logs import RangeBorder
from kidx.findings import ERROR, Finding, limited
from tests.building import batch, record
from tests.checks.conftest import check, placed

GARBAGE = b"\xff" * 80


def behind_garbage(place: Path, first: bytes, second: bytes) -> list[Finding]:
    log = place / f"{0:020d}.log"
    log.write_bytes(first + GARBAGE + second)
    return [f for f in check(log).findings if f.rule != "KX303"]


FIRST = batch([record(0), record(1)], base_offset=4, leader_epoch=3)
AT = len(FIRST) + len(GARBAGE)


@pytest.mark.parametrize(("base", "wanted"), [(9, []), (6, []), (5, [6, 5]), (0, [6, 0])])
def test_offsets(tmp_path: Path, base: int, wanted: list[int]) -> None:
    found = behind_garbage(tmp_path, FIRST, batch([record(0)], base_offset=base, leader_epoch=3))
    assert [placed(f) for f in found if f.rule == "KX305"] == ([("KX305", None, AT, AT + 8, *wanted)] if wanted else [])


@pytest.mark.parametrize(("epoch", "wrong"), [(3, False), (4, False), (-1, False), (2, True), (0, True)])
def test_epochs(tmp_path: Path, epoch: int, wrong: bool) -> None:
    found = behind_garbage(tmp_path, FIRST, batch([record(0)], base_offset=6, leader_epoch=epoch))
    assert [(placed(f), f.severity) for f in found if f.rule == "KX404"] == (
        [(("KX404", None, AT, AT + 16, ">= 3", epoch), ERROR)] if wrong else []
    )


def border_of(**after: object) -> RangeBorder:
    """A border of ranges that forks checked, the first one up to offset 9 and epoch 3."""
    before = SimpleNamespace(previous_last=9, last_epoch=3)
    there = {"first_offset": 10, "first_epoch": -1, "start": 500, "first_time_met": None} | after
    return RangeBorder("x.log", before, SimpleNamespace(**there), None, 0, False)  # type: ignore[arg-type]


def test_a_range_without_a_sound_batch() -> None:
    assert list(limited(findings_about(border_of(first_offset=None)))) == []
    (found,) = limited(findings_about(border_of(first_offset=9)))
    assert placed(found) == ("KX305", None, 500, 508, 10, 9)
    nothing_before = SimpleNamespace(previous_last=None, last_epoch=-1)
    assert list(limited(findings_about(border_of(first_offset=9)._replace(before=nothing_before)))) == []  # type: ignore[arg-type]


TIMES = TimeEntries("x.timeindex", *(np.array(v, np.int64) for v in ([0, 1, 2], [10, 20, 30], [100, 200, 300])))


@pytest.mark.parametrize(
    ("met", "reached", "broken", "wrong"),
    [
        (1, 199, False, False),
        (1, 200, False, True),
        (1, 300, False, True),
        (1, 300, True, False),
        (None, 300, False, False),
        (0, 100, False, True),
    ],
)
def test_time_entries(met: int | None, reached: int, broken: bool, wrong: bool) -> None:
    border = border_of(first_time_met=met)._replace(times=TIMES, max_timestamp=reached, broken=broken)
    found = list(limited(findings_about(border)))
    slot = met or 0
    timestamp, offset = (slot + 1) * 100, (slot + 1) * 10
    assert [placed(f) for f in found] == (
        [("KX206", slot, slot * 12, slot * 12 + 12, timestamp, {"timestamp": timestamp, "offset": offset})]
        if wrong
        else []
    )
    if wrong:
        assert found[0].message.endswith(f"; earlier batches had reached {reached} already")
    without = border._replace(times=None)
    assert list(limited(findings_about(without))) == []
