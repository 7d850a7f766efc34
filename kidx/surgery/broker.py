"""Detects a broker that runs on a directory, and keeps one from starting while kidx replaces a file there.

Source: org.apache.kafka.server.util.FileLock (kafka.utils.FileLock before 3.6): a running broker holds an exclusive
lock on `.lock` in each of its log dirs. Java's locks are POSIX record locks, which flock(2) does not see.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from struct import Struct

from kidx.errors import CannotRead, Refused
from kidx.evidence import Evidence, is_file, open_evidence

LOCK_FILE = ".lock"
_FLOCK = Struct("hhqqi0q")  # struct flock of 64-bit Linux: type, whence, start, length (0: to the end), pid
_HELD_BY_ANOTHER = (errno.EACCES, errno.EAGAIN)


def lock_files(directory: str) -> Iterator[str]:
    """Every `.lock` in a directory (links resolved) and in those above it, nearest first."""
    here = os.path.realpath(directory)
    while True:
        path = os.path.join(here, LOCK_FILE)
        if is_file(path):
            yield path
        above = os.path.dirname(here)
        if above == here:
            return
        here = above


def running_broker(directory: str) -> str | None:
    """Who holds the lock of a directory, as part of a sentence; None if no broker runs on it. Raises Refused."""
    for path in lock_files(directory):
        with _open_lock(path) as lock:
            if holder := _holder(lock):
                return holder
    return None


@contextmanager
def broker_kept_out(directory: str) -> Iterator[None]:
    """While this is open, no broker starts on the directory: kidx holds a read lock on each `.lock` in it and above.

    A read lock asks for a read-only descriptor, conflicts with a broker's exclusive one, and is no obstacle to another
    kidx. (A process loses its record locks with the first close of any descriptor of the file: nothing else may open
    the same `.lock` meanwhile.) Raises Refused where a broker runs, or where that cannot be found out.
    """
    with ExitStack() as stack:
        for path in lock_files(directory):
            lock = stack.enter_context(_open_lock(path))
            if holder := _holder(lock):
                raise Refused(refusal(directory, holder))
            try:
                fcntl.lockf(lock.fileno(), fcntl.LOCK_SH | fcntl.LOCK_NB)
            except OSError as e:
                if e.errno in _HELD_BY_ANOTHER:  # it came between the question and the lock
                    raise Refused(refusal(directory, f"{path} is held")) from None
                raise _cannot_ask(path, e) from None
        yield


def refusal(directory: str, holder: str) -> str:
    """The sentence that refuses to write below a running broker."""
    return f"{directory}: a broker runs on this directory ({holder}), and kidx writes to none that does; stop it first"


def _open_lock(path: str) -> Evidence:
    try:
        return open_evidence(path)
    except CannotRead as e:
        raise Refused(f"{e}; so whether a broker runs there is unknown, and kidx does not write") from None


def _holder(lock: Evidence) -> str | None:
    question = _FLOCK.pack(fcntl.F_RDLCK, os.SEEK_SET, 0, 0, 0)
    try:
        answer = fcntl.fcntl(lock.fileno(), fcntl.F_GETLK, question)
    except OSError as e:
        raise _cannot_ask(lock.path, e) from None
    kind, _, _, _, pid = _FLOCK.unpack(answer)
    if kind == fcntl.F_UNLCK:
        return None
    return f"{lock.path} is held by process {pid}" if pid > 0 else f"{lock.path} is held"


def _cannot_ask(path: str, e: OSError) -> Refused:
    return Refused(f"{path}: its file system does not answer whether a broker holds it ({e.strerror}); nothing written")
