"""Reading an open file: bounded, by position, never through a mapping.

A file that shrinks under a mapping kills its reader (SIGBUS); a short pread is only an answer.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from kidx.errors import CannotRead, ChangedWhileRead, TooLarge
from kidx.evidence.limits import small_file_limit

if TYPE_CHECKING:
    from kidx.evidence.page_cache import NeutralReader

_CHUNK_BYTES = 1 << 20
_HOLES_FROM_BYTES = 64 << 20
_FIRST_ZEROS_BYTES = 4096  # most files end in data, so the first look at a file's end is short
_ZEROS = bytes(_CHUNK_BYTES)

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
# Answers about a path, and not failures to give one.
_ANSWERS = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.EISDIR, errno.EACCES, errno.EPERM)
_failures: ContextVar[list[str] | None] = ContextVar("system failures", default=None)


@contextmanager
def system_failures() -> Iterator[list[str]]:
    """The sentences of all CannotRead that come meanwhile from failures of the system (EIO, ESTALE, ENOMEM, ...).

    Also of those that a caller handles because it can do without the file: what it concludes then is incomplete, so
    the run has to report them. A forked process has a list of its own.
    """
    found: list[str] = []
    token = _failures.set(found)
    try:
        yield found
    finally:
        _failures.reset(token)


class _Pace:
    """Keeps reads below a number of bytes per second, by sleeping after each."""

    def __init__(self, bytes_per_second: float) -> None:
        self._rate, self._due = bytes_per_second, time.monotonic()

    def spend(self, size: int) -> None:
        """Wait until `size` more bytes fit the rate; unused time is not saved up."""
        now = time.monotonic()
        self._due = max(self._due, now) + size / self._rate
        time.sleep(self._due - now)


_pace: ContextVar[_Pace | None] = ContextVar("pace of reading", default=None)


@contextmanager
def reading_rate(bytes_per_second: float | None) -> Iterator[None]:
    """Local files are read no faster than this meanwhile, by this process and, each for itself, those it forks."""
    token = _pace.set(_Pace(bytes_per_second) if bytes_per_second else None)
    try:
        yield
    finally:
        _pace.reset(token)


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

    def __del__(self) -> None:
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
        """From now on, leave in the page cache what is there now, no more and no less, where the system can."""
        if self._fd >= 0 and self._neutral is None:
            from kidx.evidence.page_cache import NeutralReader

            self._neutral = NeutralReader(self._fd, self.size)

    def read(self, position: int, length: int) -> bytes:
        """`length` bytes from `position`, fewer only where `size` ends them.

        Raises ChangedWhileRead where the file has become shorter than it was, CannotRead where reading fails.
        """
        length = max(0, min(length, self.size - position))
        if self._fd < 0:
            return self._data[position : position + length]
        if self._neutral is not None:
            buffer = bytearray(length)
            self.read_into(position, memoryview(buffer))
            return bytes(buffer)
        try:
            data = os.pread(self._fd, length, position)
            while len(data) < length:  # at most 2 GiB come at once, and remote file systems give less
                more = os.pread(self._fd, length - len(data), position + len(data))
                if not more:
                    raise self._shrank(position + len(data))
                data += more
        except OSError as e:
            raise cannot_read(self.path, e) from None
        if pace := _pace.get():
            pace.spend(length)
        return data

    def read_range(self, position: int, length: int) -> bytes:
        """As `read`, but a store is asked for these bytes alone, in one request: for what is read once."""
        return self.read(position, length)

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
            raise cannot_read(self.path, e) from None
        if pace := _pace.get():
            pace.spend(done)
        return done

    def read_all(self, limit_bytes: int | None = None) -> bytes:
        """The whole file as it was when opened. Raises TooLarge above the limit, by default small_file_limit's."""
        limit_bytes = small_file_limit(self.path) if limit_bytes is None else limit_bytes
        if self.size > limit_bytes:
            raise TooLarge(
                f"{self.path}: {self.size:,} bytes; kidx reads at most {limit_bytes:,} of a file of this kind"
            )
        return self.read(0, self.size)

    def chunks(self, chunk_bytes: int = _CHUNK_BYTES, start: int = 0) -> Iterator[bytes]:
        """The file from `start`, piece by piece."""
        for position in range(start, self.size, chunk_bytes):
            yield self.read(position, chunk_bytes)

    def nonzero_end(self, start: int = 0, end: int | None = None) -> int:
        """The byte after the last one in [start, end) that is not zero; `start` where all of them are zero.

        Read backwards, only as far as there are zeros. Holes of a sparse file are not read.
        """
        end = self.size if end is None else min(end, self.size)
        chunk_bytes = _FIRST_ZEROS_BYTES
        for first, behind in reversed(self.data_ranges(start, end)):
            while behind > first:
                at = max(first, behind - chunk_bytes)
                chunk = self.read(at, behind - at)
                if chunk != _ZEROS[: len(chunk)]:
                    return at + len(chunk.rstrip(b"\0"))
                behind, chunk_bytes = at, min(_CHUNK_BYTES, 4 * chunk_bytes)
        return start

    def data_ranges(self, start: int = 0, end: int | None = None) -> list[tuple[int, int]]:
        """The ranges of [start, end) that are no holes, in order: everything where the file system has no holes."""
        end = self.size if end is None else min(end, self.size)
        if self._fd < 0 or not hasattr(os, "SEEK_DATA"):
            return [(start, end)] if start < end else []
        found: list[tuple[int, int]] = []
        while start < end:
            try:
                first = os.lseek(self._fd, start, os.SEEK_DATA)
                behind = os.lseek(self._fd, first, os.SEEK_HOLE)
            except OSError as e:
                if e.errno == errno.ENXIO:  # a hole up to the end of the file
                    break
                if e.errno == errno.EINVAL:  # a file system that does not know holes
                    return [*found, (start, end)]
                raise cannot_read(self.path, e) from None
            if first >= end:
                break
            found.append((first, min(behind, end)))
            start = behind
        return found

    def mostly_holes(self, start: int, end: int) -> bool:
        """Whether [start, end) is long and at least half of it are holes.

        Entries made of holes take memory that the file itself does not take. Brokers leave holes only after the last
        entry of a file, and in the slots of RocketMQ's index.
        """
        if end - start < _HOLES_FROM_BYTES:
            return False
        return 2 * sum(behind - first for first, behind in self.data_ranges(start, end)) < end - start

    def must_be_written(self, end: int) -> None:
        """Raises CannotRead where [0, end), which has entries according to the file, is mostly holes."""
        if self.mostly_holes(0, end):
            raise CannotRead(
                f"{self.path}: most of the {end:,} bytes up to its last entry are holes; no broker leaves such a file"
            )

    def changed(self) -> bool:
        """Whether the file has another size or modification time than when it was opened. Raises CannotRead."""
        if self._fd < 0:
            return False
        try:
            now = os.fstat(self._fd)
        except OSError as e:
            raise cannot_read(self.path, e) from None
        return now.st_size != self.size or now.st_mtime_ns != self.mtime_ns

    def _shrank(self, at: int) -> ChangedWhileRead:
        return ChangedWhileRead(
            f"{self.path}: it had {self.size} bytes and now ends at byte {at}: it changed while it was read; try again"
        )


def from_bytes(data: bytes, path: str = "(bytes)") -> Evidence:
    """Bytes in memory, to be read as a file is."""
    return Evidence(path, -1, len(data), 0, data)


def cannot_read(path: str, e: OSError | ValueError) -> CannotRead:
    """The error that says why the system does not give a file."""
    if isinstance(e, ValueError):  # "embedded null byte", or a character that no file name holds here
        return CannotRead(f"{path}: no file can have such a name")
    error = CannotRead(f"{path}: {_REASONS.get(e.errno or 0, (e.strerror or str(e)).lower())}")
    noted = _failures.get()
    if noted is not None and e.errno not in _ANSWERS:
        noted.append(str(error))
    return error
