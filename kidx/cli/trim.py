"""`kidx trim`: cut off an index's zero tail."""

from __future__ import annotations

import click

from kidx.cli.options import base_offset_option, examples, format_option
from kidx.cli.values import PATH
from kidx.cli.writing import carry_out_steps, dry_run_option


@click.command(
    short_help="Cut off the zero tail of an index.",
    epilog=examples(
        "kidx trim 00000000000000004117.index",
        "kidx trim --torn 00000000000000004117.timeindex",
    ),
)
@click.argument("file", type=PATH)
@click.option("--torn", is_flag=True, help="Also cut off the bytes of a torn last entry.")
@base_offset_option
@dry_run_option
@format_option()
def command(file: str, torn: bool, base_offset: int | None, dry_run: bool, form: str) -> int:
    """Cut off the zeros after an index's last entry, as a broker does when it rolls a segment or shuts down cleanly.

    In a time index, a single entry of zeros (timestamp 0, base offset) counts as such zeros. The old file is kept;
    `kidx undo FILE` restores it.
    """
    from kidx.surgery.cut import plan_trim
    from kidx.surgery.index_file import load_index
    from kidx.surgery.steps import index_step

    index = load_index(file, base_offset)
    return carry_out_steps([index_step(plan_trim(index, torn=torn), index.base_offset)], form, dry_run)
