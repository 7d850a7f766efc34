"""`kidx completion`: print a shell's completion script."""

from __future__ import annotations

import click

from kidx.cli.options import examples

WHERE = {
    "bash": "source <(kidx completion bash)    # in ~/.bashrc",
    "zsh": "source <(kidx completion zsh)     # in ~/.zshrc, after compinit",
    "fish": "kidx completion fish > ~/.config/fish/completions/kidx.fish",
}


@click.command(epilog=examples(*WHERE.values()))
@click.argument("shell", type=click.Choice(list(WHERE)))
def command(shell: str) -> None:
    """Print the script with which SHELL completes kidx's commands, options and their values."""
    from click.shell_completion import get_completion_class

    from kidx.cli.group import cli

    completion = get_completion_class(shell)
    assert completion is not None  # the choices are click's own
    made = completion(cli, {}, "kidx", "_KIDX_COMPLETE")
    # Not made.source(): it runs bash to check its version, but the script may be for another machine.
    script = made.source_template % made.source_vars()
    # click's script for fish splits a completion at every comma; only the first one separates type and value.
    click.echo(script.replace('string split ","', 'string split --max 1 ","'))
