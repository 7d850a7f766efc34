"""`kidx rocketmq stat`: a store on one screen."""

from __future__ import annotations

import click

from kidx.cli.options import format_option, iso_option
from kidx.cli.rocketmq.options import broker_options, open_asked
from kidx.cli.values import PATH


@click.command(
    epilog="""\b
Examples:
  kidx rocketmq stat store
  kidx rocketmq stat store --config broker.conf --iso --format jsonl"""
)
@click.argument("root", metavar="STORE", type=PATH)
@broker_options
@format_option()
@iso_option
def command(
    root: str,
    config: str | None,
    commit_log: tuple[str, ...],
    broker_version: str | None,
    form: str,
    iso: bool,
) -> int:
    """Measure STORE as it is after a broker loads it: used and allocated space, offsets, times."""
    from kidx.report.printing import print_table
    from kidx.tables.rocketmq.stores import store_table

    return print_table(store_table(open_asked(root, config, commit_log, broker_version)), form, iso=iso)
