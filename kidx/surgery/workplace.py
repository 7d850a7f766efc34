"""The directory `.kidx` beside the files, where a change keeps its backup, its journal and what it makes."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from kidx.errors import Refused
from kidx.surgery.journal import JOURNAL, WORKPLACE, State
from kidx.surgery.new_file import own, refusing, state_of, write_all, write_file

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_APPEND = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


class Bench:
    """The workplace of one change; what it made itself it clears away unless the change was made."""

    def __init__(self, place: int, fd: int, made_it: bool) -> None:
        self.place, self.fd, self._made_it = place, fd, made_it
        self._made: list[str] = []
        self._journal_bytes: int | None = None
        self._done = False

    def keep(self, name: str, data: bytes) -> None:
        """Keep a backup. One that is there already with these very bytes serves; one that rotted is made anew."""
        if self._holds(name, data):
            return
        self.write(name + ".part", data, state_of(os.fstat(self.place), b"", 0o600))
        os.rename(name + ".part", name, src_dir_fd=self.fd, dst_dir_fd=self.fd)
        self._made.append(name)

    def _holds(self, name: str, data: bytes) -> bool:
        try:
            fd = os.open(name, _READ, dir_fd=self.fd)
        except OSError:
            return False
        try:
            there = os.fstat(fd)
            same = stat.S_ISREG(there.st_mode) and there.st_size == len(data)
            return same and os.pread(fd, len(data), 0) == data
        finally:
            os.close(fd)

    def write(self, name: str, data: bytes, like: State) -> None:
        """Write a file, flushed, with owner and mode as told. What an earlier crash left under the name goes."""
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self.fd)
        self._made.append(name)
        write_file(self.fd, name, data, like)

    def note(self, line: bytes) -> None:
        """Put a line into the journal, flushed together with the workplace's names."""
        fd = os.open(JOURNAL, _APPEND, 0o600, dir_fd=self.fd)
        try:
            size = os.fstat(fd).st_size
            self._journal_bytes = size
            own(fd, os.fstat(self.place), 0o600)
            torn = size > 0 and os.pread(fd, 1, size - 1) != b"\n"  # a crash cut the line before short
            write_all(fd, b"\n" + line if torn else line)
            os.fsync(fd)
        finally:
            os.close(fd)
        os.fsync(self.fd)

    @contextmanager
    def for_good(self) -> Iterator[None]:
        """The change is made in here: keep everything, unless the system declines. An interrupt may come after it."""
        self._done = True
        try:
            yield
        except OSError:
            self._done = False
            raise

    def close(self) -> None:
        """Clear away what a change that was not made has left."""
        if not self._done:
            for name in self._made:
                with suppress(OSError):
                    os.unlink(name, dir_fd=self.fd)
            self._take_back_note()
            if self._made_it:
                with suppress(OSError):
                    os.rmdir(WORKPLACE, dir_fd=self.place)
        os.close(self.fd)

    def _take_back_note(self) -> None:
        if self._journal_bytes is None:
            return
        with suppress(OSError):
            if self._journal_bytes == 0:
                os.unlink(JOURNAL, dir_fd=self.fd)
                return
            fd = os.open(JOURNAL, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self.fd)
            try:
                os.ftruncate(fd, self._journal_bytes)
            finally:
                os.close(fd)


@contextmanager
def workplace(place: int, directory: str) -> Iterator[Bench]:
    """The workplace of one change in a directory, `place`; made where there is none. Raises Refused, OSError."""
    status = os.fstat(place)
    made_it = False
    try:
        umask = os.umask(0)  # readable from the first moment: a broker stops at anything in a partition it cannot read
        try:
            os.mkdir(WORKPLACE, 0o755, dir_fd=place)
        finally:
            os.umask(umask)
        made_it = True
    except FileExistsError:
        pass
    try:
        fd = os.open(WORKPLACE, _DIRECTORY | os.O_NOFOLLOW, dir_fd=place)
    except OSError as e:
        if e.errno in (errno.ENOTDIR, errno.ELOOP):
            raise Refused(f"{directory}/{WORKPLACE}: not a directory, and kidx keeps its backups there") from None
        raise
    bench = Bench(place, fd, made_it)
    try:
        if made_it:  # the broker must be able to remove it with the partition
            own(fd, status, stat.S_IMODE(status.st_mode))
            os.fsync(place)
        yield bench
    finally:
        bench.close()


@contextmanager
def locked(directory: str) -> Iterator[int]:
    """A descriptor of the directory, locked (flock) against every other kidx that writes there."""
    with refusing(directory):
        place = os.open(directory, _DIRECTORY)
    try:
        try:
            fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Refused(f"{directory}: another kidx is writing there; try again when it is done") from None
        except OSError as e:
            raise Refused(f"{directory}: its file system gives no lock ({e.strerror}); nothing was written") from None
        yield place
    finally:
        os.close(place)
