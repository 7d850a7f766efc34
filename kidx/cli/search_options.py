"""Options of the commands that search indexes: lookup, trace and stat."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from kidx.cli.values import PATH, Bytes
from kidx.errors import UsageError
from kidx.text.quantities import timestamp_ms, whole_number

F = TypeVar("F", bound=Callable[..., Any])

page_size_option = click.option(
    "--page-size", type=Bytes(16, 1 << 30), default=4096, show_default=True, help="Bytes a page."
)
targets_from_option = click.option(
    "--from-file",
    type=PATH,
    metavar="FILE",
    help="Read more targets from this file, one per line.",
)
index_kind_option = click.option(
    "--kind",
    type=click.Choice(["offset_index", "time_index", "transaction_index"]),
    help="The kind of a file whose name does not show it.",
)


def search_option(default: str) -> Callable[[F], F]:
    """--search: Kafka's two, or both."""
    return click.option(
        "--search",
        type=click.Choice(["warm", "standard", "both"]),
        default=default,
        show_default=True,
        help="Kafka's search since 2.2 (warm section, KAFKA-6432), the one before it, or both.",
    )


def read_targets(targets: Sequence[str], from_file: str | None, *, times: bool) -> list[int]:
    """Targets from arguments, where `-` is standard input, and from --from-file: times, or other numbers.

    Raises UsageError, which names the line.
    """
    parse = timestamp_ms if times else whole_number
    numbers = []
    for source in targets:
        if source == "-":
            numbers += _from_lines("-", parse)
        else:
            numbers.append(parse(source))
    if from_file is not None:
        numbers += _from_lines(from_file, parse)
    return numbers


def _from_lines(name: str, parse: Callable[[str], int]) -> list[int]:
    from kidx.cli.paths import lines_of

    numbers = []
    for line_number, line in enumerate(lines_of(name), 1):
        if text := line.strip():
            try:
                numbers.append(parse(text))
            except UsageError as e:
                raise UsageError(f"{name}, line {line_number}: {e}") from None
    return numbers
