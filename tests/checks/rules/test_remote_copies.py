"""The objects of remote segments, damaged one by one, and what a tier looks like when nothing is wrong."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kidx.checks.engine.options import Options
from kidx.checks.engine.result import CheckResult
from kidx.checks.engine.run import check_all
from kidx.checks.engine.targets import targets_of
from kidx.evidence.tiered import key_files
from kidx.findings import ERROR, NOTE, WARNING, Finding
from tests import damage
from tests.checks.conftest import grave
from tests.support import kidx_here
from tests.tiered import recorded
from tests.tiered.recorded import ENCRYPTED, LOCAL, ZSTD


def verified(*paths: Path) -> CheckResult:
    return check_all(targets_of(map(str, paths)), Options())


def live_stems(tier: Path, name: str, suffix: str = ".log") -> list[Path]:
    """Objects of live segments without their suffix."""
    return [
        tier / stored.path.removesuffix(suffix)
        for stored in recorded.objects(name)
        if stored.verdict == "live" and stored.path.endswith(suffix)
    ]


@pytest.fixture
def tier(tmp_path: Path) -> Path:
    """A copy of Aiven's tier (zstd), without the copies that were killed."""
    return without_killed(ZSTD, tmp_path)


@pytest.fixture
def local_tier(tmp_path: Path) -> Path:
    """A copy of LocalTieredStorage's tier, without the copies that were killed."""
    return without_killed(LOCAL, tmp_path)


def without_killed(name: str, tmp_path: Path) -> Path:
    copy = tmp_path / "remote"
    shutil.copytree(recorded.unpacked(name) / "remote", copy)
    for stored in recorded.objects(name):
        if stored.verdict != "live":
            (copy / stored.path).unlink()
    return copy


@pytest.mark.parametrize("name", [ZSTD, LOCAL, ENCRYPTED])
def test_live_segments_are_clean(name: str, tmp_path: Path) -> None:
    if name == ENCRYPTED:
        pytest.importorskip("cryptography")
    with key_files(recorded.keys(name)) if name == ENCRYPTED else key_files({}):
        checked = verified(without_killed(name, tmp_path))
    assert checked.findings == []
    assert checked.unread == [] and checked.coverage.batches > 40


def test_killed_copies_lack_objects() -> None:
    found = [f for f in verified(recorded.unpacked(ZSTD) / "remote").findings if f.rule == "KX701"]
    assert [f.expected for f in found] == [[".indexes", ".rsm-manifest"], [".rsm-manifest"]]
    killed = [o.segment for o in recorded.objects(ZSTD) if o.verdict == "dangling copy"]
    assert all(f.severity == WARNING and any(segment in f.message for segment in killed) for f in found)


def test_a_copy_of_the_same_offsets_is_a_note() -> None:
    (found,) = [f for f in verified(recorded.unpacked(ZSTD) / "remote").findings if f.rule == "KX708"]
    assert found.severity == NOTE


