"""`kidx diff`: compare replicas, or files of one kind."""

from __future__ import annotations

import click

from kidx import exit_status
from kidx.cli.options import format_option, max_inflate_option
from kidx.cli.values import PATH
from kidx.report.printing import complain


@click.command(
    epilog="""\b
Examples:
  kidx diff broker-1/orders-3 broker-2/orders-3
  kidx diff --format jsonl broker-1 broker-2 broker-3
  kidx diff a/00000000000004117222.index b/00000000000004117222.index

Exit status: 0 no difference but those that healthy replicas may have, 1 another one, 3 something could not be read."""
)
@click.argument("left", type=PATH)
@click.argument("right", type=PATH)
@click.argument("others", nargs=-1, type=PATH, metavar="[OTHER]...")
@format_option()
@click.option("--same-partitions", is_flag=True, help="A partition that is not on every side is a difference.")
@max_inflate_option
@click.option("--all", "every", is_flag=True, help="List every difference, also those that replicas may have.")
def command(left: str, right: str, others: tuple[str, ...], form: str, same_partitions: bool, every: bool) -> int:
    """Compare partitions, trees of partitions, or files of one kind: batches, records, epochs, index entries.

    More than two are compared each with each other. Healthy replicas may differ in where logs begin and end, where
    segments were cut, how dense their indexes are, which epochs began in offsets that a cleaning removed, and which
    partitions they have; such a difference is `allowed`.
    """
    from kidx.checks.replicas.compare import compare
    from kidx.report.findings.differences import differences_table, render_differences
    from kidx.report.findings.rows import summary_of

    paths = (left, right, *others)
    comparison = compare(*paths, same_partitions=same_partitions)
    checked = comparison.checked
    for sentence in checked.unread:
        complain(sentence)
    status = exit_status.FINDINGS if comparison.differ else exit_status.CLEAN
    if checked.unread or not checked.coverage.files:
        status = exit_status.UNREADABLE
    if form == "text":
        render_differences(comparison, paths, every=every)
    else:
        from kidx.report.formats.render import render

        summary = summary_of([], checked.coverage, status)
        render(differences_table(comparison.differences, summary, sides=len(paths)), form)
    return status
