"""`kidx rocketmq pull`: a pull as the broker would batch it."""

from __future__ import annotations

import click

from kidx.cli.options import format_option
from kidx.cli.rocketmq.options import broker_options, memory_options, open_asked
from kidx.cli.values import OFFSET, Number


@click.command(
    epilog="""\b
Examples:
  kidx rocketmq pull store Orders 0 --offset 41 --memory 3GiB
  kidx rocketmq pull store Orders 0 --offset 41 --physical-memory 8GiB

The broker suggests the slave when more of the commit log lies behind the last message pulled than it counts as being
in memory: accessMessageInMemoryMaxRatio (40) percent of the machine's. It then answers with the slave's address only
if slaveReadEnable is set."""
)
@click.argument("root", metavar="STORE", type=click.Path(readable=False))
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
    from kidx import exit_status
    from kidx.cli.messages import complain
    from kidx.errors import UsageError
    from kidx.rocketmq.java import JavaThrows
    from kidx.rocketmq.log_queues import NOTE
    from kidx.rocketmq.pull import Pull, pull
    from kidx.tables.table import BOOL, INT, TEXT, Column, Table

    if (memory is None) == (physical_memory is None):
        raise UsageError("the slave is suggested by memory: give either --memory or --physical-memory, in bytes")
    store = open_asked(root, config, commit_log, broker_version)
    if memory is None:
        memory = store.config.bytes_in_memory(physical_memory or 0)
    if store.layout.rocksdb:
        complain(NOTE)
    found, why = None, None
    try:
        found = pull(store, topic, queue, offset, most, memory)
    except JavaThrows as e:
        why = str(e)
        complain(f"{topic}/{queue} from {offset}: {e}")
    kinds = {"status": TEXT, "suggest_slave": BOOL, "stopped_by": TEXT}
    names = list(Pull.__dataclass_fields__)
    columns = [Column("topic", TEXT), Column("queue"), Column("offset")]
    columns += [Column(name, kinds.get(name, INT)) for name in names]
    columns += [Column("commit_log_end"), Column("broker_version", TEXT), Column("why", TEXT)]
    values = [getattr(found, name, None) for name in names]
    row = [topic, queue, offset, *values, store.end, str(store.behaviour), why]
    table = Table("kidx.rocketmq_pull.v1", columns, [row])
    if form == "text":
        from kidx.report.screens.rocketmq import show_pull

        show_pull(table)
    else:
        from kidx.report.formats.render import render

        render(table, form)
    return exit_status.CLEAN if found else exit_status.UNREADABLE
