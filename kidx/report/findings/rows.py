"""Findings as a table of kidx.finding.v1 rows, and what a run covered as a kidx.summary.v1 object."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from kidx.findings import SEVERITIES, Coverage, Finding
from kidx.report.findings.skipped import together
from kidx.tables.table import INT, TEXT, TREE, Column, Table

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
    """The table that every common format renders."""
    return Table(FINDING_SCHEMA, COLUMNS, findings, summary)


def summary_of(findings: Sequence[Finding], coverage: Coverage, exit_status: int) -> dict[str, Any]:
    """What a run checked and found, as interface documents fix it."""
    counts = Counter(f.severity for f in findings)
    return {
        "schema": SUMMARY_SCHEMA,
        "files": coverage.files,
        "entries": coverage.entries,
        "batches": coverage.batches,
        "bytes_checked": coverage.bytes_checked,
        "bytes_skipped": coverage.bytes_skipped,
        "skipped": [{"what": s.what, "why": s.why} for s in together(coverage.skipped)],
        "findings": {severity: counts[severity] for severity in SEVERITIES},
        "unreadable": coverage.unreadable,
        "exit_status": exit_status,
    }
