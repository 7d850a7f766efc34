"""`kidx verify`: check files, directories or trees."""

from __future__ import annotations

import click

from kidx.cli import exit_status
from kidx.cli.options import base_offset_option, color_option, format_option, from_file_option, paths_from, wants_color
from kidx.findings import SEVERITIES


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
@click.argument("paths", nargs=-1, type=click.Path())
@from_file_option
@format_option("junit", "sarif", "github")
@click.option(
    "--fail-level",
    type=click.Choice(SEVERITIES),
    default="warning",
    show_default=True,
    help="The least severity of a finding that makes the exit status 1.",
)
@click.option("--select", metavar="RULE,...", help="Report these rules only: codes, names, or prefixes as KX1.")
@click.option("--ignore", metavar="RULE,...", help="Do not report these rules.")
@click.option("--quick", "level", flag_value="quick", help="Read no log: what a broker checks at start, and more.")
@click.option("--deep", "level", flag_value="deep", help="Decode every record.")
@click.option("--sample", metavar="N%|N/M", help="Read that share of the logs: a percentage, or the Nth of M shares.")
@click.option("--live", is_flag=True, help="A broker may be writing: files that grow are no trouble.")
@click.option("--jobs", type=click.IntRange(1, 256), help="How many processes.  [default: 2, at most one a CPU]")
@click.option("--all", "every", is_flag=True, help="Show every finding on the screen, not 20 of a rule in a file.")
@click.option("--suggest", is_flag=True, help="Say which kidx command mends each finding, and what else would cost.")
@click.option("-v", "--verbose", is_flag=True, help="Say with each finding what a broker would do.")
@base_offset_option
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
    jobs: int | None,
    every: bool,
    suggest: bool,
    verbose: bool,
    base_offset: int | None,
    color: str,
) -> int:
    """Check files, directories or trees: indexes, logs, each against the other, and what lies beside them.

    PATH is a file, a partition's directory, a log dir, a tree or a pattern. Without --quick or --deep every index entry
    and every batch's header and CRC is checked. What was not checked is said; what could not be read is status 3.
    """
    from kidx.checks.catalogue import RULES, codes_of
    from kidx.checks.options import DEFAULT, Options, Sample
    from kidx.checks.run import check_all, worst_reached
    from kidx.checks.targets import targets_of
    from kidx.cli import complain
    from kidx.cli.progress import Progress
    from kidx.cli.suggesting import print_suggestions, refuse_other_forms
    from kidx.cli.verdict import print_verdict
    from kidx.evidence import is_uri
    from kidx.forks import cpu_count

    if suggest:
        refuse_other_forms(form)
    rules = (codes_of(select.split(",")) if select else frozenset(RULES)) - codes_of((ignore or "").split(","))
    asked = paths_from(paths, from_file)
    if any(is_uri(path) for path in asked):
        jobs = 1  # pyarrow's clients of remote stores do not survive a fork; a fleet in a store is for `kidx scan`
    options = Options(
        base_offset=base_offset,
        live=live,
        level=level or DEFAULT,
        sample=Sample.parse(sample) if sample else None,
        jobs=jobs or min(2, cpu_count()),
        rules=rules,
    )
    with Progress("checked") as progress:
        checked = check_all(targets_of(asked), options, progress)
    for sentence in checked.unread:
        complain(sentence)
    failing = SEVERITIES[: SEVERITIES.index(fail_level) + 1]
    status = exit_status.FINDINGS if worst_reached(checked.findings, failing) else exit_status.CLEAN
    if checked.unread or not checked.coverage.files:
        status = exit_status.UNREADABLE
    print_verdict(form, checked, failing, status, asked, color=wants_color(color), every=every, verbose=verbose)
    if suggest:
        print_suggestions(form, checked.findings)
    return status
