"""`kidx undo`: revert what kidx wrote."""

from __future__ import annotations

import click

from kidx.cli.options import examples, format_option
from kidx.cli.values import PATH
from kidx.cli.writing import carry_out_steps, dry_run_option


@click.command(
    short_help="Revert kidx's last change of a file or directory.",
    epilog=examples(
        "kidx undo orders-3/00000000000000004117.index",
        "kidx undo --dry-run orders-3",
    ),
)
@click.argument("path", type=PATH)
@dry_run_option
@format_option()
def command(path: str, dry_run: bool, form: str) -> int:
    """Revert kidx's last change of a file: restore its bytes, mode and modification time.

    A file that kidx created is removed. For a directory, all changes of the newest kidx command in or below it are
    reverted. Refused where something else has written the file since, or where its backup (in .kidx/ next to it) was
    altered. Called again, it reverts the change before.
    """
    from kidx.surgery.steps import undo_steps

    return carry_out_steps(undo_steps(path, dry_run=dry_run), form, dry_run)
