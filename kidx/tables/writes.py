"""The rows of the commands that write: a row for each file written, or, for --dry-run, for each entry that changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from kidx.errors import KidxError
from kidx.evidence import Evidence
from kidx.logdir.names import INDEX_OF_KIND, parse_file_name
from kidx.surgery.content import sha256_of
from kidx.surgery.diff import EntryChanges
from kidx.surgery.index_file import IndexFile
from kidx.surgery.steps import Step
from kidx.tables.table import BOOL, INT, TEXT, TREE, Column, Table

_WRITE_COLUMNS = (
    Column("file", TEXT),
    Column("action", TEXT),
    Column("written", BOOL),
    Column("entries_before", INT),
    Column("entries_after", INT),
    Column("bytes_before", INT, "bytes"),
    Column("bytes_after", INT, "bytes"),
    Column("sha256_before", TEXT),
    Column("sha256_after", TEXT),
    Column("backup", TEXT),
    Column("said", TEXT),
)
_CHANGE_COLUMNS = (Column("file", TEXT), Column("change", TEXT), Column("slot", INT), Column("entry", TREE))

Outcome = tuple[Step, dict[str, Any]]  # a step and its row, with the names of kidx.write.v1


def outcomes(
    steps: Iterable[Step], dry_run: bool, on_failure: Callable[[KidxError], None], *, hashed: bool = True
) -> Iterator[Outcome]:
    """Carry out each step, unless `dry_run`. A step that fails is passed to `on_failure` and does not stop the others.

    `hashed` adds SHA-256 hashes of the files to the rows.
    """
    for step in steps:
        backup, written = None, False
        try:
            if not dry_run and step.change.changes:
                backup, written = step.write(), True
        except KidxError as e:
            on_failure(e)
            continue
        yield step, _row(step, written, backup, hashed)


def write_table(done: Iterable[Outcome]) -> Table:
    """kidx.write.v1: a row for each file."""
    rows = (tuple(row[column.name] for column in _WRITE_COLUMNS) for _, row in done)
    return Table("kidx.write.v1", _WRITE_COLUMNS, rows)


def entry_change_table(done: Iterable[Outcome]) -> Table:
    """kidx.entry_change.v1: a row for each index entry that is removed or added."""
    rows = ((step.change.path, *change) for step, _ in done for change in entry_changes(step))
    return Table("kidx.entry_change.v1", _CHANGE_COLUMNS, rows)


def entry_changes(step: Step) -> EntryChanges | tuple[()]:
    """The entries that a step removes and adds; none where the file is not an index, or is created or removed."""
    before, after = _index(step, step.change.before), _index(step, step.change.after)
    return () if before is None or after is None else EntryChanges(before, after)


def _row(step: Step, written: bool, backup: str | None, hashed: bool) -> dict[str, Any]:
    change = step.change
    row: dict[str, Any] = {"file": change.path, "action": change.command, "written": written}
    for when, data in (("before", change.before), ("after", change.after)):
        index = _index(step, data)
        row[f"entries_{when}"] = None if index is None or data is None else index.extent.entries
        row[f"bytes_{when}"] = None if data is None else data.size
        row[f"sha256_{when}"] = sha256_of(data) if hashed and data is not None else None
    return row | {"backup": backup, "said": step.note or None}


def _index(step: Step, data: Evidence | None) -> IndexFile | None:
    """The bytes as an index; None for another kind of file, which `undo` may restore too."""
    name = parse_file_name(step.change.path)
    if name is None or name.kind not in INDEX_OF_KIND:
        return None
    base_offset = step.base_offset if step.base_offset is not None else name.base_offset
    return IndexFile(step.change.path, INDEX_OF_KIND[name.kind], base_offset or 0, data)
