"""Each finding's command is one that mends it, and what deleting the index would cost is counted from the logs."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from kidx.checks.catalogue import RULES
from kidx.surgery.advice import Suggestion, shell_word, suggest
from tests.damage import flip_byte, set_entry, swap_entries
from tests.support import KAFKA_SETS, kidx

PLAIN = KAFKA_SETS[0] / "clean" / "plain-0"
FIRST, SECOND = "00000000000000000000", "00000000000000000190"


@pytest.fixture
def partition(tmp_path: Path) -> Path:
    """A partition whose name a shell would take apart."""
    partition = tmp_path / "it's here" / "plain-0"
    partition.mkdir(parents=True)
    for file in PLAIN.iterdir():
        shutil.copyfile(file, partition / file.name)
    return partition


def suggestions(path: Path) -> list[dict]:
    ran = kidx("verify", path, "--suggest", "--format", "jsonl")
    return [row for row in ran.rows if row["schema"] == "kidx.suggestion.v1"]


def test_the_command_mends_it(partition: Path) -> None:
    swap_entries(partition / f"{FIRST}.index", 0, 1)
    set_entry(partition / f"{SECOND}.timeindex", 0, 1, 1)
    rows = suggestions(partition)
    commands = {row["command"] for row in rows}
    logs = {base: partition / f"{base}.log" for base in (FIRST, SECOND)}
    assert commands == {
        f"kidx rebuild {shlex.quote(str(log))} --in-place --index-interval-bytes 1024" for log in logs.values()
    }
    for row in rows:
        assert row["reread_bytes"] == logs[Path(row["file"]).stem].stat().st_size
        assert row["reread_partition_bytes"] == sum(log.stat().st_size for log in partition.glob("*.log"))
    for command in commands:
        assert kidx(*shlex.split(command)[1:]).status == 0
    assert kidx("verify", partition).status == 0


def test_on_the_screen(partition: Path) -> None:
    index = partition / f"{FIRST}.index"
    swap_entries(index, 0, 1)
    index.with_suffix(".txnindex").write_bytes(b"")
    shown = kidx("verify", partition, "--suggest").out.decode()
    assert (
        f"  kidx rebuild {shlex.quote(str(partition / FIRST) + '.log')} --in-place --index-interval-bytes 1024\n"
        in shown
    )
    assert "alternative: delete the segment's indexes and restart; the broker then reads 15.7 KiB of" in shown
    assert "No kidx command repairs:" in shown and "see kidx explain KX114" in shown


def test_zero_tail(partition: Path) -> None:
    index = partition / f"{FIRST}.index"
    index.write_bytes(index.read_bytes() + bytes(80))
    row = next(row for row in suggestions(partition) if row["file"] == str(index))
    assert row["command"] == f"kidx trim {shlex.quote(str(index))}" and row["reread_bytes"] is None
    assert kidx(*shlex.split(row["command"])[1:]).status == 0
    assert index.read_bytes() == (PLAIN / index.name).read_bytes()


def test_what_a_broker_preallocated_needs_no_repair(partition: Path) -> None:
    index = partition / f"{SECOND}.index"  # of the active segment
    index.write_bytes(index.read_bytes() + bytes(80))
    row = next(row for row in suggestions(partition) if row["file"] == str(index))
    assert row["command"] is None and row["advice"].startswith("nothing to repair")


def test_formats_without_room(partition: Path) -> None:
    ran = kidx("verify", partition, "--suggest", "--format", "junit")
    assert ran.status == 2 and b"no place for suggestions" in ran.err


def test_a_path_that_begins_with_a_dash_is_no_option(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    partition = Path(shutil.copytree(PLAIN, tmp_path / "-odd-0"))
    swap_entries(partition / f"{FIRST}.index", 0, 1)
    found = [
        RULES["KX105"].finding(f"-odd-0/{FIRST}.index", "out of order"),
        RULES["KX110"].finding("-x.index", "zeros"),
    ]
    rebuild, trim = suggest(found, RULES)
    assert rebuild.command == f"kidx rebuild --in-place -- -odd-0/{FIRST}.log"
    assert trim.command == "kidx trim -- -x.index"
    assert kidx(*shlex.split(rebuild.command or "")[1:], cwd=tmp_path).status == 0


def suggested(code: str, path: object) -> Suggestion:
    (found,) = suggest([RULES[code].finding(str(path), "made for a test")], RULES)
    return found


@pytest.mark.skipif(not shutil.which("bash"), reason="needs bash")
@pytest.mark.parametrize(
    "name", ["a b", "it's", "tab\there", "quote's\tand\\slash", "l\nf", os.fsdecode(b"no \xff utf-8")]
)
def test_a_shell_takes_a_path_as_it_is(name: str) -> None:
    ran = subprocess.run(["bash", "-c", f"printf %s {shell_word(name)}"], capture_output=True, check=True)
    assert ran.stdout == os.fsencode(name)


def test_what_no_command_repairs_has_the_rules_advice(partition: Path) -> None:
    found = suggested("KX114", partition / f"{FIRST}.txnindex")
    assert (found.command, found.advice) == (None, RULES["KX114"].repair)
    found = suggested("KX105", partition / f"{FIRST}.index")
    assert found.command and found.advice == ""


@pytest.mark.parametrize("name", ["notes.index", f"{FIRST}.index.deleted", "leader-epoch-checkpoint", f"{7:020}.index"])
def test_a_file_without_its_log_beside_it_is_not_rebuilt(partition: Path, name: str) -> None:
    found = suggested("KX105", partition / name)
    assert (found.command, found.reread_bytes) == (None, None)


@pytest.mark.parametrize(
    ("base", "mark", "trimmed"),
    [
        (FIRST, ".kafka_cleanshutdown", True),
        (FIRST, None, True),
        (FIRST, "meta.properties", False),
        (SECOND, ".kafka_cleanshutdown", False),
        (SECOND, None, False),
    ],
)
def test_a_broker_keeps_room_in_the_active_segment_and_where_it_was_killed(
    partition: Path, base: str, mark: str | None, trimmed: bool
) -> None:
    if mark:
        (partition.parent / mark).touch()
    found = suggested("KX110", partition / f"{base}.index")
    assert bool(found.command) == trimmed != found.advice.startswith("nothing to repair")


def test_an_index_of_a_directory_that_cannot_be_listed_is_trimmed(tmp_path: Path) -> None:
    path = tmp_path / "gone-0" / f"{FIRST}.index"
    assert suggested("KX110", path).command == f"kidx trim {path}"


def test_the_command_rebuilds_state_files(partition: Path) -> None:
    snapshot = next(partition.glob("*.snapshot"))
    flip_byte(snapshot, -1)
    (partition / "leader-epoch-checkpoint").write_text("0\n1\nzero zero\n")
    rows = suggestions(partition)
    assert {row["rule"] for row in rows} == {"KX406", "KX505"}
    for row in rows:
        assert row["command"] == f"kidx rebuild {shlex.quote(row['file'])} --in-place"
        assert kidx(*shlex.split(row["command"])[1:]).status == 0
    assert kidx("verify", partition).status == 0


def test_a_log_without_a_healthy_replica_is_recovered(partition: Path) -> None:
    flip_byte(partition / f"{FIRST}.log", 100)
    (row,) = [row for row in suggestions(partition) if row["rule"] == "KX301"]
    assert row["command"] is None and "kidx recover REPLICA... --output DIR" in row["advice"]
