"""`kidx rocketmq pull`: a pull as the broker would batch it."""

from __future__ import annotations

import click

from kidx.cli.options import format_option
from kidx.cli.rocketmq.options import broker_options, memory_options, open_asked
from kidx.cli.values import OFFSET, PATH, Number


@click.command(
    epilog="""\b
Examples:
  kidx rocketmq pull store Orders 0 --offset 41 --memory 3GiB
  kidx rocketmq pull store Orders 0 --offset 41 --physical-memory 8GiB

The broker suggests the slave when more of the commit log lies behind the last message pulled than it counts as being
in memory: accessMessageInMemoryMaxRatio (40) percent of the machine's. It then answers with the slave's address only
if slaveReadEnable is set."""
)
@click.argument("root", metavar="STORE", type=PATH)
@click.argument("topic")
@click.argument("queue", type=Number("QUEUE", most=2**31 - 1))
@click.option("--offset", type=OFFSET, required=True, help="The queue offset to pull from.")
@click.option(
    "--max-messages",
    "most",
    type=Number("N", 1, 2**31 - 1),
    default=32,
    show_default=True,
    help="How many messages the consumer asks for.",
)
@memory_options("broker")
@broker_options
@format_option()
def command(
    root: str,
    topic: str,
    queue: int,
    offset: int,
    most: int,
    memory: int | None,
    physical_memory: int | None,
    config: str | None,
    commit_log: tuple[str, ...],
    broker_version: str | None,
    form: str,
) -> int:
    """Pull from TOPIC's queue QUEUE of STORE, and say whether the broker would send the next pull to a slave."""
    from kidx.errors import UsageError
    from kidx.report.printing import print_table
    from kidx.report.screens.rocketmq import show_pull
    from kidx.tables.rocketmq.pulls import pull_table

    if (memory is None) == (physical_memory is None):
        raise UsageError("whether the slave is suggested depends on memory: give either --memory or --physical-memory")
    store = open_asked(root, config, commit_log, broker_version)
    if memory is None:
        memory = store.config.bytes_in_memory(physical_memory or 0)
    return print_table(pull_table(store, topic, queue, offset, most, memory), form, show_pull)
