"""`kidx verify`: check files, directories or trees."""

from __future__ import annotations

import click

from kidx.cli.checking import checking_options, options_of
from kidx.cli.options import color_option, format_option, from_file_option, paths_from
from kidx.cli.values import JOBS


@click.command(
    epilog="""\b
Examples:
  kidx verify /var/lib/kafka/data
  kidx verify --deep --jobs 8 orders-3
  kidx verify --quick --live /var/lib/kafka/data
  kidx verify orders-3/00000000000004117222.index
  kidx verify --ignore KX110 --format junit data > kidx.xml
  kidx verify --select KX1,torn-entry --fail-level error '/backup/*/orders-*'
  kidx explain KX105

Exit status: 0 clean, 1 findings at or above --fail-level, 3 something could not be read or checked."""
)
@click.argument("paths", nargs=-1, type=click.Path(readable=False), metavar="PATH...")
@from_file_option
@format_option("junit", "sarif", "github")
@checking_options
@click.option(
    "--kind",
    type=click.Choice(["log", "offset_index", "time_index", "transaction_index", "producer_snapshot"]),
    help="What a file is whose name does not tell; `-` needs it.",
)
@click.option("--jobs", type=JOBS, help="How many processes.  [default: 2, at most one a CPU]")
@click.option("--suggest", is_flag=True, help="Say which kidx command mends each finding, and what else would cost.")
@color_option
def command(
    paths: tuple[str, ...],
    from_file: str | None,
    form: str,
    fail_level: str,
    select: str | None,
    ignore: str | None,
    quick: bool,
    deep: bool,
    sample: str | None,
    live: bool,
    kind: str | None,
    jobs: int | None,
    every: bool,
    suggest: bool,
    verbose: bool,
    base_offset: int | None,
    color: str,
) -> int:
    """Check files, directories or trees: indexes, logs, each against the other, and what lies beside them.

    PATH is a file, a partition's directory, a log dir, a tree, a pattern, or `-` (standard input, with --kind). Without
    --quick or --deep every index entry and every batch's header and CRC is checked. What was not checked is said; what
    could not be read is status 3.
    """
    from kidx.cli.verify_run import verify_paths

    return verify_paths(
        paths_from(paths, from_file),
        options_of(select, ignore, quick, deep, sample, live, base_offset)._replace(kind=kind),
        jobs,
        form=form,
        fail_level=fail_level,
        color=color,
        every=every,
        verbose=verbose,
        suggest=suggest,
    )
