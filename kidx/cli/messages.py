"""What is wrong with a command line, in one sentence on stderr."""

from __future__ import annotations

import click

from kidx.errors import meant
from kidx.report.printing import complain

# A group without a command; click before 8.2 shows help by itself.
_NO_COMMAND = getattr(click.exceptions, "NoArgsIsHelpError", ())


def explain_misuse(refused: click.UsageError) -> None:
    """Print what is wrong to stderr; for a group without a command, its help text."""
    if isinstance(refused, _NO_COMMAND):
        click.echo(refused.format_message(), err=True)
    else:
        complain(misuse(refused))


def misuse(refused: click.UsageError) -> str:
    """What is wrong with the command line, what may have been meant, and which `--help` says more."""
    text = " ".join(_what_is_wrong(refused).split()).rstrip(".")
    command = refused.ctx.command_path if refused.ctx else "kidx"
    return text if text.endswith("?") else f"{text}; see {command} --help"


def _what_is_wrong(refused: click.UsageError) -> str:
    if isinstance(refused, click.NoSuchOption):
        known = [] if refused.ctx is None else [n for p in refused.ctx.command.get_params(refused.ctx) for n in p.opts]
        return f"no such option {refused.option_name}" + meant(refused.option_name, known)
    if isinstance(refused, click.BadParameter) and refused.param is not None:
        named = refused.param.opts[-1] if isinstance(refused.param, click.Option) else _argument(refused)
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
    """The given word, which click quotes in its message about a choice."""
    return refused.message.split("'")[1] if refused.message.count("'") > 1 else ""
