"""`kidx stat`: measures of indexes."""

from __future__ import annotations

import os
from functools import partial
from typing import Any

import click

from kidx.cli import options, search_options
from kidx.cli.choices import OneOf
from kidx.cli.paths import from_file_option, paths_from
from kidx.cli.tier_options import key_file_option
from kidx.report.printing import print_table

_EXAMPLES = """
\b
Examples:
  kidx stat orders-3/00000000000004117222.index
  kidx stat orders-3
  kidx stat /var/lib/kafka/data --sort zero_tail_bytes --reverse
  kidx stat '/backup/*/orders-*' --format csv > indexes.csv
"""


def known_fields() -> tuple[str, ...]:
    """Fields of a row."""
    from kidx.tables.stat import FIELDS

    return FIELDS


@click.command(epilog=_EXAMPLES)
@click.argument("paths", nargs=-1, type=click.Path(readable=False), metavar="PATH...")
@from_file_option
@search_options.index_kind_option
@options.base_offset_option
@key_file_option
@click.option(
    "--sort", type=OneOf("FIELD", known_fields), help="Order by a field of the JSON rows, such as entries or slack."
)
@click.option("--reverse", is_flag=True, help="With --sort: the largest first.")
@options.format_option()
@options.iso_option
def command(paths: tuple[str, ...], from_file: str | None, form: str, iso: bool, **asked: Any) -> int:
    """Measure indexes: entries, capacity, zero tail, ranges, density, pages, the warm section.

    PATH is an index, a directory (every index below it), a pattern, or `-` (with --kind). Only both ends of each file
    are read.
    """
    from kidx.report.screens.stat import show
    from kidx.tables.stat import stat_table

    given = paths_from(paths, from_file)
    single = len(given) == 1 and not os.path.isdir(given[0])
    screen = partial(show, single=single, sorted_by=asked["sort"], iso=iso)
    return print_table(stat_table(given, **asked), form, screen, iso=iso)
