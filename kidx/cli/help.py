"""`kidx help COMMAND`: the command's own help."""

from __future__ import annotations

import click

from kidx.cli.commands import LazyGroup
from kidx.cli.options import examples


@click.command(epilog=examples("kidx help verify", "kidx help rocketmq lookup"))
@click.argument("words", nargs=-1, metavar="[COMMAND]...")
@click.pass_context
def command(context: click.Context, words: tuple[str, ...]) -> None:
    """Print the help of a command, such as `kidx help verify` or `kidx help rocketmq lookup`."""
    here = context.find_root()
    found: click.Command | None = here.command
    for word in words:
        if not isinstance(found, LazyGroup):
            raise click.UsageError(f"{here.command_path} has no commands", here)
        _, found, _ = found.resolve_command(here, [word])
        assert found is not None
        here = click.Context(found, here, info_name=word)
    click.echo(here.command.get_help(here))
