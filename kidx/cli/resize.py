"""`kidx resize`: change the allocated size of an index."""

from __future__ import annotations

import click

from kidx.cli.options import base_offset_option, examples, format_option
from kidx.cli.values import PATH, Bytes
from kidx.cli.writing import carry_out_steps, dry_run_option


@click.command(
    short_help="Change the allocated size of an index.",
    epilog=examples(
        "kidx resize --max-index-size 10485760 00000000000000004117.index",
    ),
)
@click.argument("file", type=PATH)
@click.option(
    "--max-index-size",
    type=Bytes(most=2**31 - 1),
    required=True,
    help="The size, rounded down to complete entries (segment.index.bytes).",
)
@base_offset_option
@dry_run_option
@format_option()
def command(file: str, max_index_size: int, base_offset: int | None, dry_run: bool, form: str) -> int:
    """Change the size of an offset or time index, with zeros after its entries, as a broker preallocates an active one.

    Refused if the entries do not fit. The old file is kept; `kidx undo FILE` restores it.
    """
    from kidx.surgery.cut import plan_resize
    from kidx.surgery.index_file import load_index
    from kidx.surgery.steps import index_step

    index = load_index(file, base_offset)
    return carry_out_steps([index_step(plan_resize(index, max_index_size), index.base_offset)], form, dry_run)
