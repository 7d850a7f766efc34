"""`kidx trace`: the pages that look-ups in an index touch."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from kidx.cli import commands, options, search_options, trace_options, values
from kidx.report.printing import print_table, wants_color

if TYPE_CHECKING:
    from kidx.tables.table import Table

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
    cls=commands.TakesNegativeNumbers,
    sections={f"--{mode}: ": f"With --{mode}" for mode in ("grow", "observe", "simulate")},
)
@click.argument("path", metavar="[FILE]", required=False, type=values.PATH)
@click.argument("targets", nargs=-1, metavar="[TARGET]...")
@trace_options.mode_options
@search_options.search_option("both")
@search_options.page_size_option
@search_options.targets_from_option
@search_options.index_kind_option
@options.base_offset_option
@options.format_option()
@options.color_option
def command(form: str, color: str, svg: str | None, html: str | None, **asked: Any) -> int:
    """Show which pages of FILE, an index, the look-up of each TARGET touches, under Kafka's searches before and since
    KAFKA-6432, side by side.

    A target is an offset (`-`: from standard input); in a time index a time, in epoch milliseconds or ISO 8601.

    --grow shows how an index that grows by a page needs other pages. --resident shows which pages are in memory now,
    --observe which pages a look-up really brings in, --simulate what many look-ups cost when memory is short.
    """
    mode = trace_options.mode_of(asked)
    with ExitStack() as opened:
        table = _table_of(mode, asked, opened)
        if svg or html:
            from kidx.report.screens.picture_files import draw

            table = draw(table, svg, html)
        if mode in (trace_options.PAGES, trace_options.GROW):
            from kidx.report.screens.trace import show

            return print_table(table, form, partial(show, color=wants_color(color)))
        from kidx.report.screens import page_laboratory

        return print_table(table, form, page_laboratory.show)


def _table_of(mode: str, asked: dict[str, Any], opened: ExitStack) -> Table:
    """The answer; the rows can be read while the index is open."""
    from kidx.tables import index_lookups, observation, trace

    how = {"searches": index_lookups.searches_of(asked["search"]), "page_bytes": asked["page_size"]}
    if mode == trace_options.SIMULATE:
        from kidx.tables.simulation import simulation_table

        return simulation_table(**trace_options.simulation(asked), **how)
    from kidx.evidence import open_evidence
    from kidx.logdir.names import index_format_of

    if asked["path"] is None:
        return trace.growth_table(asked["pages"] or 13, asked["entry_size"] or 8, **how)
    evidence = opened.enter_context(open_evidence(asked["path"]))
    if mode == trace_options.RESIDENT and not asked["targets"] and asked["from_file"] is None:
        return observation.residency_table(evidence)
    index_format = index_format_of(evidence.path, asked["kind"])
    if mode == trace_options.GROW:
        return trace.growth_table_of(evidence, index_format, asked["pages"], asked["entry_size"], **how)
    index = index_lookups.open_index(evidence, index_format, asked["base_offset"])
    times = index_format.kind == "time_index"
    targets = search_options.read_targets(asked["targets"], asked["from_file"], times=times)
    trace_options.check_targets(mode, asked, bool(targets))
    if mode == trace_options.PAGES:
        return trace.trace_table(index, targets, workload=asked["workload"], seed=asked["seed"], **how)
    if mode == trace_options.RESIDENT:
        return observation.residency_table(evidence, index, targets, searches=how["searches"])
    how = {"searches": how["searches"], "evict_original": asked["evict_original"]}
    return observation.observation_table(evidence, index, targets, **how)
