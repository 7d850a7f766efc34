"""The group of all commands. Each command is a file, which is imported when the command or its help is used."""

from __future__ import annotations

from collections.abc import Iterator

import click

from kidx import __version__
from kidx.cli.commands import LazyGroup

COMMANDS = {
    "verify": ("kidx.cli.verify", "Check files, directories or trees."),
    "explain": ("kidx.cli.explain", "Explain what a finding means and how to repair it."),
    "diff": ("kidx.cli.diff", "Compare two replicas, or two files of one kind."),
    "scan": ("kidx.cli.scan", "Check the log dirs of a fleet with Spark, and report on the fleet."),
    "dump": ("kidx.cli.dump", "Print the contents of a file, entry by entry."),
    "export": ("kidx.cli.export", "Write records to Parquet, Arrow, JSON lines or CSV."),
    "query": ("kidx.cli.query", "Run SQL over records, batches, indexes, segments and findings."),
    "stat": ("kidx.cli.stat", "Show sizes and ranges of indexes."),
    "lookup": ("kidx.cli.lookup", "Search as a broker does, and show the probes."),
    "trace": ("kidx.cli.trace", "Show which 4 KB pages look-ups touch."),
    "state": ("kidx.cli.state", "Show the state that Kafka's own topics hold, now or at an earlier time."),
    "compact": ("kidx.cli.compact", "Show what the log cleaner would keep and drop."),
    "startup": ("kidx.cli.startup", "Predict what a broker does at its next start."),
    "rebuild": ("kidx.cli.rebuild", "Rebuild indexes from the log, as a broker's recovery does."),
    "recover": ("kidx.cli.recover", "Build a new log dir from what is left of damaged replicas."),
    "undo": ("kidx.cli.undo", "Revert kidx's last change of a file or directory."),
    "append": ("kidx.cli.append", "Append entries to an index, exactly as Kafka does or not at all."),
    "truncate": ("kidx.cli.truncate", "Remove an index's entries from an offset on."),
    "trim": ("kidx.cli.trim", "Cut off the zero tail of an index."),
    "resize": ("kidx.cli.resize", "Change the allocated size of an index."),
    "rocketmq": ("kidx.cli.rocketmq", "The same commands for RocketMQ's stores."),
    "help": ("kidx.cli.help", "Print the help of a command."),
    "completion": ("kidx.cli.completion", "Print the completion script for a shell."),
}
# The headings of `kidx --help`, by the first command below each.
HEADINGS = {
    "verify": "Check",
    "dump": "Inspect",
    "rebuild": "Change files (a backup is kept)",
    "rocketmq": "More",
}


@click.group(
    cls=LazyGroup,
    table=COMMANDS,
    headings=HEADINGS,
    epilog="""\b
Examples:
  kidx verify /var/lib/kafka/data
  kidx explain KX105
  kidx dump orders-3/00000000000004117222.index
  kidx lookup --trace-pages orders-3/00000000000004117222.index 4118000

`kidx COMMAND --help` and `man kidx-COMMAND` describe a command, with examples.""",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="kidx")
def cli() -> None:
    """Show what is in the files of a Kafka broker, what is wrong with them, and how to repair it.

    kidx reads offset, time and transaction indexes, the log segments they point into, and the files next to them. All
    files are opened read-only; only the commands listed under "Change files" write.
    """


def every_command(group: LazyGroup, prefix: str = "") -> Iterator[tuple[str, click.Command, str]]:
    """Every command and subcommand of a group: its words ("rocketmq lookup"), the command, its line in help."""
    for name, (_, text) in group.table.items():
        command = group.get_command(click.Context(group), name)
        assert command is not None
        yield prefix + name, command, text
        if isinstance(command, LazyGroup):
            yield from every_command(command, f"{prefix}{name} ")
