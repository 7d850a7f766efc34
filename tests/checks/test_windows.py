"""How a log is cut into windows and ranges changes no finding: each batch alone, all together, or shared by forks."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from kidx.checks.engine import log as engine_log
from kidx.checks.engine import log_range
from kidx.checks.engine.options import DEEP, DEFAULT
from kidx.findings import Finding
from kidx.formats.batches import HEADER_BYTES
from kidx.segments.scan import Scan, scan
from kidx.segments.windows import Window
from tests.checks.conftest import NEWEST, check
from tests.fuzz.mutate import mutate
from tests.support import FIXTURES

OUT_OF_ORDER = {"KX305"}  # time entries are searched by offset, so where offsets fall a window decides what is found
BY_OFFSET = {"KX205", "KX206"}
PARTITIONS = [
    *(NEWEST / "clean" / name for name in ("plain-0", "txn-0", "times-0", "mixed-0", "__consumer_offsets-0")),
    FIXTURES / "kafka-2.8.2/old/v1-gzip-0",
]


class OneByOne:
    """A scan whose windows hold one batch each."""

    def __init__(self, *args: object, **options: object) -> None:
        self._scan: Scan = scan(*args, **options)  # type: ignore[arg-type]

    def __getattr__(self, name: str) -> object:
        return getattr(self._scan, name)

    def __iter__(self) -> Iterator[Window]:
        for window in self._scan:
            starts = [*window.position.tolist(), window.end]
            for row, (start, end) in enumerate(pairwise(starts)):
                yield Window(
                    start,
                    end,
                    [start],
                    bytes(window.headers[row * HEADER_BYTES : (row + 1) * HEADER_BYTES]),
                    [0] if row in (window.bad_crc or []) else [],
                    None if window.buffer is None else window.buffer[start - window.start :],
                )


def damaged_copies(source: Path, to: Path, count: int) -> Iterator[Path]:
    """The partition, then copies of it whose first log is damaged by seeded verbs."""
    for seed in range(count):
        chance = random.Random(f"{source.name} {seed}")
        copy = Path(shutil.copytree(source, to / str(seed) / source.name))
        log = min(copy.glob("*.log"))
        if seed:
            log.write_bytes(mutate(log.read_bytes(), "log", chance).data)
        yield copy


def comparable(findings: list[Finding]) -> list[Finding]:
    """The findings that do not depend on the order of offsets where that is broken."""
    disordered = any(f.rule in OUT_OF_ORDER for f in findings)
    return [f for f in findings if not (disordered and f.rule in BY_OFFSET)]


@pytest.mark.parametrize(("level", "copies"), [(DEFAULT, 25), (DEEP, 10)], ids=[DEFAULT, DEEP])
@pytest.mark.parametrize("source", PARTITIONS, ids=lambda path: path.name)
def test_a_window_finds_what_its_batches_do_one_by_one(
    source: Path, level: str, copies: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for copy in damaged_copies(source, tmp_path, copies):
        together = check(copy, level=level)
        with monkeypatch.context() as patch:
            patch.setattr(log_range, "scan", OneByOne)
            alone = check(copy, level=level)
        assert comparable(sorted(alone.findings, key=str)) == comparable(sorted(together.findings, key=str)), copy
        assert alone.coverage == together.coverage


@pytest.mark.parametrize("source", PARTITIONS[:3], ids=lambda path: path.name)
def test_forks_find_what_one_process_does(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for copy in damaged_copies(source, tmp_path, 6):
        one = check(copy)
        with monkeypatch.context() as patch:
            patch.setattr(engine_log, "_WORTH_FORKING_BYTES", 0)
            shared = check(copy, jobs=3)
        assert comparable(sorted(shared.findings, key=str)) == comparable(sorted(one.findings, key=str)), copy
