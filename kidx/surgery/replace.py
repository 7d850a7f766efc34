"""The one place where a file is exchanged.

In this order, each step flushed before the next: the old bytes are kept (`.kidx/<name>~<hash>`), the new ones written
beside (`.kidx/<name>.new`) with the old owner and mode, the journal gets its line, the file is looked at once more,
and one rename puts the new file in its place. A crash at any point leaves the old file or the new one, whole; a failure
before the rename leaves nothing but the old file. Reading stays with kidx.evidence.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from typing import NamedTuple

from kidx.errors import Refused
from kidx.evidence import open_evidence
from kidx.surgery import journal
from kidx.surgery.broker import broker_kept_out
from kidx.surgery.journal import State
from kidx.surgery.new_file import (
    copy_access_lists,
    flush_directory,
    refusing,
    state_for_new_file,
    state_of,
    write_file,
)
from kidx.surgery.workplace import locked, workplace


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
    with broker_kept_out(directory), locked(directory) as place:
        old = _look(change, place)
        entry = journal.make_entry(run, change.command, name, old, change.after, undoes)
        with refusing(change.path), workplace(place, directory) as bench:
            if change.before is not None and entry.backup is not None:
                bench.keep(entry.backup, change.before)
            if change.after is not None:
                made_like = restore or old or state_for_new_file(directory, like)
                bench.write(name + ".new", change.after, made_like)
                if restore:
                    os.utime(name + ".new", ns=(restore.mtime_ns, restore.mtime_ns), dir_fd=bench.fd)
                if old:
                    copy_access_lists(change.path, os.path.join(journal.beside(change.path), name + ".new"))
            bench.note(journal.encode(entry))
            if _look(change, place) != old:
                raise _changed(change.path)
            with bench.for_good():
                if change.after is not None:
                    os.rename(name + ".new", name, src_dir_fd=bench.fd, dst_dir_fd=place)
                else:
                    os.unlink(name, dir_fd=place)
        flush_directory(place, change.path)
    return os.path.join(journal.beside(change.path), entry.backup) if entry.backup else None


def create_apart(path: str, data: bytes, *, like: str | None = None) -> None:
    """Write a new file that stands by itself (--output): safely as above, without a journal.

    A file that is there already is refused unless it has these very bytes. Raises Refused.
    """
    directory, name = os.path.dirname(path) or ".", os.path.basename(path)
    with broker_kept_out(directory), refusing(path):
        os.makedirs(directory, exist_ok=True)
        with locked(directory) as place:
            there = read_whole(path)
            if there == data:
                return
            if there is not None:
                raise Refused(f"{path}: there is another file already; name a directory that has none")
            state = state_for_new_file(directory, None)
            beside = f".{name}.new"
            with suppress(FileNotFoundError):
                os.unlink(beside, dir_fd=place)
            try:
                write_file(place, beside, data, state)
                os.rename(beside, name, src_dir_fd=place, dst_dir_fd=place)
            except BaseException:
                with suppress(OSError):
                    os.unlink(beside, dir_fd=place)
                raise
            flush_directory(place, path)


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
        return state_of(opened, change.before)


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
