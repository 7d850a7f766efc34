"""Options of the commands that check: which findings they report, and how they are shown and become an exit status."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from kidx.cli.choices import Rules
from kidx.cli.options import as_argument, color_option
from kidx.cli.values import PATH
from kidx.errors import UsageError
from kidx.findings import SEVERITIES, Rule, codes_of
from kidx.report.printing import print_checked

if TYPE_CHECKING:
    from kidx.report.findings.render import Checked


class Reporting(NamedTuple):
    """Which findings are reported, and how."""

    fail_level: str
    select: str | None
    ignore: str | None
    every: bool
    verbose: bool
    color: str
    statistics: bool
    output_file: str | None

    def codes(self, rules: Mapping[str, Rule]) -> frozenset[str]:
        """The codes of the rules to report. Raises UsageError for unknown rules, and where none is left."""
        selected = codes_of(self.select.split(","), rules) if self.select else frozenset(rules)
        codes = selected - codes_of((self.ignore or "").split(","), rules)
        if not codes:
            raise UsageError(f"--select {self.select} --ignore {self.ignore}: no rule is left to check")
        return codes

    def show(self, form: str, checked: Checked, rules: Mapping[str, Rule], paths: Sequence[str]) -> int:
        """Print the result of a run in a format; the exit status."""
        shown = self.color, self.every, self.verbose, self.statistics, self.output_file
        return print_checked(form, checked, rules, paths, self.fail_level, *shown)


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
        click.option(
            "--all", "every", is_flag=True, help="Show every finding, not only 20 of a rule in a file, 200 in all."
        ),
        click.option("-v", "--verbose", is_flag=True, help="Show with each finding what a broker would do."),
        color_option,
        click.option(
            "--statistics", is_flag=True, help="Show how many findings each rule has instead of the findings."
        ),
        click.option(
            "-o",
            "--output-file",
            type=PATH,
            metavar="FILE",
            help="Write the report to this file.",
        ),
    )
