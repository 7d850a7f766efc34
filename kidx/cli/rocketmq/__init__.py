"""`kidx rocketmq`: the commands for RocketMQ stores, each imported when it is called."""

from __future__ import annotations

import click

from kidx.cli.commands import LazyGroup

COMMANDS = {
    "dump": ("kidx.cli.rocketmq.dump", "Print what is in a store's file: queues, messages, index, checkpoint."),
    "stat": ("kidx.cli.rocketmq.stat", "Measure a store on one screen: commit log, queues, index."),
    "verify": ("kidx.cli.rocketmq.verify", "Check a store: every unit against the commit log."),
    "lookup": ("kidx.cli.rocketmq.lookup", "Find a queue offset by time, a unit by offset, messages by key."),
    "pull": ("kidx.cli.rocketmq.pull", "Batch a pull as the broker would, and say if it suggests the slave."),
    "diff": ("kidx.cli.rocketmq.diff", "Compare a slave's commit log with its master's."),
}


@click.group(
    cls=LazyGroup,
    table=COMMANDS,
    epilog="""\b
Examples:
  kidx rocketmq verify store
  kidx rocketmq lookup store Orders 0 --time 1700000000000 --trace-pages""",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
def command() -> None:
    """Read the store of a RocketMQ broker: commit log, consume queues, index files, checkpoint.

    Nothing is written. STORE is the directory that contains commitlog and consumequeue. Never let a broker load
    evidence: loading truncates, deletes and, after a crash, writes. kidx does that recovery in memory and answers
    accordingly.
    """
