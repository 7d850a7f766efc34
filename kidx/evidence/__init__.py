"""The only place where a data file is opened: read-only, bounded, truncation-safe, leaving no trace.

Files are read with pread, never mapped: a file that shrinks under a mapping kills the reader (SIGBUS), a short pread is
only an answer. Kafka itself opened indexes read-write until KAFKA-5104, so that dumping one took the broker's rights.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from kidx.errors import CannotRead, ChangedWhileRead, LimitExceeded

if TYPE_CHECKING:
    from kidx.evidence.page_cache import NeutralReader

STDIN_NAMES = ("-", "/dev/stdin")
STREAM_LIMIT_BYTES = 2 << 30  # a segment and its indexes are at most 2^31-1 bytes: Kafka addresses them with an int
_CHUNK_BYTES = 1 << 20
_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
_NO_ATIME = getattr(os, "O_NOATIME", 0)  # Linux has it


class Evidence:
    """An open file, or bytes that stand for one. `size` is its length in bytes when it was opened."""

    __slots__ = ("_data", "_fd", "_neutral", "mtime_ns", "path", "size")

    def __init__(self, path: str, fd: int, size: int, mtime_ns: int, data: bytes = b"") -> None:
        self.path, self.size, self.mtime_ns, self._fd, self._data = path, size, mtime_ns, fd, data
        self._neutral: NeutralReader | None = None

    def __enter__(self) -> Evidence:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the descriptor; harmless when closed already."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def fileno(self) -> int:
        """The read-only descriptor, -1 for bytes: for residency and cache advice, never for reading past this class."""
        return self._fd

    def spare_page_cache(self) -> None:
        """From now on let `read_into` leave in the page cache what is there now, no more and no less, where it can."""
        if self._fd >= 0 and self._neutral is None:
            from kidx.evidence.page_cache import NeutralReader

            self._neutral = NeutralReader(self._fd, self.size)

    def read(self, position: int, length: int) -> bytes:
        """`length` bytes from `position`, fewer only where `size` ends them.

        Raises ChangedWhileRead where the file has become shorter than it was.
        """
        length = max(0, min(length, self.size - position))
        if self._fd < 0:
            return self._data[position : position + length]
        try:
            data = os.pread(self._fd, length, position)
            while len(data) < length:  # at most 2 GiB come at once, and remote file systems give less
                more = os.pread(self._fd, length - len(data), position + len(data))
                if not more:
                    raise self._shrank(position + len(data))
                data += more
        except OSError as e:
            raise _cannot_read(self.path, e) from None
        return data

    def read_into(self, position: int, buffer: memoryview) -> int:
        """Fill `buffer` (writable, of bytes) from `position`; how many bytes came, fewer only at the end."""
        wanted = max(0, min(len(buffer), self.size - position))
        if self._fd < 0:
            buffer[:wanted] = self._data[position : position + wanted]
            return wanted
        done = 0
        try:
            while done < wanted:
                piece = buffer[done:wanted]
                if self._neutral is not None:
                    came = self._neutral.read_into(piece, position + done)
                else:
                    came = os.preadv(self._fd, [piece], position + done)
                if not came:
                    raise self._shrank(position + done)
                done += came
        except OSError as e:
            raise _cannot_read(self.path, e) from None
        return done

    def read_all(self) -> bytes:
        """The whole file as it was when opened."""
        return self.read(0, self.size)

    def chunks(self, chunk_bytes: int = _CHUNK_BYTES, start: int = 0) -> Iterator[bytes]:
        """The file from `start`, piece by piece."""
        for position in range(start, self.size, chunk_bytes):
            yield self.read(position, chunk_bytes)

    def changed(self) -> bool:
        """Whether the file has another size or modification time than when it was opened."""
        if self._fd < 0:
            return False
        now = os.fstat(self._fd)
        return now.st_size != self.size or now.st_mtime_ns != self.mtime_ns

    def _shrank(self, at: int) -> ChangedWhileRead:
        return ChangedWhileRead(
            f"{self.path}: it had {self.size} bytes and now ends at byte {at}: it changed while it was read; try again"
        )


def open_evidence(path: str) -> Evidence:
    """Open a file for reading only; `-` and /dev/stdin read standard input to its end.

    The access time is kept where the system allows it (O_NOATIME: the owner, or root). Raises CannotRead for a file
    that is missing, forbidden, a directory, a FIFO, a socket or a device.
    """
    if is_uri(path):
        from kidx.evidence.remote import open_remote

        return open_remote(path)
    if path in STDIN_NAMES:
        return _read_stream(sys.stdin.buffer.fileno() if sys.stdin else 0, path)
    try:
        kind = os.stat(path).st_mode
        if not stat.S_ISREG(kind):
            raise CannotRead(f"{path}: {_kind_of(kind)}")
        try:
            fd = os.open(path, _FLAGS | _NO_ATIME)
        except PermissionError:
            fd = os.open(path, _FLAGS)
    except (OSError, ValueError) as e:
        raise _cannot_read(path, e) from None
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode):  # swapped between stat and open
        os.close(fd)
        raise CannotRead(f"{path}: {_kind_of(status.st_mode)}")
    return Evidence(path, fd, status.st_size, status.st_mtime_ns)


def from_bytes(data: bytes, path: str = "(bytes)") -> Evidence:
    """Bytes in memory, to be read as a file is."""
    return Evidence(path, -1, len(data), 0, data)


def read_file(path: str, limit_bytes: int = STREAM_LIMIT_BYTES) -> bytes:
    """A whole small file (a checkpoint, a properties file). Raises LimitExceeded above `limit_bytes`."""
    with open_evidence(path) as evidence:
        if evidence.size > limit_bytes:
            raise LimitExceeded(f"{path}: {evidence.size} bytes; a file of this kind has at most {limit_bytes}")
        return evidence.read_all()


class Entry(Protocol):
    """What a listing says of one name: os.DirEntry, or a remote store's answer."""

    @property
    def name(self) -> str: ...

    @property
    def path(self) -> str: ...

    def is_dir(self, *, follow_symlinks: bool = True) -> bool: ...

    def is_file(self, *, follow_symlinks: bool = True) -> bool: ...

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result: ...


