"""Write man/*.1 from the commands themselves: `make man`. What `--help` says is only set in roff here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from kidx import __version__
from kidx.cli import ENVIRONMENT
from kidx.cli.commands import LazyGroup
from kidx.cli.group import cli, every_command
from kidx.exit_status import MEANINGS

MAN = Path(__file__).resolve().parents[1] / "man"
PREFORMATTED = "\b"  # click's mark of a paragraph that keeps its lines


def roff(text: str) -> str:
    """Text as roff takes it: nothing in it is a request or an escape, and a hyphen can be copied as one."""
    escaped = text.replace("\\", r"\e").replace("-", r"\-")
    return re.sub(r"^(?=[.'])", r"\\&", escaped, flags=re.MULTILINE)


def paragraphs(text: str | None) -> Iterator[tuple[str, bool]]:
    """A help text's paragraphs, and whether each keeps its lines."""
    for block in re.split(r"\n\s*\n", (text or "").strip("\n")):
        lines = block.splitlines()
        if lines and lines[0].strip() == PREFORMATTED:
            yield "\n".join(lines[1:]), True
        elif lines:
            yield " ".join(line.strip() for line in lines), False


def prose(blocks: Iterable[tuple[str, bool]]) -> Iterator[str]:
    for text, keeps_lines in blocks:
        yield ".PP"
        yield f".nf\n{roff(text)}\n.fi" if keeps_lines else roff(text)


def option_lines(command: click.Command) -> Iterator[str]:
    """Options from their declarations, not from click's own words for them, which differ from version to version."""
    for option in command.params:
        if isinstance(option, click.Option) and not option.hidden:
            names = ", ".join(sorted([*option.opts, *option.secondary_opts], key=len))
            default = option.default if option.show_default is True else option.show_default
            said = [option.help or "", f"Default: {default}." if default not in (None, False) else ""]
            yield f".TP\n\\fB{roff(names)}\\fR {roff(value_of(option))}\n{roff(' '.join(filter(None, said)))}"
    yield ".TP\n\\fB\\-h, \\-\\-help\\fR\nShow a help text and exit."


def value_of(parameter: click.Parameter) -> str:
    """What a parameter's value looks like: its choices, its name or its type; nothing for a flag."""
    if getattr(parameter, "is_flag", False):
        return ""
    if parameter.metavar:
        return parameter.metavar.removesuffix("...")
    if isinstance(parameter.type, click.Choice):
        return "|".join(map(str, parameter.type.choices))
    name = parameter.type.name.removesuffix(" range") if isinstance(parameter, click.Option) else parameter.name
    return (name or "").upper()


def synopsis(command: click.Command) -> str:
    pieces = ["[OPTIONS]"]
    for argument in command.params:
        if isinstance(argument, click.Argument):
            value = value_of(argument)
            if not value.startswith("["):
                value = value if argument.required else f"[{value}]"
                value += "..." if argument.nargs == -1 else ""
            pieces.append(value)
    return " ".join([*pieces, "COMMAND [ARGS]..."] if isinstance(command, click.Group) else pieces)


def common_sections(about: str) -> Iterator[str]:
    yield ".SH EXIT STATUS"
    if about:
        yield roff(about)
    for status, meaning in MEANINGS.items():
        yield f".TP\n.B {status}\n{roff(meaning)}"
    yield ".SH ENVIRONMENT"
    for name, meaning in ENVIRONMENT.items():
        yield f".TP\n.B {name}\n{roff(meaning)}"


def page(words: str, command: click.Command, said: str) -> str:
    """One command's page. Its epilog's `Examples:` and `Exit status:` get sections of their own."""
    name = f"kidx {words}".strip()
    blocks = list(paragraphs(command.epilog))
    examples = [(text.partition("\n")[2], True) for text, _ in blocks if text.startswith("Examples:")]
    about = " ".join(text.partition(":")[2].strip() for text, _ in blocks if text.startswith("Exit status:"))
    notes = [block for block in blocks if not block[0].startswith(("Examples:", "Exit status:"))]
    lines = [
        f'.TH {name.replace(" ", "-").upper()} 1 "" "kidx {__version__}" "kidx manual"',
        f".SH NAME\n{roff(name.replace(' ', '-'))} \\- {roff(said.rstrip('.'))}",
        f".SH SYNOPSIS\n.B {name}\n{roff(synopsis(command))}",
        ".SH DESCRIPTION",
        *prose(paragraphs(command.help)),
        *prose(notes),
    ]
    if isinstance(command, LazyGroup):
        lines.append(".SH COMMANDS")
        for below, about_it in command.table.items():
            lines.append(f".TP\n.B {name} {below}\n{roff(about_it[1])}")
    lines += [".SH OPTIONS", *option_lines(command)]
    if examples:
        lines += [".SH EXAMPLES", *prose(examples)]
    lines += [*common_sections(about), f".SH SEE ALSO\n{see_also(words)}"]
    return "\n".join(lines) + "\n"


def see_also(words: str) -> str:
    others = [f"kidx-{name.replace(' ', '-')}" for name in everything() if name and name != words]
    return ", ".join(f"\\fB{roff(name)}\\fR(1)" for name in (others if not words else ["kidx"]))


def everything() -> dict[str, tuple[click.Command, str]]:
    """Every page's command and what is said of it in one line, by the command's words; kidx itself is ""."""
    assert isinstance(cli, LazyGroup)
    pages: dict[str, tuple[click.Command, str]] = {"": (cli, "forensics for the files a Kafka broker keeps")}
    return pages | {words: (command, said) for words, command, said in every_command(cli)}


def manual() -> dict[str, str]:
    """Every page's text by its file's name."""
    made = {}
    for words, (command, said) in everything().items():
        made["-".join(["kidx", *words.split()]) + ".1"] = page(words, command, said)
    return made


def main() -> None:
    made = manual()
    for old in MAN.glob("*.1"):
        if old.name not in made:
            old.unlink()
    MAN.mkdir(exist_ok=True)
    for name, text in made.items():
        (MAN / name).write_text(text)


if __name__ == "__main__":
    main()
