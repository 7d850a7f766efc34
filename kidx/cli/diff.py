"""`kidx diff`: compare replicas, or two files of one kind."""

from __future__ import annotations

import click

from kidx.cli import exit_status
from kidx.cli.messages import complain
from kidx.cli.options import format_option


@click.command(
    epilog="""\b
Examples:
  kidx diff broker-1/orders-3 broker-2/orders-3
  kidx diff --format jsonl broker-1 broker-2
  kidx diff a/00000000000004117222.index b/00000000000004117222.index

Exit status: 0 no differences but allowed ones, 1 other differences, 3 something could not be read."""
)
@click.argument("left", type=click.Path(readable=False))
@click.argument("right", type=click.Path(readable=False))
@format_option()
@click.option("--all", "every", is_flag=True, help="Show allowed differences, too.")
def command(left: str, right: str, form: str, every: bool) -> int:
    """Compare two partitions, trees of partitions, or files of one kind: batches, records, epochs, index entries.

    Healthy replicas may differ in where their logs begin and end, where segments were rolled, and how dense their
    indexes are. Such a difference is `allowed`.
    """
    from kidx.checks.difference import compare
    from kidx.report.findings.differences import differences_table, render_differences
    from kidx.report.findings.rows import summary_of
    from kidx.report.formats.render import render

    comparison = compare(left, right)
    for sentence in comparison.checked.unread:
        complain(sentence)
    status = exit_status.FINDINGS if any(not d.allowed for d in comparison.differences) else exit_status.CLEAN
    coverage = comparison.checked.coverage
    if comparison.checked.unread or not coverage.files:
        status = exit_status.UNREADABLE
    if form == "text":
        render_differences(comparison.differences, coverage, every=every)
    else:
        render(differences_table(comparison.differences, summary_of([], coverage, status)), form)
    return status
