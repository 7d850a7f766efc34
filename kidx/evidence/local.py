"""Opening files of this machine, and standard input: the only place where a data file is opened.

Kafka itself opened indexes read-write until KAFKA-5104, so that dumping one took the broker's rights.
"""

from __future__ import annotations

import os
import stat
import sys

from kidx.errors import CannotRead, LimitExceeded, TooLarge
from kidx.evidence.file import Evidence, cannot_read, from_bytes
from kidx.evidence.listing import STDIN_NAMES, is_uri, may_be_object

STREAM_LIMIT_BYTES = 2 << 30  # a segment and its indexes are at most 2^31-1 bytes: Kafka addresses them with an int
SEGMENT_LIMIT_BYTES = 2**31 - 1
SPARED_BYTES = 32 << 20  # size from which a file is read without changing the page cache: smaller ones push little out
_SEGMENT_SUFFIXES = (".log", ".index", ".timeindex", ".txnindex", ".checkpoint")
_CHUNK_BYTES = 1 << 20
_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
_NO_ATIME = getattr(os, "O_NOATIME", 0)  # Linux has it


def open_evidence(path: str) -> Evidence:
    """Open a file for reading only; `-` and /dev/stdin read standard input to its end.

    The access time is kept where the system allows it (O_NOATIME: the owner, or root). Raises CannotRead for a file
    that is missing, forbidden, a directory, a FIFO, a socket or a device, TooLarge for a log or index that is larger
    than Kafka can address.

    A part of a remote segment is put together from its objects where they are Aiven's: see kidx.evidence.tiered.
    """
    if may_be_object(path):
        from kidx.evidence.tiered import open_part

        part = open_part(path)
        if part is not None:
            return part
    return open_plain(path)


def open_plain(path: str) -> Evidence:
    """As `open_evidence`, but the file itself, whatever it is a part of."""
    if is_uri(path):
        from kidx.evidence.remote import open_remote

        evidence = open_remote(path)
        _must_be_addressable(evidence.size, path)
        return evidence
    if path in STDIN_NAMES:
        return _read_stream(sys.stdin.buffer.fileno() if sys.stdin else 0, path)
    return _open(path, path, None, _FLAGS)


def open_inside(directory_fd: int, name: str, path: str) -> Evidence:
    """Open a file of an open directory by its plain name, never through a link; `path` is what messages call it.

    Raises CannotRead as `open_evidence` does.
    """
    return _open(name, path, directory_fd, _FLAGS | os.O_NOFOLLOW)


def read_file(path: str, limit_bytes: int | None = None) -> bytes:
    """A whole small file (a checkpoint, a snapshot, a properties file). Raises TooLarge as Evidence.read_all does."""
    with open_evidence(path) as evidence:
        return evidence.read_all(limit_bytes)


def _open(name: str, path: str, directory_fd: int | None, flags: int) -> Evidence:
    fd = -1
    try:
        _must_be_regular(os.stat(name, dir_fd=directory_fd, follow_symlinks=not flags & os.O_NOFOLLOW), path)
        try:
            fd = os.open(name, flags | _NO_ATIME, dir_fd=directory_fd)
        except PermissionError:
            fd = os.open(name, flags, dir_fd=directory_fd)
        status = os.fstat(fd)
        _must_be_regular(status, path)  # it may have been swapped between stat and open
        _must_be_addressable(status.st_size, path)
        evidence = Evidence(path, fd, status.st_size, status.st_mtime_ns)
        fd = -1  # the evidence closes it from here on
        if evidence.size >= SPARED_BYTES:
            evidence.spare_page_cache()
        return evidence
    except BaseException as e:
        if fd >= 0:
            os.close(fd)
        if isinstance(e, (OSError, ValueError)):
            raise cannot_read(path, e) from None
        raise


def _must_be_regular(status: os.stat_result, path: str) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise CannotRead(f"{path}: {_kind_of(status.st_mode)}")


def _must_be_addressable(size: int, path: str) -> None:
    """Raises TooLarge for a log, snapshot or index that Kafka could not have written."""
    if size > SEGMENT_LIMIT_BYTES and path.endswith(_SEGMENT_SUFFIXES):
        raise TooLarge(
            f"{path}: {size:,} bytes; a log, snapshot or index has at most {SEGMENT_LIMIT_BYTES:,}, for Kafka "
            "addresses it with 31 bits"
        )


def _read_stream(fd: int, path: str) -> Evidence:
    pieces, size = [], 0
    try:
        while piece := os.read(fd, _CHUNK_BYTES):
            pieces.append(piece)
            size += len(piece)
            if size > STREAM_LIMIT_BYTES:
                raise LimitExceeded(f"{path}: more than {STREAM_LIMIT_BYTES} bytes; no Kafka file is that large")
    except OSError as e:
        raise cannot_read(path, e) from None
    return from_bytes(b"".join(pieces), path)


def _kind_of(mode: int) -> str:
    for test, name in (
        (stat.S_ISDIR, "it is a directory, and a file is wanted"),
        (stat.S_ISLNK, "it is a symbolic link, and a file is wanted"),
        (stat.S_ISFIFO, "it is a FIFO, and a file is wanted; give a stream on standard input, as -"),
        (stat.S_ISSOCK, "it is a socket, and a file is wanted"),
        (stat.S_ISCHR, "it is a character device, and a file is wanted"),
        (stat.S_ISBLK, "it is a block device, and a file is wanted"),
    ):
        if test(mode):
            return name
    return "it is not a regular file"
