"""One name in a directory, as a listing gives it."""

from __future__ import annotations

import errno
import os

from kidx.evidence.file import cannot_read

ABSENT = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG)  # errors that mean that there is nothing


class Entry:
    """One name in a directory: an os.DirEntry whose failures raise CannotRead with its path."""

    __slots__ = ("_entry", "name", "path")

    def __init__(self, entry: os.DirEntry[str]) -> None:
        self._entry, self.name, self.path = entry, entry.name, entry.path

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        """Whether it is a directory."""
        try:
            return self._entry.is_dir(follow_symlinks=follow_symlinks)
        except OSError as e:
            if e.errno in ABSENT:
                return False
            raise cannot_read(self.path, e) from None

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        """Whether it is a regular file."""
        try:
            return self._entry.is_file(follow_symlinks=follow_symlinks)
        except OSError as e:
            if e.errno in ABSENT:
                return False
            raise cannot_read(self.path, e) from None

    def is_symlink(self) -> bool:
        """Whether it is a symbolic link."""
        return self._entry.is_symlink()

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        """Its size and times."""
        try:
            return self._entry.stat(follow_symlinks=follow_symlinks)
        except OSError as e:
            raise cannot_read(self.path, e) from None
