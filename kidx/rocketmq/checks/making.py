"""How checks make findings of the wing's rules, and what a run ends with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kidx.findings import Coverage, Finding
from kidx.light_typing import Any
from kidx.rocketmq.catalogue import RULES

MAX_FINDINGS_OF_A_RULE = 1000  # in one file: random bytes would otherwise give one a unit


class Checked:
    """What was found, what was covered, and one sentence for everything that could not be read."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.coverage = Coverage()
        self.unread: list[str] = []


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
    """Findings with at most MAX_FINDINGS_OF_A_RULE of a rule in a file, then one that counts the rest."""
    seen: dict[tuple[str, str], int] = {}
    last: dict[tuple[str, str], Finding] = {}
    for one in findings:
        key = one.file, one.rule
        seen[key] = count = seen.get(key, 0) + 1
        last[key] = one
        if count <= MAX_FINDINGS_OF_A_RULE:
            yield one
    for key, count in seen.items():
        more = count - MAX_FINDINGS_OF_A_RULE
        if more > 0:
            said = f"{more:,} findings of this rule in this file up to here are not listed one by one"
            yield last[key]._replace(expected=None, found=more, message=said)
