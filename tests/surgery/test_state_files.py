"""kidx rebuild of leader epochs, producer snapshots and checkpoints: as a real broker's recovery left them."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import pytest

from kidx.logdir.tree import Partition
from kidx.surgery.state_files import rebuild_state
from tests import damage
from tests.startup.recorded import names, recorded
from tests.support import kidx_here
from tests.surgery.support import listing, running_broker

NOW = (
    1_790_000_000_000  # long after the records of the recorded starts: their producers were silent for more than a day
)
CLEAN, RICH = "kafka-4.3.1/clean-as-it-was", "kafka-4.3.1/killed-rich-as-it-was"


def whole_recoveries() -> list[tuple[str, str]]:
    """Starts, and partitions of which the broker recovered every segment and cut none."""
    found = []
    for name in names():
        start = recorded(name)
        outcome, files = start.outcome, start.outcome["files"]
        if not outcome["started"]:
            continue
        for log_dir in map(Path, start.log_dirs):
            for directory in sorted(path for path in log_dir.iterdir() if path.is_dir()):
                place = f"{log_dir.name}/{directory.name}"
                segments = [segment.base_offset for segment in Partition(str(directory)).segments]
                recovered = [s["segment"] for s in outcome["recovered_segments"] if where(s) == place]
                gone = [*files["removed"], *files["renamed"]]
                touched = [path for path in gone if path.startswith(f"{place}/") and ".log" in path]
                plain = directory.name.rpartition("-")[2].isdigit() and not directory.name.startswith("__cluster")
                if plain and segments and sorted(recovered) == segments and not touched:
                    found.append((name, place))
    return found


def where(segment: dict[str, str]) -> str:
    return f"{segment['directory']}/{segment['partition']}"


def snapshots_afterwards(name: str, place: str) -> dict[str, str]:
    """SHA-256 of a partition's snapshots after the broker's start, by name."""
    start = recorded(name)
    files = start.outcome["files"]
    directory = Path(start.log_dirs[0]).parent / place
    found = {f"{place}/{p.name}": hashlib.sha256(p.read_bytes()).hexdigest() for p in directory.glob("*.snapshot")}
    found = {path: value for path, value in found.items() if path not in files["removed"]}
    found |= {path: value["sha256"] for path, value in files["added"].items()}
    found |= {path: value["after"]["sha256"] for path, value in files["changed"].items()}
    return {p.rsplit("/", 1)[1]: v for p, v in found.items() if p.startswith(f"{place}/") and p.endswith(".snapshot")}


def test_snapshots_are_byte_for_byte_those_of_a_brokers_recovery() -> None:
    compared = 0
    for name, place in whole_recoveries():
        directory = Path(recorded(name).log_dirs[0]).parent / place
        state = rebuild_state(Partition(str(directory)), NOW)
        made = {n: hashlib.sha256(data).hexdigest() for n, data in state.files.items() if n.endswith(".snapshot")}
        assert made == snapshots_afterwards(name, place), (name, place)
        compared += len(made)
    assert compared > 20


def test_leader_epochs_are_those_of_the_batches() -> None:
    for name in (CLEAN, RICH):
        for path in Path(recorded(name).log_dirs[0]).glob("[a-z]*-0/leader-epoch-checkpoint"):
            assert rebuild_state(Partition(str(path.parent)), NOW).files[path.name] == path.read_bytes()


@pytest.fixture
def log_dir(tmp_path: Path) -> Path:
    """A log dir with transactions and a topic whose log start was moved, its state files complete."""
    copy = shutil.copytree(recorded(RICH).log_dirs[0], tmp_path / "d")
    rebuild_in_place(copy, "--state-files", "--all")
    for path in copy.rglob(".kidx*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    return copy


def rebuild_in_place(path: Path, *options: str) -> list[str]:
    """The names of the files that were written."""
    ran = kidx_here("rebuild", "--in-place", path, "--format", "jsonl", *options)
    assert ran.status == 0, ran.err
    return [Path(row["file"]).name for row in ran.rows if row["written"]]


def test_what_is_sound_stays(log_dir: Path) -> None:
    before = listing(log_dir)
    assert rebuild_in_place(log_dir, "--state-files") == []
    assert listing(log_dir) == before


def test_damaged_and_missing_files_come_back_and_undo_reverts_it(log_dir: Path) -> None:
    whole = listing(log_dir)
    partition = max(log_dir.glob("[a-z]*-0"), key=lambda path: len(list(path.glob("*.log"))))
    snapshot = sorted(partition.glob("*.snapshot"))[0]
    damage.flip_byte(snapshot, -1)
    (partition / "leader-epoch-checkpoint").write_text("0\nzero\n")
    (log_dir / "recovery-point-offset-checkpoint").unlink()
    (log_dir / "replication-offset-checkpoint").write_bytes(b"\xff\xff")
    damaged = listing(log_dir)
    assert sorted(rebuild_in_place(log_dir, "--state-files")) == sorted(
        ["leader-epoch-checkpoint", "recovery-point-offset-checkpoint", "replication-offset-checkpoint", snapshot.name]
    )
    after = {name: data for name, data in listing(log_dir).items() if ".kidx" not in name}
    same_lines = {name: sorted(data.split(b"\n")) for name, data in after.items()}
    assert same_lines == {name: sorted(data.split(b"\n")) for name, data in whole.items()}
    assert (
        kidx_here("startup", log_dir).status == 0
    )  # a directory .kidx in the log dir would keep a broker from starting
    assert kidx_here("undo", log_dir).status == 0
    assert {name: data for name, data in listing(log_dir).items() if ".kidx" not in name} == damaged


def test_a_lost_log_start_comes_back_from_the_leader_epochs(log_dir: Path) -> None:
    path = log_dir / "log-start-offset-checkpoint"
    before = path.read_text()
    assert before.count("\n") == 3  # one line
    path.unlink()
    assert rebuild_in_place(path) == [path.name]
    assert path.read_text() == before


def test_the_recovery_point_stays_below_a_segment_that_breaks_off(log_dir: Path) -> None:
    partition = max(log_dir.glob("[a-z]*-0"), key=lambda path: len(list(path.glob("*.log"))))
    log = sorted(partition.glob("*.log"))[1]
    damage.flip_byte(log, -1)
    ran = kidx_here("rebuild", log_dir, "--state-files", "--output", log_dir.parent / "out", "--format", "jsonl")
    lines = (log_dir.parent / "out/recovery-point-offset-checkpoint").read_text().splitlines()
    assert f"{partition.name.rpartition('-')[0]} 0 {int(log.name[:20])}" in lines
    assert any("breaks off at byte" in (row["said"] or "") for row in ran.rows)


def test_a_snapshot_that_a_recovery_does_not_leave_is_not_made_up(log_dir: Path) -> None:
    ran = kidx_here("rebuild", "--in-place", next(log_dir.glob("[a-z]*-0")) / f"{999:020d}.snapshot")
    assert ran.status == 3 and b"leaves no such snapshot" in ran.err


def test_nothing_is_written_while_a_broker_runs(log_dir: Path) -> None:
    (log_dir / "recovery-point-offset-checkpoint").unlink()
    before = listing(log_dir)
    with running_broker(log_dir):
        ran = kidx_here("rebuild", "--in-place", log_dir, "--state-files")
        assert ran.status == 3 and b"a broker runs on this directory" in ran.err
    (log_dir / ".lock").unlink()
    assert listing(log_dir) == before


def test_a_log_dirs_journal_names_no_file_of_a_partition(log_dir: Path) -> None:
    path = log_dir / "recovery-point-offset-checkpoint"
    path.unlink()
    rebuild_in_place(path)
    journal = log_dir / ".kidx-journal.jsonl"
    journal.write_text(journal.read_text().replace(path.name, f"{0:020d}.index"))
    ran = kidx_here("undo", path)
    assert ran.status == 3 and b"is not of kidx's journal" in ran.err
