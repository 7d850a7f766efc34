"""`kidx undo`: bring back what kidx replaced."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import click

from kidx.cli.options import dry_run_option, examples, format_option
from kidx.cli.writing import Step, carry_out_steps


@click.command(
    short_help="Bring back a file as it was before kidx wrote it.",
    epilog=examples(
        "kidx undo orders-3/00000000000000004117.index",
        "kidx undo --dry-run orders-3",
    ),
)
@click.argument("path", type=click.Path(readable=False))
@dry_run_option
@format_option()
def command(path: str, dry_run: bool, form: str) -> int:
    """Bring back a file as it was before kidx last changed it: its bytes, mode and modification time.

    A file that kidx made is removed. For a directory, all changes of the newest kidx command in or below it are taken
    back. Refused where something else has written the file since, or where its backup (in .kidx/ beside it) is not as
    it was made. Called again, it takes back the change before.
    """
    return carry_out_steps(_steps(path, dry_run), form, dry_run)


def _steps(path: str, dry_run: bool) -> Iterator[Step]:
    from kidx.surgery.journal import new_run
    from kidx.surgery.undo import plan_undo

    run, said = new_run(), "would take back" if dry_run else "took back"
    for undo in plan_undo(path):
        yield Step(undo.change, None, partial(undo.carry_out, run), f"{said} `{undo.entry.command}`")
