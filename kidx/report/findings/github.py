"""Findings as workflow commands of GitHub Actions, which shows them as annotations of the run.

Source: docs.github.com, "Workflow commands for GitHub Actions".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import IO

from kidx.findings import ERROR, NOTE, WARNING, Coverage, Finding, Rule
from kidx.report.findings.verdict import covered, place_of, verdict
from kidx.text.escaping import plain

_COMMANDS = {ERROR: "error", WARNING: "warning", NOTE: "notice"}


def render_github(
    findings: Sequence[Finding], coverage: Coverage, rules: Mapping[str, Rule], unread: Sequence[str], out: IO[str]
) -> None:
    """Write a command for each finding, and one for the coverage. GitHub shows the first ten of each severity."""
    for finding in findings:
        title = f"{finding.rule} {rules[finding.rule].name}"
        place = place_of(finding)
        out.write(
            f"::{_COMMANDS[finding.severity]} file={_property(finding.file)},title={_property(title)}::"
            + _data(f"{finding.message}{f' [{place}]' if place else ''} Broker: {finding.broker}")
            + "\n"
        )
    for sentence in unread:
        out.write(f"::error title=kidx could not read it::{_data(sentence)}\n")
    summary = verdict(Counter(f.severity for f in findings), coverage)
    out.write(f"::notice title=kidx verify::{_data(f'{summary}. {covered(coverage)}')}\n")


def _data(text: str) -> str:
    return plain(text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A"))


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
