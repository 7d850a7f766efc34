"""`kidx verify`: check files, directories or trees."""

from __future__ import annotations

import click

from kidx.cli.checking import checking_options, options_of, status_of
from kidx.cli.options import color_option, format_option, from_file_option, paths_from, wants_color


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
@click.option("--jobs", type=click.IntRange(1, 256), help="How many processes.  [default: 2, at most one a CPU]")
@click.option("--suggest", is_flag=True, help="Say which kidx command mends each finding, and what else would cost.")
@color_option
def command(
    paths: tuple[str, ...],
    from_file: str | None,
    form: str,
    fail_level: str,
    select: str | None,
    ignore: str | None,
    level: str | None,
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
    from dataclasses import replace

    from kidx.checks.run import check_all
    from kidx.checks.targets import targets_of
    from kidx.cli import complain
    from kidx.cli.progress import Progress
    from kidx.cli.suggesting import print_suggestions, refuse_other_forms
    from kidx.cli.verdict import print_verdict
    from kidx.errors import UsageError
    from kidx.evidence import STDIN_NAMES, is_uri
    from kidx.forks import cpu_count

    if suggest:
        refuse_other_forms(form)
    asked = paths_from(paths, from_file)
    if kind is None and any(path in STDIN_NAMES for path in asked):
        raise UsageError("standard input has no name that says what it is; add --kind")
    if any(is_uri(path) for path in asked):
        jobs = 1  # pyarrow's clients of remote stores do not survive a fork; a fleet in a store is for `kidx scan`
    jobs = jobs or min(2, cpu_count())
    options = replace(options_of(select, ignore, level, sample, live, base_offset, jobs), kind=kind)
    with Progress("checked") as progress:
        checked = check_all(targets_of(asked), options, progress)
    for sentence in checked.unread:
        complain(sentence)
    failing, status = status_of(checked, fail_level)
    print_verdict(form, checked, failing, status, asked, color=wants_color(color), every=every, verbose=verbose)
    if suggest:
        print_suggestions(form, checked.findings)
    return status
