"""What `verify` and `scan` have in common: options, and how a run of checks is printed and becomes an exit status."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from kidx.cli.options import base_offset_option, max_inflate_bytes_option
from kidx.cli.values import Rules
from kidx.errors import UsageError
from kidx.findings import SEVERITIES

if TYPE_CHECKING:
    from kidx.checks.engine.options import Options

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = (
    click.option(
        "--fail-level",
        type=click.Choice(SEVERITIES),
        default="warning",
        show_default=True,
        help="The least severity of a finding that makes the exit status 1.",
    ),
    click.option("--select", type=Rules(), help="Report only these rules: codes, names, or prefixes such as KX1."),
    click.option("--ignore", type=Rules(), help="Do not report these rules."),
    click.option("--quick", is_flag=True, help="Read no log: what a broker checks at start, and more."),
    click.option("--deep", is_flag=True, help="Decode every record."),
    click.option(
        "--sample", metavar="N%|N/M", help="Read only a share of the logs: a percentage, or the Nth of M shares."
    ),
    click.option("--live", is_flag=True, help="A broker may be writing: growing files are not findings."),
    base_offset_option,
    max_inflate_bytes_option(),
    click.option("--all", "every", is_flag=True, help="Show every finding, not only 20 of a rule in a file."),
    click.option("-v", "--verbose", is_flag=True, help="Show with each finding what a broker would do."),
)


def checking_options(f: F) -> F:
    """--fail-level, --select, --ignore, --quick, --deep, --sample, --live, --base-offset, --max-inflate, --all, -v."""
    for option in reversed(_OPTIONS):
        f = option(f)
    return f


def options_of(
    select: str | None,
    ignore: str | None,
    quick: bool,
    deep: bool,
    sample: str | None,
    live: bool,
    base_offset: int | None,
    max_inflate_bytes: int,
) -> Options:
    """The options as the checks take them. Raises UsageError for unknown rules and impossible samples."""
    from kidx.checks.catalogue import RULES, codes_of
    from kidx.checks.engine.options import DEEP, DEFAULT, QUICK, Options, Sample

    if quick and deep:
        raise UsageError("--quick reads no log and --deep decodes every record; choose one of them")
    rules = (codes_of(select.split(",")) if select else frozenset(RULES)) - codes_of((ignore or "").split(","))
    if not rules:
        raise UsageError(f"--select {select} --ignore {ignore}: no rule is left to check")
    chosen = Sample.parse(sample) if sample else None
    return Options(
        base_offset,
        live,
        QUICK if quick else DEEP if deep else DEFAULT,
        chosen,
        1,
        rules,
        max_inflate_bytes=max_inflate_bytes,
    )
