"""The one place where a file is exchanged.

In this order, each step flushed before the next: the old bytes are kept (`.kidx/<name>~<hash>`), the new ones written
beside (`.kidx/<name>.new`) with the old owner and mode, the journal gets its line, the file is looked at once more,
and one rename puts the new file in its place. A crash at any point leaves the old file or the new one, whole; a failure
before the rename leaves nothing but the old file. Reading stays with kidx.evidence.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from kidx.errors import KidxError, Refused
from kidx.evidence import open_evidence
from kidx.light_typing import NamedTuple
from kidx.surgery import journal
from kidx.surgery.broker import broker_kept_out
from kidx.surgery.journal import JOURNAL, WORKPLACE, State, sha256

_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_APPEND = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


class Change(NamedTuple):
    """A change of one file that was worked out and not made yet. None stands for no file."""

    path: str
    command: str
    before: bytes | None
    after: bytes | None

    @property
    def changes(self) -> bool:
        """Whether carrying it out would change anything."""
        return self.before != self.after


def read_whole(path: str) -> bytes | None:
    """A file's bytes as they are now, None where there is none. Raises Refused for what is never replaced."""
    if not os.path.lexists(path):
        return None
    _plain_file(path)
    with open_evidence(path) as evidence:
        return evidence.read_all()


def carry_out(
    change: Change, run: str, *, like: str | None = None, undoes: str | None = None, restore: State | None = None
) -> str | None:
    """Make a change, with backup and journal; the backup's path, None where there was no file before.

    A new file gets owner and mode of `like` (its segment's log), or its directory's owner. `restore` gives an old mode
    and modification time back. Raises Refused where it is declined or fails: then nothing was changed.
    """
    directory, name = os.path.dirname(change.path) or ".", os.path.basename(change.path)
    with broker_kept_out(directory), _locked(directory) as place:
        old = _look(change, place)
        entry = journal.make_entry(run, change.command, name, old, change.after, undoes)
        with _refusing(change.path), _workplace(place, directory) as bench:
            if change.before is not None and entry.backup is not None:
                bench.keep(entry.backup, change.before)
            if change.after is not None:
                made_like = restore or old or _state_for_new_file(directory, like)
                bench.write(name + ".new", change.after, made_like)
                if restore:
                    os.utime(name + ".new", ns=(restore.mtime_ns, restore.mtime_ns), dir_fd=bench.fd)
                if old:
                    _copy_access_lists(change.path, os.path.join(journal.beside(change.path), name + ".new"))
            bench.note(journal.encode(entry))
            if _look(change, place) != old:
                raise _changed(change.path)
            with bench.for_good():
                if change.after is not None:
                    os.rename(name + ".new", name, src_dir_fd=bench.fd, dst_dir_fd=place)
                else:
                    os.unlink(name, dir_fd=place)
        _flush_directory(place, change.path)
    return os.path.join(journal.beside(change.path), entry.backup) if entry.backup else None


def create_apart(path: str, data: bytes, *, like: str | None = None) -> None:
    """Write a new file that stands by itself (--output): safely as above, without a journal.

    A file that is there already is refused unless it has these very bytes. Raises Refused.
    """
    directory, name = os.path.dirname(path) or ".", os.path.basename(path)
    with broker_kept_out(directory), _refusing(path):
        os.makedirs(directory, exist_ok=True)
        with _locked(directory) as place:
            there = read_whole(path)
            if there == data:
                return
            if there is not None:
                raise Refused(f"{path}: there is another file already; name a directory that has none")
            state = _state_for_new_file(directory, None)
            beside = f".{name}.new"
            with suppress(FileNotFoundError):
                os.unlink(beside, dir_fd=place)
            try:
                _write_file(place, beside, data, state)
                os.rename(beside, name, src_dir_fd=place, dst_dir_fd=place)
            except BaseException:
                with suppress(OSError):
                    os.unlink(beside, dir_fd=place)
                raise
            _flush_directory(place, path)


class _Bench:
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
        self.write(name + ".part", data, _state_of(os.fstat(self.place), b"", 0o600))
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
        _write_file(self.fd, name, data, like)

    def note(self, line: bytes) -> None:
        """Put a line into the journal, flushed together with the workplace's names."""
        fd = os.open(JOURNAL, _APPEND, 0o600, dir_fd=self.fd)
        try:
            size = os.fstat(fd).st_size
            self._journal_bytes = size
            _own(fd, os.fstat(self.place), 0o600)
            torn = size > 0 and os.pread(fd, 1, size - 1) != b"\n"  # a crash cut the line before short
            _write_all(fd, b"\n" + line if torn else line)
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
def _workplace(place: int, directory: str) -> Iterator[_Bench]:
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
    bench = _Bench(place, fd, made_it)
    try:
        if made_it:  # the broker must be able to remove it with the partition
            _own(fd, status, stat.S_IMODE(status.st_mode))
            os.fsync(place)
        yield bench
    finally:
        bench.close()


