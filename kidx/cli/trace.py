"""kidx trace: which pages look-ups in an index touch."""

from __future__ import annotations

from typing import Any

import click

from kidx.cli import options, search_options
from kidx.errors import UsageError

_EXAMPLES = """
\b
Examples:
  kidx trace orders-3/00000000000000000000.index 6656
  kidx trace orders-3/00000000000000000000.timeindex --workload tail
  kidx trace orders-3/00000000000000000000.index --workload replay --from-file offsets.txt
  kidx trace --grow --pages 13
  kidx trace --grow --entry-size 12 --page-size 16384
"""


@click.command(
    epilog=_EXAMPLES,
    context_settings={"ignore_unknown_options": True},  # so that a target may be negative
)
@click.argument("path", metavar="[FILE]", required=False)
@click.argument("targets", nargs=-1, metavar="[TARGET]...")
@click.option(
    "--workload",
    type=click.Choice(["tail", "uniform", "all", "replay"]),
    help="Instead of targets: the warm section's entries, 100,000 random keys, every entry, or --from-file's targets.",
)
@click.option("--seed", type=int, default=1, show_default=True, help="Of the random keys.")
@click.option("--grow", is_flag=True, help="What the last entry's look-up newly needs once the index is a page longer.")
@click.option("--pages", type=click.IntRange(1, 1 << 20), help="--grow: from that many full pages (FILE's, or 13).")
@click.option("--entry-size", type=click.IntRange(1, 4096), help="--grow: bytes an entry (FILE's, or 8).")
@search_options.search_option("both")
@search_options.page_size_option
@search_options.targets_from_option
@search_options.index_kind_option
@options.base_offset_option
@options.format_option()
@options.color_option
def command(path: str | None, grow: bool, form: str, color: str, **asked: Any) -> None:
    """Show which pages of FILE, an index, the look-up of each TARGET touches, under Kafka's searches before and since
    KAFKA-6432, side by side.

    A target is an offset (`-`: from standard input); in a time index a time, in epoch milliseconds or ISO 8601.
    """
    from kidx.cli.trace_tables import growth_table, trace_table
    from kidx.evidence import open_evidence

    if path is None:
        if not grow:
            raise UsageError("no file given; name an index and targets, or use --grow, which needs no file")
        _show(growth_table(None, **asked), form, color)
        return
    with open_evidence(path) as evidence:
        _show((growth_table if grow else trace_table)(evidence, **asked), form, color)


def _show(table: Any, form: str, color: str) -> None:
    if form == "text":
        from kidx.report.trace_screen import show

        show(table, color=options.wants_color(color))
    else:
        from kidx.report.render import render

        render(table, form)
