"""`kidx diff`: what differs between two replicas, or an index and its rebuilt self."""

from __future__ import annotations

import click

from kidx.cli import exit_status
from kidx.cli.options import format_option


@click.command(
    epilog="""\b
Examples:
  kidx diff broker-1/orders-3 broker-2/orders-3
  kidx diff --format jsonl broker-1 broker-2
  kidx diff a/00000000000004117222.index b/00000000000004117222.index

Exit status: 0 nothing differs but what may, 1 something else does, 3 something could not be read."""
)
@click.argument("left", type=click.Path(readable=False))
@click.argument("right", type=click.Path(readable=False))
@format_option()
@click.option("--all", "every", is_flag=True, help="Show what may differ on the screen, too.")
def command(left: str, right: str, form: str, every: bool) -> int:
    """Compare two partitions, trees of partitions, or files of one kind: batches, records, epochs, index entries.

    Healthy replicas may differ in where logs begin and end, where segments were cut, and how dense their indexes are;
    such a difference is `allowed`.
    """
    from kidx.checks.difference import compare
    from kidx.cli import complain
    from kidx.report.findings.differences import differences_table, render_differences
    from kidx.report.findings.rows import summary_of

    compared = compare(left, right)
    for sentence in compared.checked.unread:
        complain(sentence)
    forbidden = any(not d.allowed for d in compared.differences)
    status = exit_status.FINDINGS if forbidden else exit_status.CLEAN
    if compared.checked.unread or not compared.checked.coverage.files:
        status = exit_status.UNREADABLE
    if form == "text":
        render_differences(compared.differences, compared.checked.coverage, every=every)
    else:
        from kidx.report.formats.render import render

        render(differences_table(compared.differences, summary_of([], compared.checked.coverage, status)), form)
    return status
