"""Undo brings back the very bytes, mode and time, step by step, or refuses."""

from __future__ import annotations

import os
import time
from itertools import pairwise
from pathlib import Path

import pytest

from kidx.errors import CannotRead, Refused
from kidx.surgery import journal
from kidx.surgery.journal import new_run
from kidx.surgery.replace import carry_out
from kidx.surgery.steps import undo_steps
from kidx.surgery.undo import plan_undo
from tests.surgery.support import INDEX, a_change, current

VERSIONS = [None, b"one", b"two two", b"one", b""]


def change(path: Path, before: bytes | None, after: bytes | None, run: str = "") -> None:
    carry_out(a_change(path, before, after), run or new_run())


def undo(path: Path) -> list[str]:
    steps = list(plan_undo(str(path)))
    for step in steps:
        step.carry_out(new_run())
    return [os.path.basename(step.change.path) for step in steps]


def test_back_through_all_versions(tmp_path: Path) -> None:
    path = tmp_path / INDEX
    for before, after in pairwise(VERSIONS):
        change(path, before, after)
    for expected in reversed(VERSIONS[:-1]):
        undo(path)
        assert current(path) == expected
    with pytest.raises(Refused, match="nothing to undo"):
        undo(path)


def test_mode_and_time_come_back(tmp_path: Path) -> None:
    path = tmp_path / INDEX
    path.write_bytes(b"one")
    path.chmod(0o640)
    os.utime(path, ns=(1, 1_600_000_000_123_456_789))
    change(path, b"one", b"two")
    path.chmod(0o600)
    undo(path)
    assert path.stat().st_mode & 0o777 == 0o640
    assert path.stat().st_mtime_ns == 1_600_000_000_123_456_789


def test_a_change_after_an_undo(tmp_path: Path) -> None:
    path = tmp_path / INDEX
    path.write_bytes(b"one")
    change(path, b"one", b"two")
    undo(path)
    change(path, b"one", b"three")
    undo(path)
    assert path.read_bytes() == b"one"
    with pytest.raises(Refused, match="nothing to undo"):
        undo(path)


def test_written_by_another_since(tmp_path: Path) -> None:
    path = tmp_path / INDEX
    path.write_bytes(b"one")
    change(path, b"one", b"two")
    path.write_bytes(b"a broker's")
    with pytest.raises(Refused, match="something else has written it since") as refusal:
        undo(path)
    assert f"{INDEX}~" in str(refusal.value)
    assert path.read_bytes() == b"a broker's"


def test_backup_that_is_not_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / INDEX
    path.write_bytes(b"one")
    change(path, b"one", b"two")
    (backup,) = (tmp_path / ".kidx").glob("*~*")
    backup.write_bytes(b"eno")
    with pytest.raises(Refused, match="not as it was made"):
        undo(path)
    backup.unlink()
    with pytest.raises(Refused, match="backup is unavailable"):
        undo(path)
    assert path.read_bytes() == b"two"


def test_journal_with_a_torn_line_and_one_that_is_no_journal(tmp_path: Path) -> None:
    path = tmp_path / INDEX
    path.write_bytes(b"one")
    change(path, b"one", b"two")
    journal = tmp_path / ".kidx" / "journal.jsonl"
    with journal.open("ab") as f:
        f.write(b'{"schema":"kidx.jour')
    undo(path)
    assert path.read_bytes() == b"one"
    journal.write_bytes(b'{"schema":"something.else"}\n')
    with pytest.raises(CannotRead, match="not of kidx's journal"):
        undo(path)


def test_directory_takes_back_the_newest_run(tmp_path: Path) -> None:
    first, second, third = (tmp_path / p / INDEX for p in ("a-0", "b-0", "c-0"))
    for path in (first, second, third):
        path.parent.mkdir()
        path.write_bytes(b"one")
    change(third, b"one", b"two", run="run 1")
    change(first, b"one", b"two", run="run 2")
    change(second, b"one", b"two", run="run 2")
    assert len(undo(tmp_path)) == 2
    assert [p.read_bytes() for p in (first, second, third)] == [b"one", b"one", b"two"]
    undo(tmp_path)
    assert third.read_bytes() == b"one"
    with pytest.raises(Refused, match="nothing to undo"):
        undo(tmp_path)


def test_the_journals_times_are_utc_to_the_microsecond(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time_ns", lambda: 1_700_000_000_000_045_678)
    assert journal._now() == "2023-11-14T22:13:20.000045Z"


def test_nothing_was_ever_written(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="nothing to undo"):
        undo(tmp_path / INDEX)
    with pytest.raises(Refused, match="nothing to undo"):
        undo(tmp_path)


def test_an_interrupt_right_after_the_rename_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / INDEX
    path.write_bytes(b"one")
    rename = os.rename

    def interrupted(source: str, target: str, **places: int) -> None:
        rename(source, target, **places)
        if target == INDEX:
            raise KeyboardInterrupt

    monkeypatch.setattr(os, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        change(path, b"one", b"two")
    monkeypatch.undo()
    assert path.read_bytes() == b"two"
    undo(path)
    assert path.read_bytes() == b"one"


def test_a_backup_that_rotted_is_made_anew(tmp_path: Path) -> None:
    path = tmp_path / INDEX
    path.write_bytes(b"one")
    change(path, b"one", b"two")
    undo(path)
    (backup,) = (tmp_path / ".kidx").glob("*~7692c3ad3540bb80")  # of "one"
    backup.write_bytes(b"One")
    change(path, b"one", b"two")
    undo(path)
    assert path.read_bytes() == b"one"


def test_through_a_link_to_the_directory(tmp_path: Path) -> None:
    real, link = tmp_path / "disk-0", tmp_path / "orders-0"
    real.mkdir()
    link.symlink_to(real)
    (link / INDEX).write_bytes(b"one")
    change(link / INDEX, b"one", b"two")
    assert undo(link) == [INDEX]
    assert (real / INDEX).read_bytes() == b"one"


def test_a_file_of_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = Path(INDEX)
    path.write_bytes(b"one")
    change(path, b"one", b"two")
    assert undo(path) == [INDEX]
    assert path.read_bytes() == b"one"


@pytest.mark.parametrize(("dry_run", "note"), [(True, "would revert `append`"), (False, "reverted `append`")])
def test_a_step_says_what_it_reverts(tmp_path: Path, dry_run: bool, note: str) -> None:
    path = tmp_path / INDEX
    change(path, None, b"one")
    (step,) = undo_steps(str(path), dry_run=dry_run)
    assert (step.note, step.change.after) == (note, None)
    assert path.read_bytes() == b"one"
    step.write()
    assert not path.exists()


def test_a_workplace_that_is_there_keeps_its_mode(tmp_path: Path) -> None:
    path, place = tmp_path / INDEX, tmp_path / ".kidx"
    tmp_path.chmod(0o755)
    change(path, None, b"one")
    assert place.stat().st_mode & 0o777 == 0o755
    place.chmod(0o700)
    change(path, b"one", b"two")
    assert place.stat().st_mode & 0o777 == 0o700


def test_a_change_is_a_line_of_the_journal(tmp_path: Path) -> None:
    path, book = tmp_path / INDEX, tmp_path / ".kidx" / "journal.jsonl"
    for number, (before, after) in enumerate(pairwise(VERSIONS), 1):
        change(path, before, after)
        assert book.read_bytes().count(b"\n") == len(book.read_bytes().splitlines()) == number
    book.write_bytes(book.read_bytes()[:-5])  # a crash cut the last one short
    change(path, b"", b"more")
    assert len(book.read_bytes().splitlines()) == number + 1
