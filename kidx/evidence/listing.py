"""Names: what a directory holds and what kind of thing a path is. No file is opened here.

A failure of the system is never taken for a missing file: the CannotRead that says so belongs to the path.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Sequence

from kidx.evidence.entry import ABSENT, Entry
from kidx.evidence.file import cannot_read

STDIN_NAMES = ("-", "/dev/stdin")


def list_directory(path: str) -> Sequence[Entry]:
    """A directory's entries by name; none of them is opened. Raises CannotRead."""
    if is_uri(path):
        from kidx.evidence.remote import list_remote

        return list_remote(path)
    try:
        with os.scandir(path) as entries:
            return sorted(map(Entry, entries), key=lambda entry: entry.name)
    except (OSError, ValueError) as e:
        raise cannot_read(path, e) from None


def may_be_object(path: str) -> bool:
    """Whether a path may name a part of a remote log segment: a dash follows 20 characters (remote_objects)."""
    name = path[path.rfind("/") + 1 :]
    return name[20:21] == "-" and len(name) > 43


def _is_part(path: str) -> bool:
    """Whether a path that names no file names a part of a remote segment."""
    if not may_be_object(path):
        return False
    from kidx.evidence.tiered import has_part

    return has_part(path)


def file_size(path: str) -> int:
    """A file's size in bytes, without opening it; a part of a remote segment is opened. Raises CannotRead."""
    if _is_part(path) and (is_uri(path) or not _there(path)):
        from kidx.evidence.local import open_evidence

        with open_evidence(path) as evidence:
            return evidence.size
    if is_uri(path):
        from kidx.evidence.remote import remote_status

        status = remote_status(path)
        if status is None:
            raise cannot_read(path, OSError(errno.ENOENT, ""))
        return status[1]
    try:
        return os.stat(path).st_size
    except (OSError, ValueError) as e:
        raise cannot_read(path, e) from None


def is_uri(path: str) -> bool:
    """Whether a path names a file elsewhere: s3://bucket/key, hdfs://host/path (see kidx.evidence.remote)."""
    scheme, there, _ = path.partition("://")
    return bool(there) and scheme.isascii() and scheme[:1].isalpha() and all(c.isalnum() or c in "+.-" for c in scheme)


def must_exist(path: str) -> None:
    """Raises CannotRead where there is nothing of that name, to be asked before a name is called wrong."""
    if path not in STDIN_NAMES and not exists(path):
        raise cannot_read(path, OSError(errno.ENOENT, ""))


def exists(path: str) -> bool:
    """Whether there is anything of that name, including dangling symbolic links, and parts of remote segments.

    Raises CannotRead.
    """
    return _is_part(path) or _there(path)


def _there(path: str) -> bool:
    if is_uri(path):
        from kidx.evidence.remote import remote_status

        return remote_status(path) is not None
    return _mode(path, follow=False) is not None


def is_directory(path: str) -> bool:
    """Whether it is a directory, or a link to one. Raises CannotRead."""
    if is_uri(path):
        from kidx.evidence.remote import remote_status

        status = remote_status(path)
        return status is not None and status[0] == "directory"
    mode = _mode(path, follow=True)
    return mode is not None and stat.S_ISDIR(mode)


def is_file(path: str) -> bool:
    """Whether it is a regular file, or a link to one. Raises CannotRead."""
    if is_uri(path):
        from kidx.evidence.remote import remote_status

        status = remote_status(path)
        return status is not None and status[0] == "file"
    mode = _mode(path, follow=True)
    return mode is not None and stat.S_ISREG(mode)


def absolute(path: str) -> str:
    """A path that does not depend on the working directory; a URI is one already."""
    return path.rstrip("/") if is_uri(path) else os.path.abspath(path)


def _mode(path: str, *, follow: bool) -> int | None:
    """The mode of what stands at a path, None where there is nothing. Raises CannotRead where that is unknown."""
    try:
        return os.stat(path, follow_symlinks=follow).st_mode
    except ValueError:  # no file can have such a name
        return None
    except OSError as e:
        if e.errno in ABSENT:
            return None
        raise cannot_read(path, e) from None