@contextmanager
def _locked(directory: str) -> Iterator[int]:
    """A descriptor of the directory, locked (flock) against every other kidx that writes there."""
    with _refusing(directory):
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


def _look(change: Change, place: int) -> State | None:
    """The file as it is now, None where there is none. Raises Refused where it is not what the change began with."""
    name = os.path.basename(change.path)
    try:
        status = os.stat(name, dir_fd=place, follow_symlinks=False)
    except FileNotFoundError:
        if change.before is not None:
            raise _changed(change.path) from None
        return None
    except OSError as e:
        raise Refused(f"{change.path}: {(e.strerror or str(e)).lower()}; nothing was written") from None
    _plain_file(change.path)
    with open_evidence(change.path) as evidence:
        opened = os.fstat(evidence.fileno())
        same = (opened.st_dev, opened.st_ino) == (status.st_dev, status.st_ino)
        if change.before is None or not same or evidence.read_all() != change.before:
            raise _changed(change.path)
        return _state_of(opened, change.before)


def _plain_file(path: str) -> None:
    status = os.lstat(path)
    if stat.S_ISLNK(status.st_mode):
        raise Refused(f"{path}: a symbolic link; kidx replaces only the file itself: {os.path.realpath(path)}")
    if not stat.S_ISREG(status.st_mode):
        raise Refused(f"{path}: not a regular file; kidx replaces no other")
    if status.st_nlink > 1:
        raise Refused(
            f"{path}: the file has {status.st_nlink} names (hard links), and replacing it would part them; "
            "copy it to a file of its own first"
        )


def _changed(path: str) -> Refused:
    return Refused(f"{path}: it changed while kidx worked on it; nothing was written; try again")


def _state_of(status: os.stat_result, data: bytes, mode: int | None = None) -> State:
    return State(
        size=len(data),
        sha256=sha256(data),
        mode=stat.S_IMODE(status.st_mode) if mode is None else mode,
        uid=status.st_uid,
        gid=status.st_gid,
        mtime_ns=status.st_mtime_ns,
    )


def _state_for_new_file(directory: str, like: str | None) -> State:
    """Owner and mode of a file that is not there yet: its segment's log's, else the directory's owner and the umask."""
    if like is not None:
        return _state_of(os.stat(like), b"")
    umask = os.umask(0)
    os.umask(umask)
    return _state_of(os.stat(directory), b"", 0o666 & ~umask)


def _write_file(directory_fd: int, name: str, data: bytes, like: State) -> None:
    fd = os.open(name, _CREATE, 0o600, dir_fd=directory_fd)
    try:
        _write_all(fd, data)
        _own(fd, like, like.mode)
        os.fsync(fd)
    finally:
        os.close(fd)


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _own(fd: int, like: State | os.stat_result, mode: int) -> None:
    """Give a new file the owner it must have, and its mode. Raises PermissionError where only root could."""
    uid, gid = (like.uid, like.gid) if isinstance(like, State) else (like.st_uid, like.st_gid)
    status = os.fstat(fd)
    if (status.st_uid, status.st_gid) != (uid, gid):
        os.fchown(fd, uid, gid)
    if stat.S_IMODE(status.st_mode) != mode:
        os.fchmod(fd, mode)


def _copy_access_lists(source: str, target: str) -> None:
    """Copy POSIX access lists and user attributes, where the file system has any."""
    with suppress(OSError):
        for attribute in os.listxattr(source, follow_symlinks=False):
            if attribute == "system.posix_acl_access" or attribute.startswith("user."):
                os.setxattr(target, attribute, os.getxattr(source, attribute), follow_symlinks=False)


def _flush_directory(place: int, path: str) -> None:
    """Flush the directory. Raises KidxError, for the file has been exchanged by then."""
    try:
        os.fsync(place)
    except OSError as e:
        raise KidxError(f"{path}: written, but its directory could not be flushed to disk: {e.strerror}") from None


_WHY = {
    errno.ENOSPC: "no space left on the device",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "a file may not become that large here (ulimit -f)",
    errno.EROFS: "the file system is read-only",
    errno.EACCES: "permission denied; run it as the files' owner or as root",
    errno.EPERM: "it must keep its owner and group, which only root can see to, or its owner if in that group",
    errno.EIO: "the device failed (input/output error)",
}


@contextmanager
def _refusing(path: str) -> Iterator[None]:
    """What the system declines becomes a refusal that says why."""
    try:
        yield
    except OSError as e:
        why = _WHY.get(e.errno or 0, (e.strerror or str(e)).lower())
        raise Refused(f"{path}: cannot be written: {why}; nothing was changed") from None
