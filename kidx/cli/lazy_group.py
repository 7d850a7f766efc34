"""A group of commands that imports each of them when it is used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from kidx.errors import meant

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class LazyGroup(click.Group):
    """A group that imports a command when it is called. Help and completion take their texts from `table`."""

    def __init__(
        self,
        *args: Any,
        table: Mapping[str, tuple[str, str]],
        headings: Mapping[str, str] | None = None,
        **kwargs: Any,
    ) -> None:
        """`table` has each command's module and its line in help; `headings`, the commands that begin a section."""
        super().__init__(*args, **kwargs)
        self.table, self.headings = table, headings or {}

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
