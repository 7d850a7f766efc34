"""How checks make findings of a rule: shorter here, so that each check reads as what it checks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kidx.checks.catalogue import RULES
from kidx.findings import Finding
from kidx.light_typing import Any

MAX_FINDINGS_OF_A_RULE = 1000  # in one file: random bytes would otherwise give one an entry


def finding(
    code: str,
    file: str,
    message: str,
    *,
    span: tuple[int, int] | None = None,
    slot: int | None = None,
    expected: Any = None,
    found: Any = None,
    severity: str | None = None,
) -> Finding:
    """A finding. `span` is its first byte and the byte after its last; severity is the rule's unless given."""
    rule = RULES[code]
    start, end = span if span else (None, None)
    return Finding(code, severity or rule.severity, file, start, end, slot, expected, found, message, rule.broker)


def bounded(findings: Iterable[Finding]) -> Iterator[Finding]:
    """The findings of one file, at most MAX_FINDINGS_OF_A_RULE of each rule, then one that counts the rest."""
    seen: dict[str, int] = {}
    last: dict[str, Finding] = {}
    for one in findings:
        seen[one.rule] = count = seen.get(one.rule, 0) + 1
        last[one.rule] = one
        if count <= MAX_FINDINGS_OF_A_RULE:
            yield one
    for code, count in seen.items():
        more = count - MAX_FINDINGS_OF_A_RULE
        if more > 0:
            yield last[code]._replace(
                expected=None,
                found=more,
                message=f"{more:,} findings of this rule in this file up to here are not listed one by one",
            )
