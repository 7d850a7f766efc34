"""`kidx lookup`: search an index as a broker does."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from kidx.cli import lookup_options, options, search_options, values
from kidx.cli.commands import TakesNegativeNumbers
from kidx.report.printing import print_table

if TYPE_CHECKING:
    from kidx.tables.table import Table

_EXAMPLES = """
\b
Examples:
  kidx lookup orders-3/00000000000000000000.index 6656 --trace-pages
  kidx lookup --search both 00000000000004117222.timeindex 2026-01-31T12:00Z
  seq 1 1000 | kidx lookup --format jsonl 00000000000000000000.index -
  kidx lookup --fetch-from 0 --fetch-to 500 00000000000000000000.txnindex
  kidx lookup orders-3 4119003
  kidx lookup orders-3 --offset 4119003 --isolation read_committed
  kidx lookup orders-3 --timestamp 2026-01-31T12:00Z --start 500
  kidx lookup orders-3 --remote s3://tier --timestamp latest-tiered
"""


@click.command(
    epilog=_EXAMPLES,
    short_help="Search as a broker does, and show the way there.",
    cls=TakesNegativeNumbers,
    sections={"Transaction index: ": "Of a transaction index", "Log: ": "Of a segment or a partition"},
)
@click.argument("path", metavar="FILE", type=values.PATH)
@click.argument("targets", nargs=-1, metavar="[TARGET]...")
@search_options.search_option("warm")
@lookup_options.index_search_options
@lookup_options.log_read_options
@click.option("--trace-pages", is_flag=True, help="Show every probe and the pages it touches.")
@search_options.page_size_option
@search_options.targets_from_option
@search_options.index_kind_option
@options.base_offset_option
@options.max_inflate_bytes_option()
@options.format_option()
@options.iso_option
def command(path: str, form: str, iso: bool, **asked: Any) -> int:
    """Search FILE, an index, for each TARGET as Kafka does; or read a segment (.log) or a partition (its directory).

    A target is an offset; in a time index a time, in epoch milliseconds or ISO 8601; with --by value a position (in a
    time index an offset). `-` reads targets from standard input. OffsetIndex.fetchUpperBoundOffset(position, size) is
    `--by value --bound upper` with the sum of the two. A transaction index takes --fetch-from and --fetch-to.

    A log takes --offset (translateOffset) or --timestamp (findOffsetByTimestamp; a partition as ListOffsets does); a
    TARGET alone is an offset, or a time.
    """
    given = click.get_current_context().get_parameter_source("search")
    if given is ParameterSource.DEFAULT and asked["broker_version"] is not None:
        from kidx.formats.broker_versions import WARM_SEARCH

        asked["search"] = "warm" if asked["broker_version"] >= WARM_SEARCH else "standard"
    with ExitStack() as opened:
        table = _table_of(path, asked, iso, opened)
        from kidx.report.screens.lookup import show

        return print_table(table, form, partial(show, iso=iso), iso=iso)


def _table_of(path: str, asked: dict[str, Any], iso: bool, opened: ExitStack) -> Table:
    """The answer; the rows of an index can be read while it is open."""
    from kidx.evidence import is_directory, must_exist, open_evidence

    must_exist(path)
    page_bytes = asked["page_size"] if asked["trace_pages"] else None
    from kidx.logdir.names import LOG, index_format_of, parse_file_name
    from kidx.tables import index_lookups

    name = parse_file_name(path)
    is_log = asked["kind"] is None and ((name is not None and name.kind == LOG) or is_directory(path))
    if is_log or asked["offset"] is not None or asked["timestamp"] is not None:
        from kidx.formats.compression import inflation_budget

        opened.enter_context(inflation_budget(asked["max_inflate_bytes"]))
        return lookup_options.log_table(path, asked, page_bytes)
    index_format = index_format_of(path, asked["kind"])
    evidence = opened.enter_context(open_evidence(path))
    lookup_options.check_index_question(path, asked, index_format.relative)
    if not index_format.relative:
        return index_lookups.aborted_table(evidence, asked["fetch_from"], asked["fetch_to"])
    times = index_format.kind == "time_index" and asked["by"] == "key"
    targets = search_options.read_targets(asked["targets"], asked["from_file"], times=times)
    index = index_lookups.open_index(evidence, index_format, asked["base_offset"])
    searches = index_lookups.searches_of(asked["search"])
    how = {"by": asked["by"], "bound": asked["bound"], "page_bytes": page_bytes, "iso": iso}
    return index_lookups.lookup_table(index, targets, searches=searches, **how)
