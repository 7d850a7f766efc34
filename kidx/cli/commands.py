"""Commands with help in sections, and with negative numbers as arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click


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
            if (
                len(word) > 1
                and word[0] == "-"
                and not word[1].isdigit()
                and name not in known
                and word[:2] not in known
            ):
                raise click.NoSuchOption(name, ctx=ctx)
        ctx.ignore_unknown_options = True
        return super().parse_args(ctx, args)
