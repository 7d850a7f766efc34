"""kidx trace: which pages look-ups in an index touch."""

from __future__ import annotations

from typing import Any

import click

from kidx.cli import lab_options, options, search_options
from kidx.cli.values import ANY_NUMBER, Bytes, Number

_EXAMPLES = """
\b
Examples:
  kidx trace orders-3/00000000000000000000.index 6656
  kidx trace orders-3/00000000000000000000.timeindex --workload tail
  kidx trace 00000000000000000000.index --workload replay --from-file offsets
  kidx trace --grow --pages 13
  kidx trace --grow --entry-size 12 --page-size 16384
  kidx trace orders-3/00000000000000000000.index 6656 --resident
  kidx trace orders-3/00000000000000000000.index 6656 --observe
  kidx trace --simulate --cache 64MiB --warm-bytes 4k --warm-bytes 8k
"""


@click.command(
    epilog=_EXAMPLES,
    cls=options.TakesNegativeNumbers,
    sections={
        "--grow: ": "With --grow",
        "--observe: ": "With --observe",
        "--simulate: ": "With --simulate",
    },
)
@click.argument("path", metavar="[FILE]", required=False, type=click.Path(readable=False))
@click.argument("targets", nargs=-1, metavar="[TARGET]...")
@click.option(
    "--workload",
    type=click.Choice(["tail", "uniform", "all", "replay"]),
    help="Instead of targets: the warm section's entries, 100,000 random keys, every entry, or --from-file's targets.",
)
@click.option("--seed", type=ANY_NUMBER, default=1, show_default=True, help="Of the random keys.")
@click.option("--grow", is_flag=True, help="What the last entry's look-up newly needs once the index is a page longer.")
@click.option("--pages", type=Number("N", 1, 1 << 20), help="--grow: from that many full pages (FILE's, or 13).")
@click.option("--entry-size", type=Bytes(1, 4096), help="--grow: bytes an entry (FILE's, or 8).")
@lab_options.lab_options
@search_options.search_option("both")
@search_options.page_size_option
@search_options.targets_from_option
@search_options.index_kind_option
@options.base_offset_option
@options.format_option()
@options.color_option
def command(form: str, color: str, svg: str | None, html: str | None, **asked: Any) -> None:
    """Show which pages of FILE, an index, the look-up of each TARGET touches, under Kafka's searches before and since
    KAFKA-6432, side by side.

    A target is an offset (`-`: from standard input); in a time index a time, in epoch milliseconds or ISO 8601.

    --grow tells how an index that grows by a page needs other pages. --resident, --observe and --simulate are a
    laboratory: what is in memory now, what a look-up really brings in, and what many cost when memory is short.
    """
    from kidx.cli.trace_modes import mode_of, table_of

    mode = mode_of(asked)
    with table_of(mode, asked) as table:
        if svg or html:
            from kidx.cli.pictures import draw

            table = draw(table, svg, html)
        if form != "text":
            from kidx.report.formats.render import render

            render(table, form)
        elif mode in ("resident", "observe", "simulate"):
            from kidx.report.screens import page_laboratory as lab_screen

            lab_screen.show(table)
        else:
            from kidx.report.screens import trace as trace_screen

            trace_screen.show(table, color=options.wants_color(color))
