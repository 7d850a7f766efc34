"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import click

from kidx.cli.values import OFFSET, Bytes

F = TypeVar("F", bound=Callable[..., Any])
COMMON_FORMATS = ("text", "table", "json", "jsonl", "csv")


def all_of(*decorators: Callable[[Any], Any]) -> Callable[[F], F]:
    """Several options as one, listed by help in this order."""

    def add(f: F) -> F:
        for decorator in reversed(decorators):
            f = decorator(f)
        return f

    return add


def as_argument(name: str, make: Any, *decorators: Callable[[Any], Any]) -> Callable[[F], Callable[..., Any]]:
    """Several options as one argument of the command: a `make`, a NamedTuple with a field for each option."""

    def add(f: F) -> Callable[..., Any]:
        @wraps(f)
        def command(**values: Any) -> Any:
            made = make(**{field: values.pop(field) for field in make._fields})
            return f(**values, **{name: made})

        return all_of(*decorators)(command)

    return add


def examples(*lines: str) -> str:
    """A command's epilog: `Examples:` and these lines."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def format_option(*more: str) -> Callable[[F], F]:
    """--format: the common formats, and those that a command adds."""
    return click.option(
        "-f",
        "--format",
        "form",
        type=click.Choice([*COMMON_FORMATS, *more]),
        default="text",
        show_default=True,
        help="How to print the answer.",
    )


iso_option = click.option("--iso", is_flag=True, help="Show each timestamp in ISO 8601, too.")
base_offset_option = click.option(
    "--base-offset", type=OFFSET, help="The segment's base offset, if the file's name does not give it."
)
color_option = click.option(
    "--color",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    show_default=True,
    help="Colour marks severity and the warm section; `auto` means on a terminal without NO_COLOR.",
)


def max_inflate_bytes_option(**how: Any) -> Callable[[F], F]:
    """--max-inflate: what unusually compressed batches may inflate to."""
    return click.option(
        "--max-inflate",
        "max_inflate_bytes",
        type=Bytes(),
        default="1GiB",
        show_default=True,
        help="What batches that inflate to more than 100 times their size may take in all.",
        **how,
    )


def _open_budget(context: click.Context, _: click.Parameter, most_bytes: int) -> None:
    from kidx.formats.compression import inflation_budget

    context.with_resource(inflation_budget(most_bytes))


# --max-inflate of a command that reads records in this process: for as long as it runs.
max_inflate_option = max_inflate_bytes_option(callback=_open_budget, expose_value=False)
