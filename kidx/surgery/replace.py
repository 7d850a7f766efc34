"""The one place where a file is replaced.

In this order, each step flushed before the next: the old bytes are kept (`.kidx/<name>~<hash>`), the new ones are
written to `.kidx/<name>.new` with the old owner and mode, the journal gets its line, the file is compared once more,
and one rename puts the new file in its place. A crash at any point leaves the old file or the new one, complete; a
failure before the rename leaves nothing but the old file. Files are opened by plain names in an open directory, never
through a link. Reading stays with kidx.evidence.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from typing import NamedTuple

from kidx.errors import Refused
from kidx.evidence import Evidence, exists, open_inside
from kidx.surgery import journal
from kidx.surgery.broker import broker_kept_out
from kidx.surgery.content import same_bytes, sha256_of
from kidx.surgery.journal import State
from kidx.surgery.new_file import (
    access_lists,
    flush_directory,
    refusing,
    state_for_new_file,
    state_of,
    write_file,
)
from kidx.surgery.workplace import locked, open_directory, workplace


class Change(NamedTuple):
    """A change of one file that has not been made yet. None stands for no file."""

    path: str
    command: str
    before: Evidence | None
    after: Evidence | None

    @property
    def changes(self) -> bool:
        """Whether carrying it out would change anything."""
        return not same_bytes(self.before, self.after)


def open_current(path: str, root: str | None = None) -> Evidence | None:
    """The file to be replaced as it is now, None where there is none. Raises Refused for a link or a special file.

    No link is followed below the directory `root` (default: the file's own directory).
    """
    directory, name = os.path.dirname(path) or ".", os.path.basename(path)
    if not exists(path):
        return None
    with refusing(path), open_directory(directory, root) as place:
        return _open_plain(place, name, path)


def carry_out(
    change: Change,
    run: str,
    *,
    like: str | None = None,
    undoes: str | None = None,
    restore: State | None = None,
    root: str | None = None,
) -> str | None:
    """Make a change, with backup and journal; the backup's path, None where there was no file before.

    A new file gets owner and mode of `like` (its segment's log), or its directory's owner. `restore` gives an old mode
    and modification time back; the owner stays what it is now. No link is followed below the directory `root`. Raises
    Refused where it is declined or fails: then nothing was changed.
    """
    directory, name = os.path.dirname(change.path) or ".", os.path.basename(change.path)
    with broker_kept_out(directory), locked(directory, root) as place:
        with refusing(change.path):
            now = _current_if_unchanged(change, place)
            old = _state(now)
            entry = journal.make_entry(run, change.command, name, old, change.after, undoes)
        with refusing(change.path), workplace(place, directory, of_log_dir=journal.is_of_log_dir(name)) as bench:
            if now is not None and entry.backup is not None:
                bench.keep(entry.backup, now)
            if change.after is not None:
                made_like = old or state_for_new_file(place, like)
                if restore:
                    made_like = made_like._replace(mode=restore.mode)
                attributes = () if now is None else access_lists(now)
                mtime_ns = restore.mtime_ns if restore else None
                bench.write(name + ".new", change.after, made_like, attributes, mtime_ns)
            bench.note(journal.encode(entry))
            if _state(_current_if_unchanged(change, place)) != old:
                raise _changed(change.path)
            with bench.for_good():
                if change.after is not None:
                    os.rename(bench.named(name + ".new"), name, src_dir_fd=bench.fd, dst_dir_fd=place)
                else:
                    os.unlink(name, dir_fd=place)
        flush_directory(place, change.path)
    return journal.kept_path(change.path, entry.backup) if entry.backup else None


def create_apart(path: str, content: Evidence, *, like: str | None = None) -> None:
    """Write a new file elsewhere (--output): as safely as above, without a journal. An existing file is refused unless
    it has the same bytes. Raises Refused.
    """
    directory, name = os.path.dirname(path) or ".", os.path.basename(path)
    with broker_kept_out(directory), refusing(path):
        os.makedirs(directory, exist_ok=True)
        with locked(directory) as place:
            existing = open_current(path)
            if existing is not None and same_bytes(existing, content):
                return
            if existing is not None:
                raise Refused(f"{path}: there is another file already; name a directory that has none")
            state = state_for_new_file(place, None)
            beside = f".{name}.new"
            with suppress(FileNotFoundError):
                os.unlink(beside, dir_fd=place)
            try:
                write_file(place, beside, content, state)
                os.rename(beside, name, src_dir_fd=place, dst_dir_fd=place)
            except BaseException:
                with suppress(OSError):
                    os.unlink(beside, dir_fd=place)
                raise
            flush_directory(place, path)


def _current_if_unchanged(change: Change, place: int) -> Evidence | None:
    """The file as it is now, None if there is none. Raises Refused if the change started from another one."""
    name = os.path.basename(change.path)
    try:
        os.stat(name, dir_fd=place, follow_symlinks=False)
    except FileNotFoundError:
        if change.before is not None:
            raise _changed(change.path) from None
        return None
    now = _open_plain(place, name, change.path)
    if not same_bytes(now, change.before):
        raise _changed(change.path)
    return now


def _state(file: Evidence | None) -> State | None:
    return None if file is None else state_of(os.fstat(file.fileno()), file.size, sha256_of(file))


def _open_plain(place: int, name: str, path: str) -> Evidence:
    """A file of an open directory. Raises Refused for what is never replaced, OSError."""
    status = os.stat(name, dir_fd=place, follow_symlinks=False)
    if stat.S_ISLNK(status.st_mode):
        raise Refused(f"{path}: a symbolic link; kidx replaces only the file itself: {os.path.realpath(path)}")
    if not stat.S_ISREG(status.st_mode):
        raise Refused(f"{path}: not a regular file; kidx replaces no other")
    evidence = open_inside(place, name, path)
    status = os.fstat(evidence.fileno())
    if status.st_nlink > 1:
        raise Refused(
            f"{path}: the file has {status.st_nlink} names (hard links), and replacing it would part them; "
            "copy it to a file of its own first"
        )
    return evidence


def _changed(path: str) -> Refused:
    return Refused(f"{path}: it changed while kidx worked on it; nothing was written; try again")
