"""Log dirs held against their tier: as the broker left both, and after one act each."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from kidx.checks.engine.options import Options
from kidx.checks.engine.run import check_all
from kidx.checks.engine.targets import targets_of
from kidx.errors import UsageError
from kidx.evidence import open_evidence
from kidx.findings import ERROR, NOTE, WARNING, Finding
from kidx.logdir.log_dir import LogDir
from kidx.segments.walk import walk
from kidx.state.remote_log import COPY_FINISHED
from kidx.tiered.metadata import ListedSegment, read_remote_log_metadata
from tests import damage
from tests.support import kidx_here
from tests.tiered import recorded
from tests.tiered.recorded import LOCAL


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for part in ("local", "remote"):
        shutil.copytree(recorded.unpacked(LOCAL) / part, tmp_path / part)
    return tmp_path


def reconciled(home: Path, **options: object) -> list[Finding]:
    asked = Options(remote=(str(home / "remote"),), **options)  # type: ignore[arg-type]
    checked = check_all(targets_of([str(home / "local"), str(home / "remote")]), asked)
    assert checked.unread == []
    return checked.findings


def of_rule(findings: list[Finding], rule: str) -> list[Finding]:
    return [f for f in findings if f.rule == rule]


def segment_of(home: Path, *, first: bool = True) -> ListedSegment:
    """A finished segment of a partition that has several: its first or its second one."""
    metadata = read_remote_log_metadata([LogDir(str(home / "local"))])
    assert metadata is not None
    by_partition: dict[tuple[str, int], list[ListedSegment]] = {}
    for segment in metadata.segments.values():
        if segment.state == COPY_FINISHED and (home / "local" / f"{segment.topic}-{segment.partition}").is_dir():
            by_partition.setdefault((segment.topic_id, segment.partition), []).append(segment)
    most = max(by_partition.values(), key=len)
    return sorted(most, key=lambda s: s.facts.start)[0 if first else 1]


def files_of(home: Path, segment_id: str) -> list[Path]:
    return sorted(f for f in (home / "remote").rglob(f"*-{segment_id}.*"))


def test_what_the_kills_left_is_named_and_nothing_else(home: Path) -> None:
    found = reconciled(home)
    named = {f.rule: {o.segment for o in recorded.objects(LOCAL) if o.segment in f.message} for f in found}
    dangling = {o.segment for o in recorded.objects(LOCAL) if o.verdict == "dangling copy"}
    deleted = {o.segment for o in recorded.objects(LOCAL) if o.verdict == "dangling delete"}
    unfinished, gone = of_rule(found, "KX711"), of_rule(found, "KX716")
    assert {s for s in dangling for f in unfinished if f.severity == WARNING and s in f.message} == dangling
    assert {s for s in deleted for f in gone if f.severity == WARNING and s in f.message} == deleted
    grave = [f for f in found if f.severity != NOTE and f.rule not in ("KX701", "KX711", "KX716")]
    assert grave == [] and named


def test_a_copy_that_left_no_object_is_a_note(home: Path) -> None:
    (found,) = [f for f in of_rule(reconciled(home), "KX711") if f.severity == NOTE]
    assert "no object of it is in the tier" in found.message


def test_a_log_dir_alone_does_not_miss_what_is_in_the_tier(home: Path) -> None:
    checked = check_all(targets_of([str(home / "local")]), Options())
    assert [f for f in checked.findings if f.severity != NOTE] == []
    assert any("in the remote tier, which was not checked" in skipped.why for skipped in checked.coverage.skipped)


def test_missing_objects(home: Path) -> None:
    segment = segment_of(home, first=False)
    for file in files_of(home, segment.segment_id):
        file.unlink()
    (found,) = of_rule(reconciled(home), "KX712")
    assert (found.severity, found.file, found.expected) == (ERROR, segment.file, ["every object"])
    assert segment.segment_id in found.message


def test_one_missing_object(home: Path) -> None:
    segment = segment_of(home)
    next(f for f in files_of(home, segment.segment_id) if f.suffix == ".snapshot").unlink()
    (found,) = of_rule(reconciled(home), "KX712")
    assert found.expected == [".snapshot"]


def test_objects_of_another_copy(home: Path) -> None:
    one, other = segment_of(home), segment_of(home, first=False)
    for file in files_of(home, one.segment_id):
        same = next(f for f in files_of(home, other.segment_id) if f.suffix == file.suffix)
        same.write_bytes(file.read_bytes())
    told = of_rule(reconciled(home), "KX713")
    assert {f.file.partition("-")[0] for f in told} and all(other.segment_id in f.message for f in told)
    assert any("end offset" in f.message and f.expected == other.facts.end for f in told)


def test_orphans(home: Path) -> None:
    segment = segment_of(home)
    for file in files_of(home, segment.segment_id):
        file.with_name(file.name.replace(segment.segment_id, "AAAAAAAAAAAAAAAAAAAAAA")).write_bytes(file.read_bytes())
    (found,) = of_rule(reconciled(home), "KX715")
    assert (found.severity, found.found) == (WARNING, sum(f.stat().st_size for f in files_of(home, segment.segment_id)))
    assert "AAAAAAAAAAAAAAAAAAAAAA" in found.message


def test_metadata_that_is_not_at_hand_proves_nothing(home: Path) -> None:
    """Without the partition of the metadata topic that lists them, objects are no orphans."""
    segment = segment_of(home)
    shutil.rmtree(segment.file)
    found = reconciled(home)
    assert of_rule(found, "KX715") == of_rule(found, "KX717") == []


def test_offsets_in_no_tier(home: Path) -> None:
    """A local segment is removed that was not copied yet: here the first local one of a partition, and its copies."""
    segment = segment_of(home)
    place = home / "local" / f"{segment.topic}-{segment.partition}"
    logs = sorted(place.glob("*.log"))
    assert len(logs) > 1
    following = int(logs[1].name[:20])
    for file in place.glob(f"{logs[0].name[:20]}.*"):
        file.unlink()
    epochs = place / "leader-epoch-checkpoint"
    lines = epochs.read_text().splitlines()
    kept = [line for line in lines[2:] if int(line.split()[1]) >= following] or lines[-1:]
    epochs.write_text("\n".join(["0", str(len(kept)), *kept]) + "\n")
    found = of_rule(reconciled(home), "KX717")
    assert found and found[0].severity == ERROR
    assert found[0].expected == 0 and found[0].file == str(place)


def test_a_segment_that_was_never_copied(home: Path) -> None:
    """An untiered topic's closed segments are not missed; those of a tiered one, without its metadata, are."""
    assert of_rule(reconciled(home), "KX718") == []
    segment = segment_of(home)
    place = home / "local" / f"{segment.topic}-{segment.partition}"
    first, second = sorted(place.glob("*.log"))[:2]
    log = damage_metadata(home, segment)
    os.utime(first, ns=(0, 0))
    found = of_rule(reconciled(home), "KX718")
    assert str(first) in [f.file for f in found] and log.exists() and second.exists()


def damage_metadata(home: Path, segment: ListedSegment) -> Path:
    """Cut the metadata log after its first batch: what was copied later is forgotten."""
    log = next(Path(segment.file).glob("*.log"))
    with open_evidence(str(log)) as evidence:
        first = next(walk(evidence))
    return damage.shrink(log, log.stat().st_size - first.next_position)


def test_what_retention_removes_next(home: Path) -> None:
    (found,) = of_rule(reconciled(home), "KX719")
    assert found.severity == NOTE and "retention.bytes" in found.message


def test_live_copies_may_be_under_way(home: Path) -> None:
    assert {f.severity for f in of_rule(reconciled(home, live=True), "KX711")} == {NOTE}


def test_a_tier_needs_a_log_dir_to_be_held_against(home: Path) -> None:
    with pytest.raises(UsageError, match="none of the paths is one or lies in one"):
        reconciled_alone(home)
    ran = kidx_here("verify", home / "remote", "--remote", home / "remote")
    assert (ran.status, ran.out) == (2, b"")


def reconciled_alone(home: Path) -> None:
    check_all(targets_of([str(home / "remote")]), Options(remote=(str(home / "remote"),)))
