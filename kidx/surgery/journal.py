"""The directory `.kidx/` next to a file: what kidx changed there, and the bytes from before.

    <directory>/.kidx/journal.jsonl              one line a change, written before the file is exchanged
    <directory>/.kidx/<file name>~<sha256[:16]>  a backup, named by its content
    <directory>/.kidx/<file name>.new            the new file, until it is renamed

For the files of a log dir itself they are files of that directory, `.kidx-journal.jsonl` and so on: a broker refuses to
start on a log dir with a directory that is no partition, and ignores files.

Brokers ignore a partition's: LogLoader looks at files only, by suffix, and requires of a directory only that it can be
read; deleting the partition deletes it too. No name in it is that of a data file, so no reading command takes one for
a segment's.

A line says what is about to happen, and hashes say whether it did: where the file still is as `before`, it did not.

A journal may have come with the evidence, so nothing in it is believed that could reach beyond the files of its
own directory: see docs/security.md.
"""

from __future__ import annotations

import os
import time
from typing import NamedTuple

from kidx import __version__
from kidx.errors import CannotRead
from kidx.evidence import Evidence
from kidx.logdir.names import INDEX_OF_KIND, PRODUCER_SNAPSHOT, parse_file_name
from kidx.surgery.content import sha256_of

WORKPLACE = ".kidx"
LOG_DIR_PREFIX = ".kidx-"
JOURNAL = "journal.jsonl"
SCHEMA = "kidx.journal.v1"
PERMISSION_BITS = 0o777


_OF_LOG_DIR = "offset_checkpoint"
_WRITTEN_KINDS = (*INDEX_OF_KIND, PRODUCER_SNAPSHOT, "leader_epochs", _OF_LOG_DIR)


def is_of_log_dir(name: str) -> bool:
    """Whether a file kidx replaces lies in a log dir itself, not in a partition."""
    parsed = parse_file_name(name)
    return parsed is not None and parsed.kind == _OF_LOG_DIR


def kept_path(path: str, name: str) -> str:
    """Where the workplace of a file has something by its name: the journal, a backup."""
    directory = os.path.dirname(path)
    if is_of_log_dir(path):
        return os.path.join(directory, LOG_DIR_PREFIX + name)
    return os.path.join(directory, WORKPLACE, name)


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
    run: str, command: str, file: str, before: State | None, after: Evidence | None, undoes: str | None = None
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
        after_sha256=None if after is None else sha256_of(after),
        after_size=None if after is None else after.size,
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


def read_journal(journal: Evidence, *, of_log_dir: bool) -> list[Entry]:
    """The entries of a journal, oldest first.

    A line that is no JSON is left out: a crash cut it short, before anything else happened. Raises CannotRead for one
    that kidx cannot have written.
    """
    import json

    path = journal.path
    entries = []
    for line in journal.read_all().splitlines():
        try:
            fields = json.loads(line)
        except ValueError:
            continue
        except RecursionError:
            fields = None
        entry = _entry_of(fields)
        if entry is None or is_of_log_dir(entry.file) != of_log_dir:
            raise CannotRead(f"{path}: a line in it is not of kidx's journal ({SCHEMA}): {line[:60]!r}")
        entries.append(entry)
    return entries


def _entry_of(fields: object) -> Entry | None:
    """The entry of a line's JSON, None where kidx never writes such a line."""
    if not isinstance(fields, dict) or fields.pop("schema", None) != SCHEMA or set(fields) != set(Entry._fields):
        return None
    if (state := fields["before"]) is not None:
        if not isinstance(state, dict) or set(state) != set(State._fields):
            return None
        numbers = {name: value for name, value in state.items() if name != "sha256"}
        if any(type(value) is not int or not 0 <= value < 2**63 for value in numbers.values()):
            return None
        fields["before"] = before = State(**state)
        if not _is_sha256(before.sha256) or before.mode & ~PERMISSION_BITS:
            return None
    if any(not isinstance(fields[name], str) for name in ("id", "run", "time", "kidx", "command", "file")):
        return None
    entry = Entry(**fields)
    backup = entry.before and backup_name(entry.file, entry.before.sha256)
    sound = (
        is_written_name(entry.file)
        and entry.backup == backup
        and (entry.undoes is None or isinstance(entry.undoes, str))
        and (entry.after_sha256 is None) == (entry.after_size is None)
        and (entry.after_sha256 is None or _is_sha256(entry.after_sha256))
        and (entry.after_size is None or (type(entry.after_size) is int and entry.after_size >= 0))
    )
    return entry if sound else None


def is_written_name(name: str) -> bool:
    """Whether it is a plain name of a file that kidx ever replaces: an index, or what rebuild makes beside them."""
    parsed = parse_file_name(name)
    return os.path.basename(name) == name and "\0" not in name and parsed is not None and parsed.kind in _WRITTEN_KINDS


def _is_sha256(text: object) -> bool:
    return isinstance(text, str) and len(text) == 64 and all(c in "0123456789abcdef" for c in text)


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
