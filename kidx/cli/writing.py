"""What the commands that write have in common: --dry-run, and carrying out steps."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import click

from kidx import exit_status
from kidx.errors import KidxError
from kidx.report.printing import complain

if TYPE_CHECKING:
    from kidx.surgery.steps import Step
    from kidx.tables.writes import Outcome

F = TypeVar("F", bound=Callable[..., Any])


def dry_run_option(f: F) -> F:
    """--dry-run: show, write nothing."""
    return click.option("--dry-run", is_flag=True, help="Show what would change, entry by entry; write nothing.")(f)


class Failures:
    """Reports each failure on stderr. `status` is the largest of their exit statuses."""

    def __init__(self) -> None:
        self.status = exit_status.CLEAN

    def __call__(self, failure: KidxError) -> None:
        complain(str(failure))
        self.status = max(self.status, failure.exit_status)


def carry_out_steps(steps: Iterable[Step], form: str, dry_run: bool) -> int:
    """Carry out each step, or only show it, and print the outcomes. Returns the exit status: 3 where a step failed.

    Where standard output fails (a full disk), stderr says what was written. Raises OSError then.
    """
    from kidx.report.formats.render import render
    from kidx.report.screens.writes import write_diff, write_outcome
    from kidx.tables.writes import entry_change_table, entry_changes, outcomes, write_table

    failures = Failures()
    written: list[str] = []

    def noted(done: Iterable[Outcome]) -> Iterator[Outcome]:
        for step, row in done:
            if row["written"]:
                written.append(f"{row['file']}: written" + (f"; backup {row['backup']}" if row["backup"] else ""))
            yield step, row

    done = noted(outcomes(steps, dry_run, failures, hashed=form != "text"))
    try:
        if form != "text":
            render(entry_change_table(done) if dry_run else write_table(done), form)
        else:
            for step, row in done:
                write_outcome(row, unchanged=not step.change.changes)
                if dry_run:
                    changes = entry_changes(step)
                    write_diff(changes, len(changes))
        sys.stdout.flush()
    except OSError:
        for sentence in written:
            complain(sentence)
        raise
    return exit_status.UNREADABLE if failures.status else exit_status.CLEAN
