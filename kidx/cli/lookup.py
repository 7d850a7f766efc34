"""`kidx lookup`: search an index as a broker does."""

from __future__ import annotations

from typing import Any

import click

from kidx.cli.options import base_offset_option, format_option, iso_option
from kidx.cli.search_options import (
    index_kind_option,
    index_search_options,
    page_size_option,
    search_option,
    targets_from_option,
)

_EXAMPLES = """
\b
Examples:
  kidx lookup orders-3/00000000000000000000.index 6656 --trace-pages
  kidx lookup orders-3/00000000000000000000.timeindex 2026-01-31T12:00:00Z --search both
  seq 1 1000 | kidx lookup orders-3/00000000000000000000.index - --format jsonl
  kidx lookup orders-3/00000000000000000000.txnindex --fetch-from 0 --fetch-to 500
"""


@click.command(
    epilog=_EXAMPLES,
    short_help="Search as a broker does, and show the way there.",
    context_settings={"ignore_unknown_options": True},  # so that a target may be negative
)
@click.argument("path", metavar="FILE")
@click.argument("targets", nargs=-1, metavar="[TARGET]...")
@search_option("warm")
@index_search_options
@click.option("--trace-pages", is_flag=True, help="Show every probe and the pages it touches.")
@page_size_option
@targets_from_option
@index_kind_option
@base_offset_option
@format_option()
@iso_option
def command(
    path: str, kind: str | None, base_offset: int | None, form: str, iso: bool, trace_pages: bool, **asked: Any
) -> None:
    """Search FILE, an index, for each TARGET as Kafka does.

    A target is an offset; in a time index a time, in epoch milliseconds or ISO 8601; with --by value a position (in a
    time index an offset). `-` reads targets from standard input. OffsetIndex.fetchUpperBoundOffset(position, size) is
    `--by value --bound upper` with the sum of the two. A transaction index takes --fetch-from and --fetch-to.
    """
    from kidx.cli.lookup_index import aborted_lookup, slot_lookup
    from kidx.evidence import open_evidence
    from kidx.logdir.names import index_format_of

    index_format = index_format_of(path, kind)
    with open_evidence(path) as evidence:
        if index_format.relative:
            table = slot_lookup(evidence, index_format, base_offset, trace_pages, iso, **asked)
        else:
            table = aborted_lookup(evidence, **asked)
        if form == "text":
            from kidx.report.lookup_screen import show

            show(table, iso=iso)
        else:
            from kidx.report.render import render

            render(table, form, iso=iso)
