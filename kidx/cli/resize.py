"""`kidx resize`: give an index another allocated size."""

from __future__ import annotations

import click

from kidx.cli.options import base_offset_option, dry_run_option, examples, format_option
from kidx.cli.values import Bytes
from kidx.cli.writing import carry_out_steps, one_step


@click.command(
    short_help="Give an index another allocated size.",
    epilog=examples(
        "kidx resize --max-index-size 10485760 00000000000000004117.index",
    ),
)
@click.argument("file", type=click.Path(readable=False))
@click.option(
    "--max-index-size",
    type=Bytes(most=2**31 - 1),
    required=True,
    help="The size, rounded down to whole entries (segment.index.bytes).",
)
@base_offset_option
@dry_run_option
@format_option()
def command(file: str, max_index_size: int, base_offset: int | None, dry_run: bool, form: str) -> int:
    """Give an offset or time index another size, zeros after its entries, as a broker does to an active segment's.

    Refused where the entries would not fit. The file as it was is kept; `kidx undo FILE` brings it back.
    """
    from kidx.surgery.cut import plan_resize
    from kidx.surgery.index_file import load_index

    index = load_index(file, base_offset)
    return carry_out_steps([one_step(plan_resize(index, max_index_size), index.base_offset)], form, dry_run)
