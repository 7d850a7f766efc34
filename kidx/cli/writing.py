"""What the commands that write share: carrying changes out, and limiter of them. Nothing here needs click."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from kidx.cli import complain, exit_status
from kidx.errors import KidxError

if TYPE_CHECKING:
    from kidx.evidence import Evidence
    from kidx.surgery.diff import EntryChanges
    from kidx.surgery.replace import Change


class Step(NamedTuple):
    """One file's change: `write` carries it out and returns its backup's path; `said` is what else is to be told."""

    change: Change
    base_offset: int | None
    write: Callable[[], str | None]
    said: str = ""


def one_step(change: Change, base_offset: int) -> Step:
    """The step of a command that changes one index; a new file gets the owner and mode of its segment's log."""
    import os

    from kidx.surgery.journal import new_run
    from kidx.surgery.replace import carry_out

    log = os.path.splitext(change.path)[0] + ".log"
    like = log if os.path.isfile(log) else None
    return Step(change, base_offset, lambda: carry_out(change, new_run(), like=like))


def carry_out_steps(steps: Iterable[Step], form: str, dry_run: bool) -> int:
    """Carry out each step, or show it, and tell of it in the form asked for; one that fails does not stop the others.

    The command's exit status: 3 where a step failed.
    """
    from kidx.report.screens import writes

    failed: list[bool] = []
    if form == "text":
        for step, row in _outcomes(steps, dry_run, failed, hashed=False):
            writes.write_line(row, unchanged=not step.change.changes)
            if dry_run:
                changes = _entry_changes(step)
                writes.change_lines(changes, len(changes))
    else:
        from kidx.report.formats.render import render
        from kidx.tables.table import Table

        done = _outcomes(steps, dry_run, failed)
        if dry_run:
            rows_of = ((step.change.path, *change) for step, _ in done for change in _entry_changes(step))
            render(Table(writes.CHANGE_SCHEMA, writes.CHANGE_COLUMNS, rows_of), form)
        else:
            rows = (tuple(row[c.name] for c in writes.WRITE_COLUMNS) for _, row in done)
            render(Table(writes.WRITE_SCHEMA, writes.WRITE_COLUMNS, rows), form)
    return exit_status.UNREADABLE if failed else exit_status.CLEAN


def _outcomes(
    steps: Iterable[Step], dry_run: bool, failed: list[bool], *, hashed: bool = True
) -> Iterator[tuple[Step, dict[str, Any]]]:
    for step in steps:
        backup, written = None, False
        try:
            if not dry_run and step.change.changes:
                backup, written = step.write(), True
        except KidxError as e:
            complain(str(e))
            failed.append(True)
            continue
        yield step, _outcome(step, written, backup, hashed)


def _outcome(step: Step, written: bool, backup: str | None, hashed: bool) -> dict[str, Any]:
    """A row of kidx.write.v1; `hashed` with its hashes."""
    from kidx.surgery.content import sha256_of

    change = step.change
    row: dict[str, Any] = {"file": change.path, "action": change.command, "written": written}
    for when, data in (("before", change.before), ("after", change.after)):
        index = _index(step, data)
        row[f"entries_{when}"] = None if index is None or data is None else index.extent.entries
        row[f"bytes_{when}"] = None if data is None else data.size
        row[f"sha256_{when}"] = sha256_of(data) if hashed and data is not None else None
    return row | {"backup": backup, "said": step.said or None}


def _entry_changes(step: Step) -> EntryChanges | tuple[()]:
    from kidx.surgery.diff import EntryChanges

    before, after = _index(step, step.change.before), _index(step, step.change.after)
    return () if before is None or after is None else EntryChanges(before, after)


def _index(step: Step, data: Evidence | None) -> Any:
    """The bytes as an index, None for a file that is none (undo restores whatever was there)."""
    from kidx.logdir.names import INDEX_OF_KIND, parse_file_name
    from kidx.surgery.index_file import IndexFile

    name = parse_file_name(step.change.path)
    if name is None or name.kind not in INDEX_OF_KIND:
        return None
    base_offset = step.base_offset if step.base_offset is not None else name.base_offset
    return IndexFile(step.change.path, INDEX_OF_KIND[name.kind], base_offset or 0, data)
