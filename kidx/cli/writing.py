"""What the commands that write have in common: --dry-run, and carrying out steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from kidx.cli import exit_status
from kidx.cli.messages import complain
from kidx.errors import KidxError

if TYPE_CHECKING:
    from kidx.surgery.steps import Step

F = TypeVar("F", bound=Callable[..., Any])


def dry_run_option(f: F) -> F:
    """--dry-run: show, write nothing."""
    return click.option("--dry-run", is_flag=True, help="Show what would change, entry by entry; write nothing.")(f)


def carry_out_steps(steps: Iterable[Step], form: str, dry_run: bool) -> int:
    """Carry out each step, or only show it, and print the outcomes. Returns the exit status: 3 where a step failed."""
    from kidx.report.formats.render import render
    from kidx.report.screens.writes import write_diff, write_outcome
    from kidx.tables.writes import entry_change_table, entry_changes, outcomes, write_table

    failed: list[KidxError] = []

    def on_failure(e: KidxError) -> None:
        complain(str(e))
        failed.append(e)

    done = outcomes(steps, dry_run, on_failure, hashed=form != "text")
    if form != "text":
        render(entry_change_table(done) if dry_run else write_table(done), form)
        return exit_status.UNREADABLE if failed else exit_status.CLEAN
    for step, row in done:
        write_outcome(row, unchanged=not step.change.changes)
        if dry_run:
            changes = entry_changes(step)
            write_diff(changes, len(changes))
    return exit_status.UNREADABLE if failed else exit_status.CLEAN
