"""Restores what kidx replaced, by the journal: exactly the old bytes, mode and time, or nothing.

A journal may be forged. It can name only indexes and state files of its own directory (kidx.surgery.journal);
directories below the one that was named are opened without following links; journal and backups must be plain files of
the directory's owner.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from kidx.errors import Refused
from kidx.evidence import Evidence, is_directory, list_directory
from kidx.surgery.content import sha256_of
from kidx.surgery.journal import (
    JOURNAL,
    LOG_DIR_PREFIX,
    WORKPLACE,
    Entry,
    is_of_log_dir,
    kept_path,
    read_journal,
    standing_entry,
)
from kidx.surgery.new_file import refusing
from kidx.surgery.replace import Change, carry_out, open_current
from kidx.surgery.workplace import open_backup, open_directory, open_journal


class Undo:
    """One change to take back. `change` is what restores the file, `entry` the journal's line of what is undone."""

    def __init__(self, entry: Entry, change: Change, root: str) -> None:
        self.entry, self.change, self._root = entry, change, root

    def carry_out(self, run: str) -> str | None:
        """Restore the file; returns the path of the backup of its current bytes. Raises Refused."""
        return carry_out(self.change, run, undoes=self.entry.id, restore=self.entry.before, root=self._root)


def plan_undo(path: str) -> Iterator[Undo]:
    """What `kidx undo PATH` takes back: a file's last standing change; of a directory, those of the newest run in it.

    Raises Refused where kidx changed nothing there, the file is not as kidx left it, or the backup is not as it was;
    CannotRead for a journal that kidx cannot have written.
    """
    if is_directory(path):  # or a link to one, by which the other commands work too
        yield from _plan_newest_run(path)
        return
    directory, name = os.path.dirname(path) or ".", os.path.basename(path)
    current = open_current(path)
    entries = _journal(directory, directory, of_log_dir=is_of_log_dir(name))
    entry = standing_entry(entries, name, _hash(current))
    if entry is None:
        raise Refused(f"{path}: nothing to undo: no journal has a standing change of it ({kept_path(path, JOURNAL)})")
    yield _take_back(path, directory, current, entry)


def _plan_newest_run(root: str) -> Iterator[Undo]:
    standing: list[tuple[str, Entry]] = []
    for directory, of_log_dir in _journals_below(root):
        entries = _journal(directory, root, of_log_dir=of_log_dir)
        for name in sorted({e.file for e in entries}):
            path = os.path.join(directory, name)
            entry = standing_entry(entries, name, _hash(open_current(path, root)))
            if entry is not None:
                standing.append((path, entry))
    if not standing:
        raise Refused(f"{root}: nothing to undo: no journal in or below it has a change that stands")
    newest = max(standing, key=lambda found: found[1].time)[1].run
    for path, entry in standing:
        if entry.run == newest:
            yield _take_back(path, root, open_current(path, root), entry)


def _journals_below(root: str) -> Iterator[tuple[str, bool]]:
    """The directories at or below `root` that have a journal, and whether it is a log dir's own.

    Parents come first; links are not followed.
    """
    waiting = [root]
    while waiting:
        directory = waiting.pop()
        entries = list_directory(directory)
        if any(e.name == LOG_DIR_PREFIX + JOURNAL for e in entries):
            yield directory, True
        below = [e.name for e in entries if e.is_dir(follow_symlinks=False) or e.name == WORKPLACE]
        if WORKPLACE in below:
            yield directory, False
        waiting += [os.path.join(directory, name) for name in reversed(below) if name != WORKPLACE]


def _journal(directory: str, root: str, *, of_log_dir: bool) -> list[Entry]:
    with refusing(directory), open_directory(directory, root) as place:
        journal = open_journal(place, directory, of_log_dir=of_log_dir)
        return [] if journal is None else read_journal(journal, of_log_dir=of_log_dir)


def _take_back(path: str, root: str, current: Evidence | None, entry: Entry) -> Undo:
    if _hash(current) != entry.after_sha256:
        kept = f"; its bytes from before are {kept_path(path, entry.backup)}" if entry.backup else ""
        raise Refused(
            f"{path}: something else has written it since `kidx {entry.command}` of {entry.time}, and undo would "
            f"destroy that{kept}"
        )
    before = None
    if entry.before is not None and entry.backup is not None:
        directory = os.path.dirname(path) or "."
        with refusing(path), open_directory(directory, root) as place:
            before = open_backup(place, directory, entry.backup, of_log_dir=is_of_log_dir(path))
        if sha256_of(before) != entry.before.sha256:
            raise Refused(
                f"{before.path}: this backup is not as it was made (its SHA-256 differs); nothing was changed"
            )
    return Undo(entry, Change(path, "undo", current, before), root)


def _hash(content: Evidence | None) -> str | None:
    return None if content is None else sha256_of(content)
