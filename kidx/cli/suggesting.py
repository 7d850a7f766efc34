"""`kidx verify --suggest`: after the findings, what mends them."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from kidx.errors import UsageError
from kidx.findings import Finding

_FORMS = ("text", "jsonl")


def refuse_other_forms(form: str) -> None:
    """Raises UsageError for a format that has no room for suggestions."""
    if form not in _FORMS:
        raise UsageError(f"--suggest goes with --format {' or '.join(_FORMS)}; {form} has no place for suggestions")


def print_suggestions(form: str, findings: Sequence[Finding]) -> None:
    """Print what mends the findings: as text, or as rows of kidx.suggestion.v1."""
    from kidx.checks.catalogue import RULES
    from kidx.cli.rebuild_run import IntervalFinder
    from kidx.report.findings.suggestions import COLUMNS, render_suggestions
    from kidx.report.formats.render import render
    from kidx.surgery.advice import SCHEMA, suggest
    from kidx.tables.table import Table

    suggestions = suggest(findings, RULES, IntervalFinder(None, reports=False))
    if form == "text":
        render_suggestions([one._asdict() for one in suggestions], RULES, sys.stdout)
    else:
        render(Table(SCHEMA, COLUMNS, suggestions), form)
