"""What real brokers wrote, in every stage: nothing worse than a note, and the account adds up."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kidx.checks.engine.options import DEEP, QUICK, Options
from kidx.checks.engine.run import check_all
from kidx.checks.engine.targets import targets_of
from kidx.evidence import open_evidence
from kidx.segments.walk import walk
from tests import damage
from tests.checks.conftest import NEWEST, check, grave
from tests.support import KAFKA_SETS, OWN_FIXTURES, STAGES

LACKS_SOME = OWN_FIXTURES / "kafka-3.9.1" / "clean"
STAGE_DIRS = [root / stage for root in KAFKA_SETS for stage in STAGES if (root / stage).is_dir()]


@pytest.mark.parametrize("stage", STAGE_DIRS, ids=lambda p: f"{p.parent.name}-{p.name}")
def test_every_stage_is_clean_when_every_record_is_decoded(stage: Path) -> None:
    checked = check_all(targets_of([str(stage)]), Options(level=DEEP, live=stage.name == "live"))
    left_out = [(f.rule, f.expected) for f in grave(checked)]  # the repository has no room for these two
    assert left_out == ([("KX526", ["pages13-0", "pages14-0"])] if stage == LACKS_SOME else [])
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
    assert {s.why for s in checked.coverage.skipped} == {"--quick reads no log and holds no index against one"}
    assert checked.coverage.bytes_skipped > 0


def test_what_healthy_stages_are_worth_a_note() -> None:
    found = {f.rule for f in check_all(targets_of([str(d) for d in STAGE_DIRS]), Options()).findings}
    assert found - {"KX526"} == {"KX110", "KX209", "KX311", "KX403", "KX524"}  # stages are copies of one log dir


def test_forks_find_what_one_process_finds() -> None:
    paths = [str(KAFKA_SETS[0] / "unclean"), str(KAFKA_SETS[0] / "live")]
    one, two = (check_all(targets_of(paths), Options(jobs=jobs)) for jobs in (1, 2))
    assert one.findings == two.findings
    assert one.coverage == two.coverage


def test_a_kraft_snapshot_has_an_epoch_of_its_own(tmp_path: Path) -> None:
    """A later leader makes it of everything since offset 0, whatever epochs the records were written in."""
    partition = Path(shutil.copytree(NEWEST / "clean/__cluster_metadata-0", tmp_path / "__cluster_metadata-0"))
    snapshot = sorted(partition.glob("*.checkpoint"))[0]
    with open_evidence(str(snapshot)) as evidence:
        positions = [batch.position for batch in walk(evidence)]
    for position in positions:
        damage.set_header(snapshot, position, leader_epoch=7)
    assert grave(check(partition)) == []


def test_a_new_active_segment_has_no_index_yet(tmp_path: Path) -> None:
    """Where retention has deleted everything, a broker leaves an empty log and a time index: it makes the rest late."""
    partition = tmp_path / "plain-0"
    partition.mkdir()
    (partition / f"{1617:020d}.log").touch()
    (partition / f"{1617:020d}.timeindex").write_bytes(bytes(12000))
    assert grave(check(partition)) == []
    (partition / f"{900:020d}.log").touch()
    assert ("KX502", f"{partition}/{900:020d}.log") in [(f.rule, f.file) for f in grave(check(partition))]
