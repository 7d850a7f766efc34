"""Printing what a run of checks found, in any of the formats of `verify`."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Protocol

from kidx.cli import exit_status
from kidx.findings import SEVERITIES, Coverage, Finding, Rule


class Checked(Protocol):
    """What a run of checks ends with, Kafka's or RocketMQ's."""

    findings: list[Finding]
    coverage: Coverage
    unread: list[str]


def status_of(checked: Checked, fail_level: str) -> tuple[Sequence[str], int]:
    """The severities that count as a failure, and the exit status."""
    failing = SEVERITIES[: SEVERITIES.index(fail_level) + 1]
    if checked.unread or not checked.coverage.files:
        return failing, exit_status.UNREADABLE
    worst = any(finding.severity in failing for finding in checked.findings)
    return failing, exit_status.FINDINGS if worst else exit_status.CLEAN


def _kafka_rules() -> Mapping[str, Rule]:
    from kidx.checks.catalogue import RULES

    return RULES


def print_verdict(
    form: str,
    checked: Checked,
    failing: Sequence[str],
    status: int,
    asked: Sequence[str],
    *,
    rules: Mapping[str, Rule] | None = None,
    color: bool,
    every: bool,
    verbose: bool,
) -> None:
    """Print findings and coverage on standard output. `failing` are the severities that count as a failure.

    `rules` are those the findings are of, Kafka's unless given.
    """
    rules = rules or _kafka_rules()
    findings, coverage, unread, out = checked.findings, checked.coverage, checked.unread, sys.stdout
    if form == "text":
        from kidx.report.findings.verdict import render_verdict

        what = asked[0] if len(asked) == 1 else f"{len(asked)} paths"
        render_verdict(findings, coverage, rules, out, what=what, color=color, every=every, verbose=verbose)
    elif form == "junit":
        from kidx.report.findings.junit import render_junit

        render_junit(findings, coverage, unread, failing, out)
    elif form == "sarif":
        from kidx import __version__
        from kidx.report.findings.rows import summary_of
        from kidx.report.findings.sarif import render_sarif

        summary = summary_of(findings, coverage, status)
        render_sarif(findings, rules, unread, summary, __version__, out)
    elif form == "github":
        from kidx.report.findings.github import render_github

        render_github(findings, coverage, rules, unread, out)
    else:
        from kidx.report.findings.rows import findings_table, summary_of
        from kidx.report.formats.render import render

        render(findings_table(findings, summary_of(findings, coverage, status)), form)
