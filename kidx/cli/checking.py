"""Options of the commands that check: which findings they report, and how they are shown and become an exit status."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from kidx.cli.choices import Rules
from kidx.cli.options import as_argument, base_offset_option, color_option, max_inflate_bytes_option
from kidx.errors import UsageError
from kidx.findings import SEVERITIES, Rule, codes_of
from kidx.report.printing import print_checked

if TYPE_CHECKING:
    from kidx.checks.engine.options import Options
    from kidx.report.findings.render import Checked


class Reporting(NamedTuple):
    """Which findings are reported, and how."""

    fail_level: str
    select: str | None
    ignore: str | None
    every: bool
    verbose: bool
    color: str

    def codes(self, rules: Mapping[str, Rule]) -> frozenset[str]:
        """The codes of the rules to report. Raises UsageError for unknown rules, and where none is left."""
        selected = codes_of(self.select.split(","), rules) if self.select else frozenset(rules)
        codes = selected - codes_of((self.ignore or "").split(","), rules)
        if not codes:
            raise UsageError(f"--select {self.select} --ignore {self.ignore}: no rule is left to check")
        return codes

    def show(self, form: str, checked: Checked, rules: Mapping[str, Rule], paths: Sequence[str]) -> int:
        """Print the result of a run in a format; the exit status."""
        return print_checked(form, checked, rules, paths, self.fail_level, self.color, self.every, self.verbose)


def reporting_options(system: str, prefix: str) -> Callable[[Any], Callable[..., Any]]:
    """--fail-level, --select, --ignore, --all, -v and --color, as the argument `reporting`."""
    return as_argument(
        "reporting",
        Reporting,
        click.option(
            "--fail-level",
            type=click.Choice(SEVERITIES),
            default="warning",
            show_default=True,
            help="The least severity of a finding that makes the exit status 1.",
        ),
        click.option(
            "--select",
            type=Rules(systems=(system,)),
            help=f"Report only these rules: codes, names, or prefixes such as {prefix}.",
        ),
        click.option("--ignore", type=Rules(systems=(system,)), help="Do not report these rules."),
        click.option("--all", "every", is_flag=True, help="Show every finding, not only 20 of a rule in a file."),
        click.option("-v", "--verbose", is_flag=True, help="Show with each finding what a broker would do."),
        color_option,
    )


class Checking(NamedTuple):
    """What is checked, and how thoroughly."""

    quick: bool
    deep: bool
    sample: str | None
    live: bool
    base_offset: int | None
    max_inflate_bytes: int

    def options(self, rules: frozenset[str], kind: str | None = None, jobs: int = 1) -> Options:
        """The options of a run. Raises UsageError for contradictory options and impossible samples."""
        from kidx.checks.engine.options import DEEP, DEFAULT, QUICK, Options, Sample

        if self.quick and self.deep:
            raise UsageError("--quick reads no log and --deep decodes every record; choose one of them")
        level = QUICK if self.quick else DEEP if self.deep else DEFAULT
        sample = Sample.parse(self.sample) if self.sample else None
        return Options(self.base_offset, self.live, level, sample, jobs, rules, kind, self.max_inflate_bytes)


checking_options = as_argument(
    "checking",
    Checking,
    click.option("--quick", is_flag=True, help="Read no log: what a broker checks at start, and more."),
    click.option("--deep", is_flag=True, help="Decode every record."),
    click.option(
        "--sample", metavar="N%|N/M", help="Read only a share of the logs: a percentage, or the Nth of M shares."
    ),
    click.option("--live", is_flag=True, help="A broker may be writing: growing files are not findings."),
    base_offset_option,
    max_inflate_bytes_option(),
)
