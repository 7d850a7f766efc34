"""`kidx stat`: measures of indexes, and what takes the disk."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from kidx.cli import options, search_options
from kidx.cli.choices import OneOf
from kidx.cli.paths import from_file_option, paths_from
from kidx.cli.tier_options import tier_options
from kidx.cli.values import PATH
from kidx.evidence import is_directory
from kidx.report.printing import print_table

_EXAMPLES = """
\b
Examples:
  kidx stat orders-3/00000000000004117222.index
  kidx stat orders-3
  kidx stat /var/lib/kafka/data --sort zero_tail_bytes --reverse
  kidx stat '/backup/*/orders-*' --format csv > indexes.csv
  kidx stat /var/lib/kafka/data --by topic
"""


def known_fields() -> tuple[str, ...]:
    """Fields of a row."""
    from kidx.tables.stat import FIELDS

    return FIELDS


def known_groups() -> tuple[str, ...]:
    """What --by may be."""
    from kidx.tables.sizes import GROUPS

    return GROUPS


@click.command(epilog=_EXAMPLES)
@click.argument("paths", nargs=-1, type=PATH, metavar="PATH...")
@from_file_option
@search_options.index_kind_option
@options.base_offset_option
@tier_options
@click.option(
    "--sort", type=OneOf("FIELD", known_fields), help="Order by a field of the JSON rows, such as entries or slack."
)
@click.option(
    "--by",
    type=OneOf("GROUP", known_groups),
    help="What takes the disk instead: bytes by topic, partition, segment, state or broker, largest first.",
)
@click.option("--reverse", is_flag=True, help="With --sort: the largest first.")
@options.format_option()
@options.iso_option
def command(
    paths: tuple[str, ...],
    from_file: str | None,
    remote: tuple[str, ...],
    by: str | None,
    form: str,
    iso: bool,
    **asked: Any,
) -> int:
    """Measure indexes: entries, capacity, zero tail, ranges, density, pages, the warm section.

    PATH is an index, a directory (every index below it), a pattern, or `-` (with --kind). Only both ends of each file
    are read. With --by no file is opened: the lengths of all files below PATH are added up. A remote tier counts like
    any other path, with the state `remote`.
    """
    paths += remote
    if by is not None:
        return _print_sizes(paths, from_file, by, form, asked)
    from kidx.report.screens.stat import show
    from kidx.tables.stat import stat_table

    given = paths_from(paths, from_file)
    single = len(given) == 1 and not is_directory(given[0])
    screen = partial(show, single=single, sorted_by=asked["sort"], iso=iso)
    return print_table(stat_table(given, **asked), form, screen, iso=iso)


def _print_sizes(paths: tuple[str, ...], from_file: str | None, by: str, form: str, asked: dict[str, Any]) -> int:
    from kidx.errors import UsageError
    from kidx.report.screens import sizes
    from kidx.tables.sizes import size_table

    for name in (name for name, value in asked.items() if value not in (None, False)):
        raise UsageError(f"--by cannot be combined with --{name.replace('_', '-')}, which is about indexes")
    return print_table(size_table(paths_from(paths, from_file), by), form, sizes.show)
