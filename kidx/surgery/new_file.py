"""Writes one new file with its owner, mode and access lists, flushed, and explains why the system refused."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from kidx.errors import KidxError, Refused
from kidx.evidence import Evidence
from kidx.surgery.content import data_chunks
from kidx.surgery.journal import PERMISSION_BITS, State

Attributes = Sequence[tuple[str, bytes]]
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def state_of(status: os.stat_result, size: int, sha256: str, mode: int | None = None) -> State:
    """What the journal records about a file with these bytes; `mode` if it gets another one.

    Only permission bits count: kidx gives no file a setuid, setgid or sticky bit.
    """
    return State(
        size=size,
        sha256=sha256,
        mode=(status.st_mode if mode is None else mode) & PERMISSION_BITS,
        uid=status.st_uid,
        gid=status.st_gid,
        mtime_ns=status.st_mtime_ns,
    )


def state_for_new_file(directory_fd: int, like: str | None) -> State:
    """Owner and mode of a file that is not there yet: its segment's log's, else the directory's owner and the umask."""
    if like is not None:
        try:
            status = os.stat(os.path.basename(like), dir_fd=directory_fd, follow_symlinks=False)
        except FileNotFoundError:
            pass
        else:
            if stat.S_ISREG(status.st_mode):
                return state_of(status, 0, "")
    umask = os.umask(0)
    os.umask(umask)
    return state_of(os.fstat(directory_fd), 0, "", 0o666 & ~umask)


def write_file(
    directory_fd: int,
    name: str,
    content: Evidence,
    like: State,
    attributes: Attributes = (),
    mtime_ns: int | None = None,
) -> None:
    """Write a file that is not there yet, flushed, with this owner, mode, attributes and time. Raises OSError."""
    fd = os.open(name, _CREATE, 0o600, dir_fd=directory_fd)
    try:
        for position, chunk in data_chunks(content):
            os.lseek(fd, position, os.SEEK_SET)
            write_all(fd, chunk)
        os.ftruncate(fd, content.size)  # it may end in a hole
        own(fd, like, like.mode)
        for attribute, value in attributes:
            with suppress(OSError):
                os.setxattr(fd, attribute, value)
        if mtime_ns is not None:
            os.utime(fd, ns=(mtime_ns, mtime_ns))
        os.fsync(fd)
    finally:
        os.close(fd)


def write_all(fd: int, data: bytes | memoryview) -> None:
    """Write all bytes, in as many calls as the system needs."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def own(fd: int, like: State | os.stat_result, mode: int) -> None:
    """Give a new file the owner it must have, and its mode. Raises PermissionError where only root could."""
    uid, gid = (like.uid, like.gid) if isinstance(like, State) else (like.st_uid, like.st_gid)
    status = os.fstat(fd)
    if (status.st_uid, status.st_gid) != (uid, gid):
        os.fchown(fd, uid, gid)
    if stat.S_IMODE(status.st_mode) != mode:
        os.fchmod(fd, mode)


def access_lists(source: Evidence) -> Attributes:
    """POSIX access lists and user attributes of an open file, where the file system has any."""
    fd = source.fileno()
    try:
        names = [n for n in os.listxattr(fd) if n == "system.posix_acl_access" or n.startswith("user.")]
        return [(name, os.getxattr(fd, name)) for name in names]
    except OSError:
        return ()


def flush_directory(place: int, path: str) -> None:
    """Flush the directory. Raises KidxError, not Refused: the file has been replaced by then."""
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
def refusing(path: str) -> Iterator[None]:
    """A failed system call becomes a refusal that says why."""
    try:
        yield
    except OSError as e:
        why = _WHY.get(e.errno or 0, (e.strerror or str(e)).lower())
        raise Refused(f"{path}: cannot be written: {why}; nothing was changed") from None
