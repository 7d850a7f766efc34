"""What the tests of surgery share: a partition to work on, a running broker's lock, and failures at any system call."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kidx.evidence import Evidence, from_bytes
from kidx.surgery.replace import Change, open_current

INDEX = "00000000000000000000.index"
_HOLD_LOCK = """
import fcntl, sys
with open(sys.argv[1], "r+b") as lock:
    fcntl.lockf(lock, fcntl.LOCK_EX)  # as Java's FileChannel.lock
    print("held", flush=True)
    sys.stdin.read()
"""
# Every call of the os module with which surgery changes something.
CHANGING_CALLS = (
    "open",
    "mkdir",
    "write",
    "fsync",
    "fchown",
    "fchmod",
    "utime",
    "setxattr",
    "rename",
    "unlink",
    "rmdir",
    "ftruncate",
)


@contextmanager
def running_broker(log_dir: Path) -> Iterator[None]:
    """A process that holds `.lock` in a log dir as a broker does."""
    lock = log_dir / ".lock"
    lock.touch()
    holder = subprocess.Popen([sys.executable, "-c", _HOLD_LOCK, lock], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert holder.stdin and holder.stdout
    assert holder.stdout.readline() == b"held\n"
    try:
        yield
    finally:
        holder.stdin.close()
        holder.wait(10)
        holder.stdout.close()


def a_change(path: object, before: bytes | None, after: bytes | None) -> Change:
    """A change of a file from these bytes to those; None is no file."""
    return Change(str(path), "append", *(None if data is None else from_bytes(data) for data in (before, after)))


def bytes_of(content: Evidence | None) -> bytes | None:
    """The bytes of what a change begins with or ends in."""
    return None if content is None else content.read(0, content.size)


def current(path: object) -> bytes | None:
    """A file's bytes as surgery finds them, None where there is none."""
    return bytes_of(open_current(str(path)))


def listing(directory: Path) -> dict[str, bytes]:
    """Every file below a directory and its bytes."""
    return {str(f.relative_to(directory)): f.read_bytes() for f in sorted(directory.rglob("*")) if f.is_file()}


class Killed(BaseException):
    """The process is dead: nothing after this is carried out, no tidying up either."""


def intercept(
    monkeypatch: pytest.MonkeyPatch, act: Callable[[int, Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]
) -> None:
    """Have `act(number, function, args, kwargs)` decide on each of CHANGING_CALLS, numbered from 0."""
    calls = iter(range(1 << 30))

    def wrap(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            only_reads = function.__name__ == "open" and not args[1] & (os.O_WRONLY | os.O_RDWR)
            return function(*args, **kwargs) if only_reads else act(next(calls), function, args, kwargs)

        return call

    for name in CHANGING_CALLS:
        monkeypatch.setattr(os, name, wrap(getattr(os, name)))