def list_directory(path: str) -> Sequence[Entry]:
    """A directory's entries by name; none of them is opened. Raises CannotRead."""
    if is_uri(path):
        from kidx.evidence.remote import list_remote

        return list_remote(path)
    try:
        with os.scandir(path) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except (OSError, ValueError) as e:
        raise _cannot_read(path, e) from None


def file_size(path: str) -> int:
    """A file's size in bytes, without opening it. Raises CannotRead."""
    if is_uri(path):
        from kidx.evidence.remote import open_remote

        with open_remote(path) as evidence:
            return evidence.size
    try:
        return os.stat(path).st_size
    except (OSError, ValueError) as e:
        raise _cannot_read(path, e) from None


def is_uri(path: str) -> bool:
    """Whether a path names a file elsewhere: s3://bucket/key, hdfs://host/path (see kidx.evidence.remote)."""
    scheme, there, _ = path.partition("://")
    return bool(there) and scheme.isascii() and scheme[:1].isalpha() and all(c.isalnum() or c in "+.-" for c in scheme)


def must_exist(path: str) -> None:
    """Raises CannotRead where there is nothing of that name: to be asked before a name is said to be wrong."""
    if path not in STDIN_NAMES and not exists(path):
        raise _cannot_read(path, OSError(errno.ENOENT, ""))


def exists(path: str) -> bool:
    """Whether there is anything of that name, be it a link that leads nowhere. Raises CannotRead for a silent store."""
    if is_uri(path):
        from kidx.evidence.remote import remote_status

        return remote_status(path) is not None
    return os.path.lexists(path)


def is_directory(path: str) -> bool:
    """Whether it is a directory (or a link to one). Raises CannotRead for a remote store that does not answer."""
    if is_uri(path):
        from kidx.evidence.remote import remote_status

        status = remote_status(path)
        return status is not None and status[0] == "directory"
    return os.path.isdir(path)


def absolute(path: str) -> str:
    """A path that does not depend on the working directory; a URI is one already."""
    return path.rstrip("/") if is_uri(path) else os.path.abspath(path)


def _read_stream(fd: int, path: str) -> Evidence:
    pieces, size = [], 0
    try:
        while piece := os.read(fd, _CHUNK_BYTES):
            pieces.append(piece)
            size += len(piece)
            if size > STREAM_LIMIT_BYTES:
                raise LimitExceeded(f"{path}: more than {STREAM_LIMIT_BYTES} bytes; no Kafka file is that large")
    except OSError as e:
        raise _cannot_read(path, e) from None
    return from_bytes(b"".join(pieces), path)


def _kind_of(mode: int) -> str:
    for test, name in (
        (stat.S_ISDIR, "it is a directory, and a file is wanted"),
        (stat.S_ISFIFO, "it is a FIFO, and a file is wanted; give a stream on standard input, as -"),
        (stat.S_ISSOCK, "it is a socket, and a file is wanted"),
        (stat.S_ISCHR, "it is a character device, and a file is wanted"),
        (stat.S_ISBLK, "it is a block device, and a file is wanted"),
    ):
        if test(mode):
            return name
    return "it is not a regular file"


_REASONS = {
    errno.ENOENT: "no such file or directory",
    errno.ENOTDIR: "part of the path is not a directory",
    errno.EACCES: "permission denied; kidx only needs to read it: chmod o+r, or run it as the broker's user",
    errno.EPERM: "the system does not permit reading it",
    errno.ELOOP: "too many symbolic links",
    errno.ENAMETOOLONG: "the name is too long",
    errno.EISDIR: "it is a directory, and a file is wanted",
    errno.EIO: "the device failed to read it (input/output error)",
    errno.ESTALE: "the file server no longer has it (stale handle); try again",
}


def _cannot_read(path: str, e: OSError | ValueError) -> CannotRead:
    if isinstance(e, ValueError):  # "embedded null byte", or a character that no file name holds here
        return CannotRead(f"{path}: no file can have such a name")
    return CannotRead(f"{path}: {_REASONS.get(e.errno or 0, (e.strerror or str(e)).lower())}")
