"""Of a healthy window or chunk every condition says so at once, with None: a whole log costs no more than that."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kidx.checks.engine import log_range
from kidx.checks.engine.discovery import checks_of
from kidx.checks.subjects.indexes import SearchedEntries
from kidx.checks.subjects.logs import Batches
from kidx.formats.indexes import OFFSET_INDEX, TIME_INDEX
from tests.building import batch, record
from tests.checks.conftest import NEWEST, check
from tests.checks.test_windows import OneByOne

BASE = 1000
MOST = 2**31 - 1
Answers = list[tuple[str, object]]
PARTITIONS = ("plain-0", "times-0", "default-interval-0", "codecs-4", "logappend-0", "__consumer_offsets-0")


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Iterator[Answers]:
    """What conditions on windows and chunks gave that was not None, and the rules'."""
    given: Answers = []

    def recorded(rules: str, condition: Callable[[object], object]) -> Callable[[object], object]:
        def asked(subject: object) -> object:
            answer = condition(subject)
            if answer is not None:
                given.append((rules, answer))
            return answer

        return asked

    for one in (*checks_of(Batches), *checks_of(SearchedEntries)):
        monkeypatch.setattr(one, "condition", recorded(str(one), one.condition))
    return given


@pytest.mark.parametrize("partition", PARTITIONS)
def test_pristine_partitions(partition: str, answers: Answers) -> None:
    assert check(NEWEST / "clean" / partition).coverage.bytes_checked > 0
    assert answers == []


def log_of(place: Path, *made: bytes, next_base: int | None = None, base: int = BASE) -> Path:
    log = place / f"{base:020d}.log"
    log.write_bytes(b"".join(made))
    if next_base is not None:
        (place / f"{next_base:020d}.log").write_bytes(batch([record(0)], base_offset=next_base))
    return log


ONE = batch([record(0)], base_offset=BASE)


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("next_base", [None, BASE + 3])
def test_a_log_that_fills_its_segment(
    tmp_path: Path, answers: Answers, next_base: int | None, apart: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one window, and in a window a batch."""
    if apart:
        monkeypatch.setattr(log_range, "scan", OneByOne)
    log_of(tmp_path, ONE, batch([record(0), record(1)], base_offset=BASE + 1), next_base=next_base)
    check(tmp_path)
    assert answers == []


def test_a_log_up_to_the_last_offset_that_an_index_can_say(tmp_path: Path, answers: Answers) -> None:
    check(log_of(tmp_path, ONE, batch([record(0)], base_offset=BASE + 1, last_offset_delta=MOST - 1)))
    assert answers == []


@pytest.mark.parametrize("epoch", [-1, 0, 4])
@pytest.mark.parametrize("lines", ["0\n1\n{} 1000\n", "0\n1\n{} 0\n", "0\n2\n{} 0\n9 1003\n", "0\n1\n9 1003\n", ""])
def test_a_log_of_one_epoch(tmp_path: Path, answers: Answers, epoch: int, lines: str) -> None:
    made = (batch([record(0)], base_offset=BASE + n, leader_epoch=epoch) for n in range(3))
    log_of(tmp_path, *made)
    if lines:
        (tmp_path / "leader-epoch-checkpoint").write_text(lines.format(max(epoch, 0)))
    check(tmp_path)
    assert answers == []


def test_epochs_that_stay_or_rise_from_window_to_window(
    tmp_path: Path, answers: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_range, "scan", OneByOne)
    made = (batch([record(0)], base_offset=BASE + n, leader_epoch=e) for n, e in enumerate((0, 0, 3, 3, -1, 3)))
    check(log_of(tmp_path, *made))
    assert answers == []


@pytest.mark.parametrize(
    ("suffix", "entries"),
    [
        (".index", [(1, 1), (2, 2), (9, 3)]),
        (".index", [(9, MOST)]),
        (".timeindex", [(0, 0), (1, 1), (2, 9)]),
        (".timeindex", [(0, 1), (1, 9)]),
        (".timeindex", [(0, 0)]),
        (".timeindex", [(5, 0), (6, 1)]),
    ],
)
def test_indexes_that_fill_their_segment(
    tmp_path: Path, answers: Answers, suffix: str, entries: list[tuple[int, int]]
) -> None:
    form = OFFSET_INDEX if suffix == ".index" else TIME_INDEX
    (tmp_path / f"{BASE:020d}{suffix}").write_bytes(b"".join(form.struct.pack(*e) for e in entries))
    (tmp_path / f"{BASE + 10:020d}{suffix}").write_bytes(b"")
    check(tmp_path)
    assert answers == []


@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
def test_an_index_of_the_last_segment_there_can_be(tmp_path: Path, answers: Answers, suffix: str) -> None:
    index = tmp_path / f"{2**63 - 1 - MOST:020d}{suffix}"
    index.write_bytes(OFFSET_INDEX.struct.pack(MOST, 9) if suffix == ".index" else TIME_INDEX.struct.pack(9, MOST))
    check(index)
    assert answers == []
