"""`kidx rocketmq diff`: a slave's commit log against its master's."""

from __future__ import annotations

import click

from kidx.cli.options import format_option
from kidx.cli.rocketmq.options import broker_options, memory_options, open_asked
from kidx.cli.values import PATH


@click.command(
    epilog="""\b
Examples:
  kidx rocketmq diff master/store slave/store
  kidx rocketmq diff master/store slave/store --memory 3GiB --format jsonl

Exit status: 0 the slave's log equals its master's up to the slave's end, 1 it differs, 3 a store could not be read."""
)
@click.argument("master", type=PATH)
@click.argument("slave", type=PATH)
@memory_options("master")
@broker_options
@format_option()
def command(
    master: str,
    slave: str,
    memory: int | None,
    physical_memory: int | None,
    config: str | None,
    commit_log: tuple[str, ...],
    broker_version: str | None,
    form: str,
) -> int:
    """Compare MASTER's and SLAVE's stores: where their commit logs diverge, how far the slave lags.

    With --memory also: up to which commit-log offset the master would send a consumer to the slave, and whether the
    slave has the messages that such a consumer requests.
    """
    from kidx.errors import UsageError
    from kidx.report.printing import print_table
    from kidx.report.screens.rocketmq import show_replicas
    from kidx.tables.rocketmq.stores import difference_table

    if commit_log:
        raise UsageError("diff reads two stores, so --commit-log does not say which store it belongs to")
    left = open_asked(master, config, (), broker_version)
    right = open_asked(slave, config, (), broker_version)
    if memory is None and physical_memory is not None:
        memory = left.config.bytes_in_memory(physical_memory)
    return print_table(difference_table(left, right, memory), form, show_replicas)
