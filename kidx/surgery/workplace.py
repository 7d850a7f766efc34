"""The directory `.kidx` next to the files, where a change keeps its backup, its journal and the new file."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

from kidx.errors import CannotRead, Refused
from kidx.evidence import SMALL_FILE_BYTES, Evidence, open_inside
from kidx.surgery.content import same_bytes
from kidx.surgery.journal import JOURNAL, LOG_DIR_PREFIX, WORKPLACE, State
from kidx.surgery.new_file import Attributes, own, refusing, state_of, write_all, write_file

_APPEND = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


class Bench:
    """The workplace of one change. It removes what it created unless the change was made."""

    def __init__(self, place: int, fd: int, made_it: bool, prefix: str) -> None:
        self.place, self.fd, self._made_it, self._prefix = place, fd, made_it, prefix
        self._made: list[str] = []
        self._journal_bytes: int | None = None
        self._done = False

    def named(self, name: str) -> str:
        """What a file of the workplace is called in its directory."""
        return self._prefix + name

    def keep(self, name: str, content: Evidence) -> None:
        """Keep a backup. An existing one with these bytes is kept; a damaged one is written again."""
        if self._holds(name, content):
            return
        self.write(name + ".part", content, state_of(os.fstat(self.place), 0, "", 0o600))
        os.rename(self.named(name + ".part"), self.named(name), src_dir_fd=self.fd, dst_dir_fd=self.fd)
        self._made.append(name)

    def _holds(self, name: str, content: Evidence) -> bool:
        try:
            with open_inside(self.fd, self.named(name), name) as existing:
                return same_bytes(existing, content)
        except CannotRead:
            return False

    def write(
        self,
        name: str,
        content: Evidence,
        like: State,
        attributes: Attributes = (),
        mtime_ns: int | None = None,
    ) -> None:
        """Write a file as write_file does. What an earlier crash left under the name is removed."""
        with suppress(FileNotFoundError):
            os.unlink(self.named(name), dir_fd=self.fd)
        self._made.append(name)
        write_file(self.fd, self.named(name), content, like, attributes, mtime_ns)

    def note(self, line: bytes) -> None:
        """Append a line to the journal, flushed together with the workplace's directory."""
        fd = os.open(self.named(JOURNAL), _APPEND, 0o600, dir_fd=self.fd)
        try:
            status = os.fstat(fd)
            _must_be_plain(status, os.fstat(self.place), self.named(JOURNAL))
            size = status.st_size
            if size + len(line) >= SMALL_FILE_BYTES:
                raise Refused(
                    f"{self._prefix or WORKPLACE + '/'}{JOURNAL} is full ({size:,} bytes); remove it when nothing is "
                    "to be undone any more; nothing was written"
                )
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
        """The change is made within: everything is kept unless the system refuses. An interrupt may come after it."""
        self._done = True
        try:
            yield
        except OSError:
            self._done = False
            raise

    def close(self) -> None:
        """Remove what a change that was not made has left."""
        if not self._done:
            for name in self._made:
                with suppress(OSError):
                    os.unlink(self.named(name), dir_fd=self.fd)
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
                os.unlink(self.named(JOURNAL), dir_fd=self.fd)
                return
            fd = os.open(self.named(JOURNAL), os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self.fd)
            try:
                os.ftruncate(fd, self._journal_bytes)
            finally:
                os.close(fd)


@contextmanager
def workplace(place: int, directory: str, *, of_log_dir: bool = False) -> Iterator[Bench]:
    """The workplace of one change in a directory, `place`; made where there is none. Raises Refused, OSError.

    That of a log dir's own files is the directory itself.
    """
    if of_log_dir:
        bench = Bench(place, os.dup(place), False, LOG_DIR_PREFIX)
        try:
            yield bench
        finally:
            bench.close()
        return
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
    bench = Bench(place, fd, made_it, "")
    try:
        if made_it:  # the broker must be able to remove it with the partition
            own(fd, status, stat.S_IMODE(status.st_mode))
            os.fsync(place)
        yield bench
    finally:
        bench.close()


def open_journal(place: int, directory: str, *, of_log_dir: bool) -> Evidence | None:
    """The journal of an open directory, None where there is none. Raises Refused, CannotRead, OSError."""
    return _open_kept(place, directory, JOURNAL, of_log_dir)


def open_backup(place: int, directory: str, name: str, *, of_log_dir: bool) -> Evidence:
    """A backup in the workplace of an open directory. Raises Refused, OSError."""
    try:
        backup = _open_kept(place, directory, name, of_log_dir)
    except CannotRead as e:
        raise Refused(f"the backup is unavailable: {e}; nothing was changed") from None
    if backup is None:
        where = LOG_DIR_PREFIX if of_log_dir else f"{WORKPLACE}/"
        raise Refused(f"the backup is unavailable: {directory}/{where}{name}: no such file; nothing was changed")
    return backup


def _open_kept(place: int, directory: str, name: str, of_log_dir: bool) -> Evidence | None:
    """A file in the workplace that was kept by the directory's owner."""
    if of_log_dir:
        name = LOG_DIR_PREFIX + name
    path = os.path.join(directory, name) if of_log_dir else os.path.join(directory, WORKPLACE, name)
    try:
        fd = os.open("." if of_log_dir else WORKPLACE, _DIRECTORY | os.O_NOFOLLOW, dir_fd=place)
    except FileNotFoundError:
        return None
    except OSError as e:
        if e.errno in (errno.ENOTDIR, errno.ELOOP):
            raise Refused(f"{directory}/{WORKPLACE}: not a directory; nothing was changed") from None
        raise
    try:
        owner = os.fstat(place)
        if os.fstat(fd).st_uid != owner.st_uid:
            raise Refused(f"{directory}/{WORKPLACE}: another user than its directory's owns it; nothing was changed")
        try:
            os.stat(name, dir_fd=fd, follow_symlinks=False)
        except FileNotFoundError:
            return None
        kept = open_inside(fd, name, path)
        _must_be_plain(os.fstat(kept.fileno()), owner, path)
        return kept
    finally:
        os.close(fd)


def _must_be_plain(status: os.stat_result, owner: os.stat_result, path: str) -> None:
    """Raises Refused for a file of the workplace that kidx did not make: a hard link, or another user's."""
    if status.st_nlink != 1:
        raise Refused(f"{path}: it has {status.st_nlink} names (hard links), and kidx makes none; nothing was changed")
    if status.st_uid != owner.st_uid and status.st_uid != os.geteuid():
        raise Refused(f"{path}: another user than its directory's owns it; nothing was changed")


@contextmanager
def open_directory(directory: str, root: str | None = None) -> Iterator[int]:
    """A descriptor of a directory; below `root` (default: the directory itself) no link is followed. Raises OSError."""
    root = directory if root is None else root
    inside = os.path.relpath(directory, root)
    place = os.open(root, _DIRECTORY)
    try:
        for part in [] if inside == "." else inside.split(os.sep):
            below = os.open(part, _DIRECTORY | os.O_NOFOLLOW, dir_fd=place)
            os.close(place)
            place = below
        yield place
    finally:
        os.close(place)


@contextmanager
def locked(directory: str, root: str | None = None) -> Iterator[int]:
    """A descriptor of the directory (see open_directory), locked (flock) against every other kidx that writes there."""
    with ExitStack() as stack:
        with refusing(directory):
            place = stack.enter_context(open_directory(directory, root))
        try:
            fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Refused(f"{directory}: another kidx is writing there; try again when it is done") from None
        except OSError as e:
            raise Refused(f"{directory}: its file system gives no lock ({e.strerror}); nothing was written") from None
        yield place
