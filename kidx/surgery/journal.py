"""The workplace beside a file, `.kidx/`: what kidx did there, and the bytes as they were before.

    <directory>/.kidx/journal.jsonl              one line a change, written before the file is exchanged
    <directory>/.kidx/<file name>~<sha256[:16]>  a backup, named by its content
    <directory>/.kidx/<file name>.new            the file to be, until it is renamed

No broker minds: LogLoader looks at files only, by suffix, and asks of a directory merely that it can be read; deleting
the partition deletes it too. No name in it is that of a data file, so no reading command takes one for a segment's.

A line says what is about to happen, and hashes say whether it did: where the file still is as `before`, it did not.
"""

from __future__ import annotations

import os
import time
from typing import Any, NamedTuple

from kidx import __version__
from kidx.errors import CannotRead
from kidx.evidence import read_file

WORKPLACE = ".kidx"
JOURNAL = "journal.jsonl"
SCHEMA = "kidx.journal.v1"
_LIMIT_BYTES = 1 << 30


def beside(path: str) -> str:
    """The workplace of a file."""
    return os.path.join(os.path.dirname(path), WORKPLACE)


def sha256(data: bytes) -> str:
    """The hash that journal and backups go by, as hex."""
    import hashlib

    return hashlib.sha256(data).hexdigest()


class State(NamedTuple):
    """A file as it was: its bytes' size and hash, its mode, owner, and modification time in nanoseconds."""

    size: int
    sha256: str
    mode: int
    uid: int
    gid: int
    mtime_ns: int


class Entry(NamedTuple):
    """One change of one file. `before` is None for a file that was created, `after_sha256` for one that was removed.

    `run` is shared by all changes of one command; `backup` is a name in the workplace; `undoes` the `id` of the entry
    that this one took back.
    """

    id: str
    run: str
    time: str
    kidx: str
    command: str
    file: str
    before: State | None
    after_sha256: str | None
    after_size: int | None
    backup: str | None
    undoes: str | None

    def happened(self, next_sha256: str | None) -> bool:
        """Whether the change was carried out, given the hash that was found there next (None: no file)."""
        return next_sha256 != (self.before.sha256 if self.before else None)


def new_run() -> str:
    """An identifier for the changes of one command: the time, and the process."""
    return f"{_now()}-{os.getpid()}"


def make_entry(
    run: str, command: str, file: str, before: State | None, after: bytes | None, undoes: str | None = None
) -> Entry:
    """The journal's line for a change that is about to be made."""
    return Entry(
        id=f"{_now()}-{os.getpid()}-{time.monotonic_ns():x}",
        run=run,
        time=_now(),
        kidx=__version__,
        command=command,
        file=file,
        before=before,
        after_sha256=None if after is None else sha256(after),
        after_size=None if after is None else len(after),
        backup=None if before is None else backup_name(file, before.sha256),
        undoes=undoes,
    )


def backup_name(file: str, content_sha256: str) -> str:
    """The name of a file's backup in the workplace."""
    return f"{file}~{content_sha256[:16]}"


def encode(entry: Entry) -> bytes:
    """An entry as its line."""
    import json

    before = entry.before and entry.before._asdict()
    return json.dumps({"schema": SCHEMA, **entry._asdict(), "before": before}, separators=(",", ":")).encode() + b"\n"


def read_journal(directory: str) -> list[Entry]:
    """The entries of the journal beside the files of a directory, oldest first; none where kidx never wrote there.

    A line that a crash cut short is left out: it was written, and would have been flushed, before anything else
    happened. Raises CannotRead.
    """
    path = os.path.join(directory, WORKPLACE, JOURNAL)
    if not os.path.lexists(path):
        return []
    import json

    entries = []
    for line in read_file(path, _LIMIT_BYTES).splitlines():
        try:
            fields: dict[str, Any] = json.loads(line)
        except ValueError:
            continue
        try:
            if fields.pop("schema") != SCHEMA:
                raise KeyError("schema")
            before = fields.pop("before")
            entries.append(Entry(before=State(**before) if before else None, **fields))
        except (KeyError, TypeError, AttributeError):
            raise CannotRead(f"{path}: a line in it is none of kidx's journal ({SCHEMA}): {line[:60]!r}") from None
    return entries


def standing_entry(entries: list[Entry], file: str, current_sha256: str | None) -> Entry | None:
    """The newest change of a file that happened and was not taken back: the one that undo is about.

    `current_sha256` is the file's hash now, None where there is no file.
    """
    mine = [e for e in entries if e.file == file]
    found_next = [e.before.sha256 if e.before else None for e in mine[1:]] + [current_sha256]
    undone: set[str] = set()
    for entry, found in zip(reversed(mine), reversed(found_next), strict=False):
        if not entry.happened(found):
            continue
        if entry.undoes:
            undone.add(entry.undoes)
        elif entry.id not in undone:
            return entry
    return None


def _now() -> str:
    now = time.time_ns()
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now // 10**9)) + f".{now // 1000 % 10**6:06d}Z"
