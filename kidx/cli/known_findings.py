"""Options of `verify` that leave findings out: what a configuration ignores, and what a baseline knows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from click.core import ParameterSource

from kidx.cli.options import as_argument
from kidx.cli.reporting import Reporting
from kidx.cli.values import PATH
from kidx.findings import Rule
from kidx.report.findings.configuration import configuration_here, read_configuration
from kidx.report.printing import complain

if TYPE_CHECKING:
    from kidx.report.findings.baseline import Kept
    from kidx.report.findings.render import Checked


class KnownFindings(NamedTuple):
    """What is known or configured, as options give it."""

    baseline: str | None
    write_baseline: str | None
    config: str | None
    no_config: bool

    def configured(self, reporting: Reporting) -> tuple[Reporting, Mapping[str, Any]]:
        """The options of a report with what the configuration says where none was given, and the configuration."""
        path = self.config or (None if self.no_config else configuration_here())
        settings = read_configuration(path) if path else {}
        if settings and not self.config:
            complain(f"settings from {path} in this directory are in use; --no-config ignores them")
        context = click.get_current_context()
        if context.get_parameter_source("fail_level") is not ParameterSource.COMMANDLINE:
            reporting = reporting._replace(fail_level=settings.get("fail-level", reporting.fail_level))
        if reporting.select is None and "select" in settings:
            reporting = reporting._replace(select=",".join(settings["select"]))
        if reporting.ignore is None and "ignore" in settings:
            reporting = reporting._replace(ignore=",".join(settings["ignore"]))
        return reporting, settings

    def kept(self, checked: Checked, settings: Mapping[str, Any], rules: Mapping[str, Rule]) -> Kept:
        """The result without what is ignored or known; --write-baseline writes down all that is not ignored."""
        from kidx.report.findings import baseline

        tests = {"left out by per-path-ignores": baseline.ignored(settings.get("per-path-ignores", {}), rules)}
        kept = baseline.without(checked.findings, checked.coverage, checked.unread, tests)
        if self.write_baseline is not None:
            from kidx.surgery.output import write_output

            write_output(self.write_baseline, baseline.baseline_text(kept.findings), (baseline.BEGINNING,))
        if self.baseline is not None:
            known = {f"left out by --baseline {self.baseline}": baseline.known(baseline.read_baseline(self.baseline))}
            kept = baseline.without(*kept, known)
        return kept


known_findings_options = as_argument(
    "known",
    KnownFindings,
    click.option(
        "--baseline",
        type=PATH,
        metavar="FILE",
        help="Report only what this baseline does not have.",
    ),
    click.option(
        "--write-baseline",
        type=PATH,
        metavar="FILE",
        help="Write the findings down as a baseline.",
    ),
    click.option(
        "--config",
        type=PATH,
        metavar="FILE",
        help="A kidx.toml: select, ignore, fail-level, per-path-ignores.  [default: the one in this directory]",
    ),
    click.option("--no-config", is_flag=True, help="Use no configuration file."),
)
