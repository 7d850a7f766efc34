"""What real brokers wrote, in every stage: nothing worse than a note, and the account adds up."""

from __future__ import annotations

from pathlib import Path

import pytest

from kidx.checks.options import DEEP, QUICK, Options
from kidx.checks.run import check_all
from kidx.checks.targets import targets_of
from tests.checks.conftest import check, grave
from tests.support import KAFKA_SETS, STAGES

STAGE_DIRS = [root / stage for root in KAFKA_SETS for stage in STAGES if (root / stage).is_dir()]


@pytest.mark.parametrize("stage", STAGE_DIRS, ids=lambda p: f"{p.parent.name}-{p.name}")
def test_every_stage_is_clean_when_every_record_is_decoded(stage: Path) -> None:
    checked = check_all(targets_of([str(stage)]), Options(level=DEEP, live=stage.name == "live"))
    assert grave(checked) == []
    assert checked.unread == []
    marks = (".kafka_cleanshutdown", ".lock")
    files = [f for f in stage.rglob("*") if f.is_file() and f.name not in marks]
    assert checked.coverage.files == len(files)
    assert checked.coverage.bytes_checked + checked.coverage.bytes_skipped == sum(f.stat().st_size for f in files)


@pytest.mark.parametrize("stage", STAGE_DIRS[:3], ids=lambda p: f"{p.parent.name}-{p.name}")
def test_every_file_alone_is_clean(stage: Path) -> None:
    for file in stage.rglob("*"):
        if file.is_file() and file.name not in (".kafka_cleanshutdown", ".lock"):
            checked = check(file)
            assert grave(checked) == [], file
            assert checked.coverage.files == 1, file
            assert all(f.file == str(file) for f in checked.findings)


def test_quick_reads_no_log_and_says_so() -> None:
    checked = check(KAFKA_SETS[0] / "clean" / "plain-0", level=QUICK)
    assert checked.coverage.batches == 0
    assert {s.why for s in checked.coverage.skipped} == {"--quick reads no log"}
    assert checked.coverage.bytes_skipped > 0


def test_what_healthy_stages_are_worth_a_note() -> None:
    found = {f.rule for f in check_all(targets_of([str(d) for d in STAGE_DIRS]), Options()).findings}
    assert found == {"KX110", "KX209", "KX311", "KX403"}


def test_forks_find_what_one_process_finds() -> None:
    paths = [str(KAFKA_SETS[0] / "unclean"), str(KAFKA_SETS[0] / "live")]
    one, two = (check_all(targets_of(paths), Options(jobs=jobs)) for jobs in (1, 2))
    assert one.findings == two.findings
    assert one.coverage == two.coverage
