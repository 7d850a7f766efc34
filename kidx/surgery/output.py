"""Where output may go: never through links, onto or into evidence."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable

from kidx.errors import CannotRead, Refused, UsageError
from kidx.evidence import is_directory, is_uri
from kidx.logdir.names import parse_file_name
from kidx.logdir.tree import holds_evidence
from kidx.surgery.new_file import write_all

_OWN_BEGINNINGS = (b"<svg", b"<?xml", b"<!doctype html")  # of what kidx draws: such a file may be overwritten
_OPEN = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def write_picture(path: str, text: str) -> None:
    """Write a picture or a page to a file that is new, empty, or a picture or page already: see write_output."""
    write_output(path, text, _OWN_BEGINNINGS)


def write_output(path: str, text: str, replaceable: tuple[bytes, ...] = (b"",)) -> None:
    """Write a file that is new or empty, or that begins, in lower case, with one of `replaceable`; default: any.

    The file is written under another name, flushed, and renamed: nobody ever sees half of it. Raises UsageError for a
    link, a special file, any other file, and a place among Kafka's files; CannotRead where the system declines.
    """
    refuse_file(path)
    new = f"{path}.{os.getpid()}.new"
    try:
        mode = _mode_of_replaceable(path, replaceable)
        fd = os.open(new, _CREATE, 0o666)
        try:
            write_all(fd, text.encode("utf-8", "backslashreplace"))
            if mode is not None:
                os.fchmod(fd, mode)
            os.fsync(fd)
            os.replace(new, path)
        except OSError:
            os.unlink(new)
            raise
        finally:
            os.close(fd)
    except OSError as e:
        raise CannotRead(f"{path}: cannot be written: {(e.strerror or str(e)).lower()}") from None


def _mode_of_replaceable(path: str, replaceable: tuple[bytes, ...]) -> int | None:
    """The mode of the file that may be replaced, None where there is none. Raises UsageError, OSError."""
    try:
        fd = os.open(path, _OPEN)
    except FileNotFoundError:
        return None
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
            raise UsageError(f"{path}: not a plain file of one name; kidx writes into no other")
        if status.st_size and not os.pread(fd, 64, 0).lower().startswith(replaceable):
            raise UsageError(f"{path}: there is a file already, and it is no earlier output; name another")
        return stat.S_IMODE(status.st_mode)
    finally:
        os.close(fd)


def refuse_file(path: str) -> None:
    """Raises UsageError for an output file that is a link, is named like one of Kafka's files, or lies among them."""
    if parse_file_name(path) is not None:
        raise UsageError(f"{path}: named like one of Kafka's own files; kidx writes output to none of those")
    if os.path.islink(path):
        raise UsageError(f"{path}: a symbolic link; name the file itself")
    directory = os.path.dirname(path) or "."
    if is_directory(directory) and holds_evidence(directory):
        raise UsageError(f"{path}: Kafka's files are in that directory, and kidx writes none there; name another")


def refuse_overlap(output: str, sources: Iterable[str]) -> None:
    """Raises Refused where an output directory is a source, or lies above or below one."""
    place = os.path.realpath(output)
    for source in sources:
        if is_uri(source):
            continue
        origin = os.path.realpath(source)
        if os.path.commonpath((place, origin)) in (place, origin):
            raise Refused(f"{output}: it is, contains or lies in what is read ({source}); name another")


def refuse_place(output: str, sources: Iterable[str]) -> None:
    """Raises Refused where an output directory is a source, or lies above or below one, or has Kafka's files in it."""
    if is_uri(output):
        return
    refuse_overlap(output, sources)
    nearest = os.path.realpath(output)
    while not is_directory(nearest):
        nearest = os.path.dirname(nearest)
    if holds_evidence(nearest):
        raise Refused(f"{output}: Kafka's files are there, and kidx writes none among them; name another directory")
