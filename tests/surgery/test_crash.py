"""Killed at any system call, surgery leaves the old file or the new one, whole, and a later kidx goes on from there."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from kidx.evidence import from_bytes
from kidx.surgery.journal import new_run
from kidx.surgery.replace import carry_out, create_apart
from kidx.surgery.undo import plan_undo
from tests.surgery.support import INDEX, Killed, a_change, current, intercept

OLD, NEW = b"\0\0\0\1\0\0\0\7" * 40, b"\0\0\0\2\0\0\0\x08" * 4000
CASES = {"replaced": (OLD, NEW), "created": (None, NEW), "removed": (OLD, None)}
_CHANGE = """
from kidx.evidence import from_bytes
from kidx.surgery.replace import Change, carry_out
carry_out(Change({path!r}, 'append', from_bytes({before!r}), from_bytes({after!r})), 'run')
"""
_SYSTEM_CALLS = (
    "flock,openat,mkdir,mkdirat,write,fsync,fchown,fchmod,utimensat,setxattr,rename,renameat,renameat2,unlink,unlinkat,"
    "rmdir,ftruncate"
)


def check_whole(path: Path, before: bytes | None, after: bytes | None) -> None:
    """The file is the old or the new one, no other is beside it, and change and undo work on from there."""
    found = current(path)
    assert found in (before, after)
    assert {f.name for f in path.parent.iterdir()} <= {path.name, ".kidx"}
    if found == before:
        carry_out(a_change(path, before, after), new_run())
    assert current(path) == after
    (undo,) = plan_undo(str(path))
    undo.carry_out(new_run())
    assert current(path) == before


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("when", ["before", "halfway", "after"])
def test_killed_at_every_call(tmp_path: Path, case: str, when: str) -> None:
    before, after = CASES[case]
    for number in range(200):
        path = tmp_path / str(number) / INDEX
        path.parent.mkdir()
        if before is not None:
            path.write_bytes(before)
        with pytest.MonkeyPatch.context() as patch:
            intercept(patch, killer(number, when))
            try:
                carry_out(a_change(path, before, after), new_run())
            except Killed:
                survived = False
            else:
                survived = True
        check_whole(path, before, after)
        if survived:
            assert number > 8  # it was killed a few times, then
            return
    pytest.fail("it never came to its end")


def killer(number: int, when: str):
    """Dies before, in the middle of (a write) or after the call of that number; the dead do nothing more."""

    def act(at, function, args, kwargs):
        if at < number:
            return function(*args, **kwargs)
        if at == number and when == "halfway" and function.__name__ == "write":
            function(args[0], args[1][: len(args[1]) // 2])
        elif at == number and when == "after":
            function(*args, **kwargs)
        raise Killed

    return act


def test_a_file_of_its_own_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    for number in range(200):
        path = tmp_path / str(number) / "p-0" / INDEX
        with pytest.MonkeyPatch.context() as patch:
            intercept(patch, killer(number, "halfway"))
            try:
                create_apart(str(path), from_bytes(NEW))
            except Killed:
                pass
            else:
                break
        assert not path.exists() or path.read_bytes() == NEW
        create_apart(str(path), from_bytes(NEW))
        assert [f.name for f in path.parent.iterdir()] == [INDEX]
    assert 3 < number < 199


def test_flushed_before_the_rename_and_the_directory_after(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / INDEX
    path.write_bytes(OLD)
    calls = []

    def record(at, function, args, kwargs):
        calls.append(function.__name__)
        return function(*args, **kwargs)

    intercept(monkeypatch, record)
    carry_out(a_change(path, OLD, NEW), new_run())
    last_rename = len(calls) - calls[::-1].index("rename") - 1
    for kind, written in enumerate(i for i, name in enumerate(calls) if name == "write"):
        assert "fsync" in calls[written:last_rename], kind
    assert calls[last_rename - 1] == "fsync"  # the journal's line, and the workplace's names
    assert calls[last_rename + 1 :] == ["fsync"]


@pytest.mark.skipif(not shutil.which("strace"), reason="needs strace, which kills at a chosen system call")
def test_killed_by_the_system_at_every_system_call(tmp_path: Path) -> None:
    path = tmp_path / "trace" / INDEX
    path.parent.mkdir()
    path.write_bytes(OLD)
    log = tmp_path / "calls"
    traced = run_traced(path, f"trace={_SYSTEM_CALLS}", "-o", log)
    if traced.returncode:
        pytest.skip(f"strace may not trace here: {traced.stderr.decode()[-200:]}")
    names = [m[1] for line in log.read_text().splitlines() if (m := re.match(r"(?:\d+ +)?(\w+)\(", line))]
    surgery_starts = names.index("flock")
    seen: Counter[str] = Counter(names[:surgery_starts])
    kills = 0
    for name in names[surgery_starts:]:
        seen[name] += 1
        path = tmp_path / f"{name}-{seen[name]}" / INDEX
        path.parent.mkdir()
        path.write_bytes(OLD)
        kills += run_traced(path, f"inject={name}:signal=KILL:when={seen[name]}").returncode != 0
        check_whole(path, OLD, NEW)
    assert kills > 15


def run_traced(path: Path, expression: str, *options: object) -> subprocess.CompletedProcess[bytes]:
    """Replace the file in a process of its own, under strace."""
    program = _CHANGE.format(path=str(path), before=OLD, after=NEW)
    return subprocess.run(
        ["strace", *map(str, options), "-e", expression, sys.executable, "-c", program],
        capture_output=True,
        check=False,
    )
