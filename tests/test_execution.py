"""Work in forked processes: every result comes, every failure is raised, and no process is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kidx.errors import CannotRead, KidxError
from kidx.execution import forked, run_forked, run_parallel
from tests.support import HANG_S


@pytest.fixture
def forks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The processes that were forked."""
    made: list[int] = []
    fork = os.fork

    def noted() -> int:
        pid = fork()
        if pid:
            made.append(pid)
        return pid

    monkeypatch.setattr(os, "fork", noted)
    return made


def squared(n: int) -> tuple[int, int]:
    return n * n, os.getpid()


@pytest.mark.parametrize("jobs", [1, 2, 3, 50])
@pytest.mark.parametrize("count", [0, 1, 2, 1000])
def test_every_item_has_its_result(jobs: int, count: int) -> None:
    found = dict(run_forked(squared, range(count), jobs))
    assert {n: done for n, (done, _) in found.items()} == {n: n * n for n in range(count)}
    processes = {pid for _, pid in found.values()}
    assert len(processes) <= jobs and (processes <= {os.getpid()}) == (jobs == 1 or count < 2)


def test_the_parent_works_meanwhile() -> None:
    with forked(squared, [3, 4], 2) as results:
        mine = squared(2)
        theirs = dict(results)
    assert mine == (4, os.getpid()) and {n: v for n, (v, _) in theirs.items()} == {3: 9, 4: 16}
    assert os.getpid() not in {pid for _, pid in theirs.values()}


@pytest.mark.parametrize("jobs", [1, 2, 3, 9])
@pytest.mark.parametrize("count", [0, 1, 2, 7])
def test_a_share_is_worked_on_here(jobs: int, count: int, forks: list[int]) -> None:
    found = run_parallel(squared, list(range(count)), jobs)
    assert {n: done for n, (done, _) in found.items()} == {n: n * n for n in range(count)}
    assert len(forks) == max(0, min(jobs, count) - 1)
    assert count == 0 or os.getpid() in {pid for _, pid in found.values()}


def failing(n: int) -> int:
    if n == 7:
        raise CannotRead("seven: no such file or directory")
    return n


def test_a_failure_is_raised_here(forks: list[int]) -> None:
    with pytest.raises(CannotRead, match=r"^seven: no such"):
        list(run_forked(failing, range(20), 2))
    assert_gone(forks)


def killed(n: int) -> int:
    if n == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return n


def test_a_killed_process_is_an_error(forks: list[int]) -> None:
    with pytest.raises(KidxError, match="killed before it was done"):
        list(run_forked(killed, [1, 2, 3, 4], 2))
    assert_gone(forks)


def test_leaving_early_ends_them(forks: list[int]) -> None:
    started = time.monotonic()
    with pytest.raises(KeyError), forked(time.sleep, [HANG_S, HANG_S], 2):
        raise KeyError("enough")
    for _ in run_forked(lambda n: time.sleep(n) or n, [0, HANG_S], 2):
        break
    assert_gone(forks)
    assert time.monotonic() - started < HANG_S, "the forks were not ended: they slept to the end"


def assert_gone(forks: list[int]) -> None:
    assert forks
    for pid in forks:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a process with its parent")
def test_workers_end_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    program = (
        "import os, sys, time\nfrom kidx.execution import run_forked\n"
        "def work(n):\n    open(f'{sys.argv[1]}/{os.getpid()}', 'w').close()\n    time.sleep(600)\n"
        "list(run_forked(work, [1, 2], 2))\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", program, str(tmp_path)])
    try:
        until(lambda: len(list(tmp_path.iterdir())) == 2)
    finally:
        parent.kill()
        parent.wait()
    for file in tmp_path.iterdir():
        until(lambda file=file: not alive(int(file.name)))


def until(holds: Callable[[], bool]) -> None:
    """Wait for something that is bound to happen; a minute is no figure to reach."""
    for _ in range(6000):
        if holds():
            return
        time.sleep(0.01)
    pytest.fail("it never happened")


def alive(pid: int) -> bool:
    """Whether a process runs; one that ended and was not waited for (a zombie) does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
