"""kidx's commands as click knows them: one file a command, loaded when it is called or asked for help."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from typing import Any, ClassVar

import click

from kidx import __version__
from kidx.cli import exit_status

# name: (module, what `kidx --help` says of it). A command's module imports little at its top (a test holds that).
COMMANDS: dict[str, tuple[str, str]] = {
    "dump": ("kidx.cli.dump", "Print what is in a file, entry by entry."),
    "stat": ("kidx.cli.stat", "Measure indexes on one screen."),
    "lookup": ("kidx.cli.lookup", "Search as a broker does, and show the way there."),
    "trace": ("kidx.cli.trace", "Show which 4 KB pages look-ups touch."),
    "verify": ("kidx.cli.verify", "Check files, directories or trees."),
    "scan": ("kidx.cli.scan", "Check a fleet's log dirs with Spark, and answer questions about it."),
    "diff": ("kidx.cli.diff", "Compare two replicas, or an index and its rebuilt self."),
    "explain": ("kidx.cli.explain", "Tell a rule's story."),
    "append": ("kidx.cli.append", "Append entries to an index, exactly as Kafka does or not at all."),
    "truncate": ("kidx.cli.truncate", "Remove an index's entries from an offset on."),
    "trim": ("kidx.cli.trim", "Cut off the zero tail of an index."),
    "resize": ("kidx.cli.resize", "Give an index another allocated size."),
    "rebuild": ("kidx.cli.rebuild", "Make indexes anew from the log, as a broker's recovery does."),
    "undo": ("kidx.cli.undo", "Bring back a file as it was before kidx wrote it."),
    "rocketmq": ("kidx.cli.rocketmq", "Read RocketMQ's store: the same questions, another system."),
    "state": ("kidx.cli.state", "Say what Kafka's own topics add up to, now or at a moment."),
    "compact": ("kidx.cli.compact", "Say what the log cleaner would keep and drop."),
    "completion": ("kidx.cli.completion", "Print the completion script of a shell."),
}


class LazyGroup(click.Group):
    """A group whose commands are imported when they are called; help lists them from its table, COMMANDS' shape."""

    table: ClassVar[dict[str, tuple[str, str]]] = COMMANDS

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.table:
            return None
        module, _ = self.table[cmd_name]
        command: click.Command = import_module(module).command
        return command

    def walk(self, above: str = "") -> Iterator[tuple[str, click.Command, str]]:
        """Every command below: its words ("rocketmq lookup"), itself, what is said of it. For manuals and tests."""
        for name, (_, said) in self.table.items():
            command = self.get_command(click.Context(self), name)
            assert command is not None
            yield above + name, command, said
            if isinstance(command, LazyGroup):
                yield from command.walk(f"{above}{name} ")

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, said) for name, (_, said) in self.table.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="kidx")
def cli() -> None:
    """Forensics for the files a Kafka broker keeps beside its logs.

    Everything is opened read-only; only append, truncate, trim, resize, rebuild and undo write, and say so.
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
    except click.ClickException as e:
        with suppress(OSError):
            e.show()
        return exit_status.USAGE
    except click.Abort:
        return exit_status.INTERRUPTED
    return result if isinstance(result, int) else exit_status.CLEAN
