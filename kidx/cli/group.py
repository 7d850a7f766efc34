"""The group of all commands. Each command is a file, which is imported when the command or its help is asked for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

import click

from kidx import __version__
from kidx.cli import exit_status
from kidx.cli.messages import explain_misuse
from kidx.errors import meant

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

# name: (module, its line in `kidx --help`)
COMMANDS: dict[str, tuple[str, str]] = {
    "verify": ("kidx.cli.verify", "Check files, directories or trees."),
    "explain": ("kidx.cli.explain", "Explain what a finding means and how to repair it."),
    "diff": ("kidx.cli.diff", "Compare two replicas, or two files of one kind."),
    "scan": ("kidx.cli.scan", "Check the log dirs of a fleet with Spark, and report on the fleet."),
    "dump": ("kidx.cli.dump", "Print the contents of a file, entry by entry."),
    "stat": ("kidx.cli.stat", "Show sizes and ranges of indexes."),
    "lookup": ("kidx.cli.lookup", "Search as a broker does, and show the probes."),
    "trace": ("kidx.cli.trace", "Show which 4 KB pages look-ups touch."),
    "state": ("kidx.cli.state", "Show the state that Kafka's own topics hold, now or at an earlier time."),
    "compact": ("kidx.cli.compact", "Show what the log cleaner would keep and drop."),
    "rebuild": ("kidx.cli.rebuild", "Rebuild indexes from the log, as a broker's recovery does."),
    "undo": ("kidx.cli.undo", "Revert kidx's last change of a file or directory."),
    "append": ("kidx.cli.append", "Append entries to an index, exactly as Kafka does or not at all."),
    "truncate": ("kidx.cli.truncate", "Remove an index's entries from an offset on."),
    "trim": ("kidx.cli.trim", "Cut off the zero tail of an index."),
    "resize": ("kidx.cli.resize", "Change the allocated size of an index."),
    "rocketmq": ("kidx.cli.rocketmq", "The same commands for RocketMQ's stores."),
    "completion": ("kidx.cli.completion", "Print the completion script for a shell."),
}
# The headings of `kidx --help`, by the first command below each.
HEADINGS = {
    "verify": "Check",
    "dump": "Inspect",
    "rebuild": "Change files (a backup is kept)",
    "rocketmq": "More",
}


class LazyGroup(click.Group):
    """A group that imports a command when it is called. Help and completion take their texts from `table`."""

    table: ClassVar[dict[str, tuple[str, str]]] = COMMANDS
    headings: ClassVar[dict[str, str]] = HEADINGS

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.table:
            return None
        module, _ = self.table[cmd_name]
        command: click.Command = import_module(module).command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        word = args[0]
        if word not in self.table and not word.startswith("-") and not ctx.resilient_parsing:
            raise click.UsageError(f"no such command {word!r}{meant(word, self.table)}", ctx)
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Offer the commands of the table, without importing them."""
        from click.shell_completion import CompletionItem

        names = [
            CompletionItem(name, help=text) for name, (_, text) in self.table.items() if name.startswith(incomplete)
        ]
        return [*names, *click.Command.shell_complete(self, ctx, incomplete)]

    def walk(self, prefix: str = "") -> Iterator[tuple[str, click.Command, str]]:
        """Every command and subcommand: its words ("rocketmq lookup"), the command, its line in help."""
        for name, (_, text) in self.table.items():
            command = self.get_command(click.Context(self), name)
            assert command is not None
            yield prefix + name, command, text
            if isinstance(command, LazyGroup):
                yield from command.walk(f"{prefix}{name} ")

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        heading, width = "Commands", max(map(len, self.table))
        for name, (_, text) in self.table.items():
            heading = self.headings.get(name, heading)
            sections.setdefault(heading, []).append((name.ljust(width), text))
        for heading, rows in sections.items():
            with formatter.section(heading):
                formatter.write_dl(rows)


@click.group(
    cls=LazyGroup,
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


def run(args: list[str]) -> int:
    """Run a command line and return its exit status. click's own main() would turn a closed pipe into status 1."""
    if "_KIDX_COMPLETE" in os.environ:
        cli.main(prog_name="kidx")  # a shell's request for completions, which click answers and exits
    try:
        with cli.make_context("kidx", args) as context:
            result: Any = cli.invoke(context)
    except click.exceptions.Exit as e:
        return e.exit_code
    except click.UsageError as e:
        explain_misuse(e)
        return exit_status.USAGE
    except click.Abort:
        return exit_status.INTERRUPTED
    return result if isinstance(result, int) else exit_status.CLEAN
