"""Findings as a table of kidx.finding.v1 rows, and a run's coverage as a kidx.summary.v1 object."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kidx.findings import SEVERITIES, Coverage, Finding, Rule, Skipped
from kidx.tables.table import INT, TEXT, TREE, Column, Table

_MOST_SKIPPED = 20  # items of one reason that are listed: a fleet of indexes without logs would list thousands
FINDING_SCHEMA, SUMMARY_SCHEMA = "kidx.finding.v1", "kidx.summary.v1"
COLUMNS = (
    Column("rule", TEXT),
    Column("severity", TEXT),
    Column("file", TEXT),
    Column("byte_start", INT, "bytes"),
    Column("byte_end", INT, "bytes"),
    Column("slot", INT),
    Column("expected", TREE),
    Column("found", TREE),
    Column("message", TEXT),
    Column("broker", TEXT),
)


def findings_table(findings: Iterable[Finding], summary: dict[str, Any] | None) -> Table:
    """Findings as rows of kidx.finding.v1."""
    return Table(FINDING_SCHEMA, COLUMNS, findings, summary)


def summary_of(findings: Sequence[Finding], coverage: Coverage, exit_status: int) -> dict[str, Any]:
    """What a run checked, skipped and found: a kidx.summary.v1 object."""
    counts = Counter(f.severity for f in findings)
    return {
        "schema": SUMMARY_SCHEMA,
        "files": coverage.files,
        "entries": coverage.entries,
        "batches": coverage.batches,
        "bytes_checked": coverage.bytes_checked,
        "bytes_skipped": coverage.bytes_skipped,
        "skipped": [{"what": s.what, "why": s.why} for s in skipped_by_reason(coverage.skipped)],
        "findings": {severity: counts[severity] for severity in SEVERITIES},
        "unreadable": coverage.unreadable,
        "exit_status": exit_status,
    }


def skipped_by_reason(skipped: Sequence[Skipped]) -> list[Skipped]:
    """What was skipped, grouped by reason. A reason that many items share is listed once, with their number."""
    by_reason: dict[str, list[str]] = {}
    for item in skipped:
        by_reason.setdefault(item.why, []).append(item.what)
    grouped = []
    for why, items in by_reason.items():
        if len(items) <= _MOST_SKIPPED:
            grouped += [Skipped(what, why) for what in items]
        else:
            grouped.append(Skipped(f"{items[0]} and {len(items) - 1:,} more", why))
    return grouped


def statistics_table(findings: Iterable[Finding], rules: Mapping[str, Rule]) -> Table:
    """kidx.rule_count.v1: a row a rule with findings, the worst first: how many there are, in how many files."""
    counts: dict[tuple[int, str], Counter[str]] = {}
    for finding in findings:
        counts.setdefault((SEVERITIES.index(finding.severity), finding.rule), Counter())[finding.file] += 1
    rows = [
        (code, rules[code].name, SEVERITIES[severity], sum(files.values()), len(files))
        for (severity, code), files in sorted(counts.items(), key=lambda x: (x[0][0], -sum(x[1].values()), x[0][1]))
    ]
    columns = (
        Column("rule", TEXT),
        Column("name", TEXT),
        Column("severity", TEXT),
        Column("findings"),
        Column("files"),
    )
    return Table("kidx.rule_count.v1", columns, rows)
