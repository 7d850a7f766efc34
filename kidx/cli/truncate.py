"""`kidx truncate`: remove the entries at and past an offset."""

from __future__ import annotations

import click

from kidx.cli.options import base_offset_option, examples, format_option
from kidx.cli.values import OFFSET, PATH
from kidx.cli.writing import carry_out_steps, dry_run_option


@click.command(
    short_help="Remove an index's entries from an offset on.",
    epilog=examples(
        "kidx truncate 00000000000000004117.index --to 4711",
        "kidx truncate 00000000000000004117.timeindex --to 4711 --dry-run",
    ),
)
@click.argument("file", type=PATH)
@click.option("--to", "offset", type=OFFSET, required=True, help="The first offset to remove.")
@click.option("--keep-allocated", is_flag=True, help="Keep the file's size, with zeros after the entries.")
@base_offset_option
@dry_run_option
@format_option()
def command(file: str, offset: int, keep_allocated: bool, base_offset: int | None, dry_run: bool, form: str) -> int:
    """Remove an index's entries at and past an offset, as Kafka's truncateTo does, and trim the file.

    The log itself is never changed. The old file is kept; `kidx undo FILE` restores it.
    """
    from kidx.surgery.cut import plan_truncate
    from kidx.surgery.index_file import load_index
    from kidx.surgery.steps import index_step

    index = load_index(file, base_offset)
    change = plan_truncate(index, offset, keep_allocated=keep_allocated)
    return carry_out_steps([index_step(change, index.base_offset)], form, dry_run)
