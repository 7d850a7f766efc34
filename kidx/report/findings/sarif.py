"""Findings as SARIF 2.1.0 (OASIS), which code scanning services and editors read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import IO, Any
from urllib.parse import quote

from kidx.findings import Finding, Rule

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def render_sarif(
    findings: Sequence[Finding],
    rules: Mapping[str, Rule],
    unread: Sequence[str],
    summary: Mapping[str, Any],
    version: str,
    out: IO[str],
) -> None:
    """Write a SARIF log of one run. Its levels are kidx's severities: error, warning, note."""
    import json

    from kidx.text.json_text import as_unicode

    codes = sorted({f.rule for f in findings})
    driver = {"name": "kidx", "version": version, "rules": [_rule(rules[code]) for code in codes]}
    run = {
        "tool": {"driver": driver},
        "invocations": [
            {
                "executionSuccessful": not unread,
                "exitCode": summary["exit_status"],
                "toolExecutionNotifications": [
                    {"level": "error", "message": {"text": sentence}} for sentence in unread
                ],
            }
        ],
        "results": [_result(f, codes.index(f.rule)) for f in findings],
        "properties": {"summary": dict(summary)},
    }
    json.dump(as_unicode({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}), out, indent=1)
    out.write("\n")


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.story},
        "help": {"text": " ".join(filter(None, (rule.broker, rule.repair)))},
        "defaultConfiguration": {"level": rule.severity},
    }


def _result(finding: Finding, rule_index: int) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": {"uri": quote(finding.file.encode("utf-8", "surrogateescape"))}}
    if finding.byte_start is not None and finding.byte_end is not None:
        place["region"] = {"byteOffset": finding.byte_start, "byteLength": finding.byte_end - finding.byte_start}
    return {
        "ruleId": finding.rule,
        "ruleIndex": rule_index,
        "level": finding.severity,
        "message": {"text": finding.message},
        "locations": [{"physicalLocation": place}],
        "properties": {"slot": finding.slot, "expected": finding.expected, "found": finding.found},
    }
