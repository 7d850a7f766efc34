"""The result of a run of checks in any of the formats of `verify`."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Protocol

from kidx.findings import Coverage, Finding, Rule

FORMATS = ("junit", "sarif", "github")  # those that only findings have


class Checked(Protocol):
    """The result of a run of checks on Kafka's or RocketMQ's files. `unread` has a sentence for each unread file."""

    @property
    def findings(self) -> list[Finding]: ...

    @property
    def coverage(self) -> Coverage: ...

    @property
    def unread(self) -> list[str]: ...


def render_checked(
    form: str,
    checked: Checked,
    rules: Mapping[str, Rule],
    failing: Sequence[str],
    status: int,
    paths: Sequence[str],
    *,
    color: bool = False,
    every: bool = False,
    verbose: bool = False,
) -> None:
    """Write findings and coverage to standard output in a common format or one of FORMATS.

    `rules` holds the rules of the findings by code, `failing` the severities that count as a failure, `status` the exit
    status, and `paths` what was checked. `color`, `every` and `verbose` are for text alone: see render_verdict.
    """
    findings, coverage, unread, out = checked.findings, checked.coverage, checked.unread, sys.stdout
    if form == "text":
        from kidx.report.findings.verdict import render_verdict

        what = paths[0] if len(paths) == 1 else f"{len(paths)} paths"
        render_verdict(findings, coverage, rules, out, what=what, color=color, every=every, verbose=verbose)
    elif form == "junit":
        from kidx.report.findings.junit import render_junit

        render_junit(findings, coverage, unread, failing, out)
    elif form == "github":
        from kidx.report.findings.github import render_github

        render_github(findings, coverage, rules, unread, out)
    else:
        from kidx.report.findings.rows import findings_table, summary_of

        summary = summary_of(findings, coverage, status)
        if form == "sarif":
            from kidx import __version__
            from kidx.report.findings.sarif import render_sarif

            render_sarif(findings, rules, unread, summary, __version__, out)
        else:
            from kidx.report.formats.render import render

            render(findings_table(findings, summary), form)
