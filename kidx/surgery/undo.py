"""Bringing back what kidx replaced, by the journal: exactly the old bytes, mode and time, or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator

from kidx.errors import CannotRead, Refused
from kidx.evidence import list_directory, read_file
from kidx.surgery.journal import WORKPLACE, Entry, beside, read_journal, sha256, standing_entry
from kidx.surgery.replace import Change, carry_out, read_whole


class Undo:
    """One change to take back. `change` is what restores the file, `entry` the journal's line of what is undone."""

    def __init__(self, entry: Entry, change: Change) -> None:
        self.entry, self.change = entry, change

    def carry_out(self, run: str) -> str | None:
        """Restore the file; the path under which the bytes that it had until now are kept. Raises Refused."""
        return carry_out(self.change, run, undoes=self.entry.id, restore=self.entry.before)


def plan_undo(path: str) -> Iterator[Undo]:
    """What `kidx undo PATH` takes back: a file's last standing change; of a directory, those of the newest run in it.

    Raises Refused where kidx changed nothing there, the file is not as kidx left it, or the backup is not as it was.
    """
    if os.path.isdir(path):  # or a link to one, by which the other commands work too
        yield from _plan_newest_run(path)
        return
    directory, name = os.path.dirname(path) or ".", os.path.basename(path)
    current = read_whole(path)
    entry = standing_entry(read_journal(directory), name, None if current is None else sha256(current))
    if entry is None:
        raise Refused(f"{path}: nothing to undo: the journal in {beside(path)} has no standing change of it")
    yield _take_back(path, directory, current, entry)


def _plan_newest_run(path: str) -> Iterator[Undo]:
    standing: list[tuple[str, bytes | None, Entry]] = []
    for directory in _workplaces(path):
        entries = read_journal(directory)
        for name in sorted({e.file for e in entries}):
            current = read_whole(os.path.join(directory, name))
            entry = standing_entry(entries, name, None if current is None else sha256(current))
            if entry is not None:
                standing.append((directory, current, entry))
    if not standing:
        raise Refused(f"{path}: nothing to undo: no journal in or below it has a change that stands")
    newest = max(standing, key=lambda found: found[2].time)[2].run
    for directory, current, entry in standing:
        if entry.run == newest:
            yield _take_back(os.path.join(directory, entry.file), directory, current, entry)


def _workplaces(path: str) -> Iterator[str]:
    for found in list_directory(path):
        if found.name == WORKPLACE:
            yield path
        elif found.is_dir(follow_symlinks=False):
            yield from _workplaces(os.path.join(path, found.name))


def _take_back(path: str, directory: str, current: bytes | None, entry: Entry) -> Undo:
    if (None if current is None else sha256(current)) != entry.after_sha256:
        kept = f"; its bytes from before are {os.path.join(beside(path), entry.backup)}" if entry.backup else ""
        raise Refused(
            f"{path}: something else has written it since `kidx {entry.command}` of {entry.time}, and undo would "
            f"destroy that{kept}"
        )
    before = _backup(directory, entry)
    return Undo(entry, Change(path, "undo", current, before))


def _backup(directory: str, entry: Entry) -> bytes | None:
    if entry.before is None or entry.backup is None:
        return None
    path = os.path.join(directory, WORKPLACE, os.path.basename(entry.backup))
    try:
        data = read_file(path)
    except CannotRead as e:
        raise Refused(f"the backup is not to be had: {e}; nothing was changed") from None
    if sha256(data) != entry.before.sha256:
        raise Refused(f"{path}: this backup is not as it was made (its SHA-256 is another); nothing was changed")
    return data
