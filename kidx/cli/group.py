"""kidx's commands as click knows them: one file a command, loaded when it is called or asked for help."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

import click

from kidx import __version__
from kidx.cli import exit_status
from kidx.errors import meant

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

# name: (module, what `kidx --help` says of it). A command's module imports little at its top (a test holds that).
COMMANDS: dict[str, tuple[str, str]] = {
    "verify": ("kidx.cli.verify", "Check files, directories or trees."),
    "explain": ("kidx.cli.explain", "Tell what a finding means and what to do about it."),
    "diff": ("kidx.cli.diff", "Compare two replicas, or an index and its rebuilt self."),
    "scan": ("kidx.cli.scan", "Check a fleet's log dirs with Spark, and answer questions about it."),
    "dump": ("kidx.cli.dump", "Print what is in a file, entry by entry."),
    "stat": ("kidx.cli.stat", "Measure indexes on one screen."),
    "lookup": ("kidx.cli.lookup", "Search as a broker does, and show the way there."),
    "trace": ("kidx.cli.trace", "Show which 4 KB pages look-ups touch."),
    "state": ("kidx.cli.state", "Say what Kafka's own topics add up to, now or at a moment."),
    "compact": ("kidx.cli.compact", "Say what the log cleaner would keep and drop."),
    "rebuild": ("kidx.cli.rebuild", "Make indexes anew from the log, as a broker's recovery does."),
    "undo": ("kidx.cli.undo", "Bring back a file as it was before kidx wrote it."),
    "append": ("kidx.cli.append", "Append entries to an index, exactly as Kafka does or not at all."),
    "truncate": ("kidx.cli.truncate", "Remove an index's entries from an offset on."),
    "trim": ("kidx.cli.trim", "Cut off the zero tail of an index."),
    "resize": ("kidx.cli.resize", "Give an index another allocated size."),
    "rocketmq": ("kidx.cli.rocketmq", "Read RocketMQ's store: the same questions, another system."),
    "completion": ("kidx.cli.completion", "Print the completion script of a shell."),
}
# Where a new heading of `kidx --help` begins.
HEADINGS = {
    "verify": "Find out what is wrong",
    "dump": "Look inside",
    "rebuild": "Change files (a backup is kept)",
    "rocketmq": "More",
}


class LazyGroup(click.Group):
    """A group whose commands are imported when they are called; help lists them from its table, COMMANDS' shape."""

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
        """Commands from the table, without importing them."""
        from click.shell_completion import CompletionItem

        names = [
            CompletionItem(name, help=said) for name, (_, said) in self.table.items() if name.startswith(incomplete)
        ]
        return [*names, *click.Command.shell_complete(self, ctx, incomplete)]

    def walk(self, above: str = "") -> Iterator[tuple[str, click.Command, str]]:
        """Every command below: its words ("rocketmq lookup"), itself, what is said of it. For manuals and tests."""
        for name, (_, said) in self.table.items():
            command = self.get_command(click.Context(self), name)
            assert command is not None
            yield above + name, command, said
            if isinstance(command, LazyGroup):
                yield from command.walk(f"{above}{name} ")

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        heading, width = "Commands", max(map(len, self.table))
        for name, (_, said) in self.table.items():
            heading = self.headings.get(name, heading)
            sections.setdefault(heading, []).append((name.ljust(width), said))
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

`kidx COMMAND --help` says more, with examples; `man kidx` says the same.""",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="kidx")
def cli() -> None:
    """Say what is in the files of a Kafka broker, what is wrong with them, and what to do about it.

    kidx reads offset, time and transaction indexes, the log segments they point into, and what lies beside them.
    Everything is opened read-only; only the commands that change files write, and say so.
    """


def run(args: list[str]) -> int:
    """The exit status of a command line. click's own main() would make status 1 of a reader that went away."""
    if "_KIDX_COMPLETE" in os.environ:
        cli.main(prog_name="kidx")  # a shell asks what could come next; click answers and exits
    try:
        with cli.make_context("kidx", args) as context:
            result: Any = cli.invoke(context)
    except click.exceptions.Exit as e:
        return e.exit_code
    except click.UsageError as e:
        from kidx.cli.misuse import say

        say(e)
        return exit_status.USAGE
    except click.Abort:
        return exit_status.INTERRUPTED
    return result if isinstance(result, int) else exit_status.CLEAN
