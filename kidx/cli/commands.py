"""How kidx's commands differ from Click's own: lazy groups, help in sections, negative numbers as arguments."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from kidx.errors import meant

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


Table = Mapping[str, tuple[str, str]]  # command: (its module, its line in help)


class LazyGroup(click.Group):
    """A group that imports a command when it is called. Help and completion take their texts from `table`."""

    def __init__(self, *args: Any, table: Table, headings: Mapping[str, str] | None = None, **kwargs: Any) -> None:
        """`headings` has the commands that begin a section of the help."""
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

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        heading, width = "Commands", max(map(len, self.table))
        for name, (_, text) in self.table.items():
            heading = self.headings.get(name, heading)
            sections.setdefault(heading, []).append((name.ljust(width), text))
        for heading, rows in sections.items():
            with formatter.section(heading):
                formatter.write_dl(rows)


class Sectioned(click.Command):
    """A command whose help has sections. Options whose help begins with a key of `sections` go under its heading."""

    def __init__(self, *args: Any, sections: Mapping[str, str] | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.sections = sections or {}

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        headings: dict[str, list[tuple[str, str]]] = {"Options": []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx) if isinstance(parameter, click.Option) else None
            if record is not None:
                names, text = record
                prefix = next((prefix for prefix in self.sections if text.startswith(prefix)), "")
                shown = text.removeprefix(prefix)
                row = names, shown[:1].upper() + shown[1:]
                headings.setdefault(self.sections.get(prefix, "Options"), []).append(row)
        for heading, rows in headings.items():
            with formatter.section(heading):
                formatter.write_dl(rows)


class TakesNegativeNumbers(Sectioned):
    """A command whose arguments may be negative numbers: -1 is a target, --nonsense is still an unknown option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        known = {name for p in self.get_params(ctx) for name in (*p.opts, *p.secondary_opts)}
        for word in args[: args.index("--")] if "--" in args else args:
            name = word.partition("=")[0]
            negative = word[1:2].isdigit()
            if len(word) > 1 and word[0] == "-" and not negative and not known & {name, word[:2]}:
                raise click.NoSuchOption(name, ctx=ctx)
        ctx.ignore_unknown_options = True
        return super().parse_args(ctx, args)
