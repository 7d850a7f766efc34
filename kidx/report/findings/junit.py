"""Findings as JUnit XML, which GitLab, Jenkins and most CI systems show: a test case for each file with findings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from typing import IO
from xml.sax.saxutils import escape, quoteattr

from kidx.findings import Coverage, Finding
from kidx.report.findings.verdict import covered, place_of, verdict

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render_junit(
    findings: Sequence[Finding], coverage: Coverage, unread: Sequence[str], failing: Sequence[str], out: IO[str]
) -> None:
    """Write the report. Findings of the severities in `failing` fail their test case; others go into its output.

    Files without findings share one test case, whose output is the coverage.
    """
    files = [(file, list(group)) for file, group in groupby(findings, lambda f: f.file)]
    failures = sum(any(f.severity in failing for f in group) for _, group in files)
    verdict_text = verdict(Counter(f.severity for f in findings), coverage)
    out.write('<?xml version="1.0" encoding="UTF-8"?>\n')
    out.write(
        f'<testsuites><testsuite name="kidx verify" tests="{len(files) + len(unread) + 1}" failures="{failures}" '
        f'errors="{len(unread)}" skipped="0">\n'
    )
    covering = _text(f"{verdict_text}. {covered(coverage)}")
    out.write(f'  <testcase classname="kidx" name="coverage"><system-out>{covering}</system-out></testcase>\n')
    for file, group in files:
        out.write(f'  <testcase classname="kidx" name={_attribute(file)}>\n')
        failed = [f for f in group if f.severity in failing]
        if failed:  # JUnit has one failure for each test case
            text = "\n\n".join(_described(f) for f in failed)
            out.write(
                f"    <failure type={_attribute(failed[0].rule)} message={_attribute(failed[0].message)}>"
                f"{_text(text)}</failure>\n"
            )
        if others := [f for f in group if f.severity not in failing]:
            out.write(f"    <system-out>{_text(chr(10).join(_described(f) for f in others))}</system-out>\n")
        out.write("  </testcase>\n")
    for sentence in unread:
        out.write(
            f'  <testcase classname="kidx" name={_attribute(sentence.partition(": ")[0])}>'
            f'<error type="unreadable" message={_attribute(sentence)}/></testcase>\n'
        )
    out.write("</testsuite></testsuites>\n")


def _described(finding: Finding) -> str:
    return f"{finding.severity} {finding.rule} {place_of(finding)}\n{finding.message}\nbroker: {finding.broker}"


def _text(text: str) -> str:
    return escape(_NOT_XML.sub("�", text))


def _attribute(text: str) -> str:
    return quoteattr(_NOT_XML.sub("�", text))