def change_manifest(path: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    fields = json.loads(path.read_bytes())
    change(fields)
    path.write_text(json.dumps(fields, separators=(",", ":")))
    return path


def test_a_cut_manifest(tier: Path) -> None:
    stem = live_stems(tier, ZSTD, ".rsm-manifest")[0]
    path = damage.shrink(Path(f"{stem}.rsm-manifest"), 100)
    (found,) = verified(tier).findings
    assert (found.rule, found.severity, found.file) == ("KX702", ERROR, str(path))
    assert stem.name[21:] in found.message


@pytest.mark.parametrize(("suffix", "by"), [(".log", 1), (".indexes", 2)])
def test_a_short_object(tier: Path, suffix: str, by: int) -> None:
    stem = live_stems(tier, ZSTD, ".rsm-manifest")[1]
    path = Path(f"{stem}{suffix}")
    size = path.stat().st_size
    damage.shrink(path, by)
    found = next(f for f in verified(tier).findings if f.rule == "KX703")
    assert (found.file, found.expected, found.found) == (str(path), size, size - by)
    assert (found.byte_start, found.byte_end) == (size - by, size)


def test_objects_under_the_name_of_another_segment(tier: Path) -> None:
    one, other = live_stems(tier, ZSTD, ".rsm-manifest")[:2]
    content = Path(f"{one}.rsm-manifest").read_bytes()
    Path(f"{other}.rsm-manifest").write_bytes(content)
    found = [f for f in verified(tier).findings if f.rule == "KX704"]
    assert {f.file for f in found} == {f"{other}.rsm-manifest"}
    assert [one.name[21:], other.name[21:]] in [[f.found, f.expected] for f in found]


def test_a_flipped_byte_in_a_chunk(tier: Path) -> None:
    stem = compressed_stem(tier)
    damage.flip_byte(Path(f"{stem}.log"), 1)
    (found,) = verified(tier).findings
    assert (found.rule, found.severity, found.file, found.byte_start) == ("KX705", ERROR, f"{stem}.log", 0)
    assert stem.name[21:] in found.message


def compressed_stem(tier: Path) -> Path:
    return next(
        stem
        for stem in live_stems(tier, ZSTD, ".rsm-manifest")
        if json.loads(Path(f"{stem}.rsm-manifest").read_bytes())["compression"]
    )


def test_a_swapped_index(local_tier: Path) -> None:
    stems = live_stems(local_tier, LOCAL)
    one, other = [s for s in stems if s.parent == stems[0].parent][:2]
    content = Path(f"{one}.timeindex").read_bytes()
    Path(f"{other}.timeindex").write_bytes(content)
    assert {f.file for f in grave(verified(local_tier)) if f.rule.startswith("KX2")} == {f"{other}.timeindex"}


@pytest.mark.parametrize(
    ("field", "change", "severity"),
    [("endOffset", 1, ERROR), ("maxTimestampMs", -5, WARNING)],
)
def test_a_manifest_that_says_something_else_than_the_log(tier: Path, field: str, change: int, severity: str) -> None:
    stem = live_stems(tier, ZSTD, ".rsm-manifest")[2]
    about = "remoteLogSegmentMetadata"
    path = change_manifest(Path(f"{stem}.rsm-manifest"), lambda m: m[about].update({field: m[about][field] + change}))
    found = next(f for f in verified(tier).findings if f.rule == "KX706")
    assert (found.file, found.severity, found.found - found.expected) == (str(path), severity, change)


def test_leader_epochs_that_differ(tier: Path) -> None:
    stem = live_stems(tier, ZSTD, ".rsm-manifest")[0]
    path = change_manifest(
        Path(f"{stem}.rsm-manifest"), lambda m: m["remoteLogSegmentMetadata"].update(segmentLeaderEpochs={"7": 0})
    )
    found = [f for f in verified(tier).findings if f.rule == "KX707"]
    assert (found[0].file, found[0].found) == (str(path), {"7": 0})


def test_a_missing_segment_is_a_gap(local_tier: Path) -> None:
    stems = [s for s in live_stems(local_tier, LOCAL) if s.parent == live_stems(local_tier, LOCAL)[-1].parent]
    for file in stems[1].parent.glob(f"{stems[1].name}.*"):
        file.unlink()
    found = [f for f in verified(local_tier).findings if f.rule == "KX503"]
    assert [f.file for f in found] == [f"{stems[2]}.log"]


def test_what_is_encrypted_is_listed_and_named_once() -> None:
    ran = kidx_here("verify", "--format", "jsonl", recorded.unpacked(ENCRYPTED) / "remote")
    assert ran.status == 3
    said = ran.err.decode().splitlines()
    assert len(said) == len({s.rpartition("'")[0] for s in said}) == 2
    summary = ran.rows[-1]
    assert any("not checked without its key" in skipped["why"] for skipped in summary["skipped"])
    assert {r["rule"] for r in ran.rows[:-1]} == {"KX701", "KX702", "KX708"}


def test_damage_to_an_encrypted_index(tmp_path: Path) -> None:
    pytest.importorskip("cryptography")
    tier = without_killed(ENCRYPTED, tmp_path)
    path = damage.flip_byte(Path(f"{live_stems(tier, ENCRYPTED, '.rsm-manifest')[0]}.indexes"), 20)
    with key_files(recorded.keys(ENCRYPTED)):
        found: list[Finding] = verified(tier).findings
    assert [(f.rule, f.file) for f in found] == [("KX705", str(path))]


def test_one_object_stands_for_its_segment(tier: Path) -> None:
    stem = live_stems(tier, ZSTD, ".rsm-manifest")[0]
    checked = verified(Path(f"{stem}.rsm-manifest"))
    assert checked.findings == [] and checked.coverage.batches > 0
    damage.shrink(Path(f"{stem}.indexes"), 1)
    assert {f.rule for f in verified(Path(f"{stem}.log")).findings} >= {"KX703"}
