"""`kidx rocketmq stat`: a store on one screen."""

from __future__ import annotations

import click

from kidx.cli.options import format_option, iso_option
from kidx.cli.rocketmq.options import broker_options, open_asked


@click.command(
    epilog="""\b
Examples:
  kidx rocketmq stat store
  kidx rocketmq stat store --config broker.conf --iso --format jsonl"""
)
@click.argument("root", metavar="STORE", type=click.Path(readable=False))
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
) -> None:
    """Measure STORE as a broker would have it after loading: what is used of what is allocated, offsets, times."""
    from kidx.report.formats.render import render
    from kidx.rocketmq.measure import Measure, measure
    from kidx.tables.table import INT, TEXT, TIMESTAMP, Column, Table

    store = open_asked(root, config, commit_log, broker_version)
    kinds = {"what": TEXT, "name": TEXT, "note": TEXT, "first_timestamp": TIMESTAMP, "last_timestamp": TIMESTAMP}
    columns = [Column(name, kinds.get(name, INT)) for name in Measure._fields]
    summary = {"broker_version": str(store.behaviour), "unclean": store.unclean}
    render(Table("kidx.rocketmq_stat.v1", columns, measure(store), summary), form, iso=iso)
