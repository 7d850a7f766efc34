"""A command line that click refuses, said in kidx's way: one sentence, and where help is."""

from __future__ import annotations

import click

from kidx.cli import complain
from kidx.errors import meant

# A group without a command; click before 8.2 shows help by itself.
_NO_COMMAND = getattr(click.exceptions, "NoArgsIsHelpError", ())


def say(refused: click.UsageError) -> None:
    """Print the sentence on standard error; where no command is given, the help text."""
    if isinstance(refused, _NO_COMMAND):
        click.echo(refused.format_message(), err=True)
    else:
        complain(sentence(refused))


def sentence(refused: click.UsageError) -> str:
    """What is wrong with the command line, what may have been meant, and which `--help` says more."""
    said = " ".join(_said(refused).split()).rstrip(".")
    where = refused.ctx.command_path if refused.ctx else "kidx"
    return said if said.endswith("?") else f"{said}; see {where} --help"


def _said(refused: click.UsageError) -> str:
    if isinstance(refused, click.NoSuchOption):
        known = [] if refused.ctx is None else [n for p in refused.ctx.command.get_params(refused.ctx) for n in p.opts]
        return f"no such option {refused.option_name}" + meant(refused.option_name, known)
    if isinstance(refused, click.BadParameter) and refused.param is not None:
        named = refused.param.opts[0] if isinstance(refused.param, click.Option) else _argument(refused)
        if isinstance(refused, click.MissingParameter):
            return f"{named} is missing"
        near = (
            meant(_given(refused), refused.param.type.choices) if isinstance(refused.param.type, click.Choice) else ""
        )
        return f"{named}: {refused.message.rstrip('.')}{near}"
    text = refused.format_message()
    return text[:1].lower() + text[1:]


def _argument(refused: click.BadParameter) -> str:
    assert refused.param is not None
    return refused.param.metavar or (refused.param.human_readable_name.upper())


def _given(refused: click.BadParameter) -> str:
    """The word that was given for a choice, as click quotes it."""
    return refused.message.split("'")[1] if refused.message.count("'") > 1 else ""
