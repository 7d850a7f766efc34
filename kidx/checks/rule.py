"""What a rule's file offers the engine: conditions on a subject, and the findings of what violates them.

A subject is what a condition examines; its class determines when the engine evaluates it (kidx.checks.subjects):
Entries for each chunk of an index, Batches for each window of a log, CheckedLog once a log has been read, Listing for
a directory's names. The engine finds every Check in the modules of kidx.checks.rules. A new rule needs only its file
and its test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

import numpy as np

from kidx.findings import Finding, Rule, SuppressedFindings

S = TypeVar("S")
Found = Finding | SuppressedFindings

# Stages. Checks of one subject run by stage, then by their first rule's code. An index entry is reported once, by the
# first check that it violates; a batch whose header is impossible is not checked for order.
ABSENT, FIELDS, REPEATS, ORDER, BOUNDS = range(5)

# What a violation means for later checks. BATCH: the batch's own offsets prove nothing. LOG: the log is not as a broker
# wrote it, so its transactions cannot be replayed. BATCH implies LOG.
BATCH, LOG = "batch", "log"


class Check(Generic[S]):
    """One condition on a subject, and the function that turns its violations into findings.

    `condition` returns None if there are none, as cheaply as possible; otherwise a bool array with one value per row,
    or any violations. `finding` turns one row or violation into a finding; without it, the condition returns findings.
    `runs`: neighbouring rows become one finding, made from (first row, row after the last).
    `distrust` is BATCH or LOG, see above. `many` turns many violations of a harmless, repetitive rule into one finding.
    """

    def __init__(
        self,
        subject: type[S],
        rules: tuple[Rule, ...],
        condition: Callable[[S], Any],
        finding: Callable[[S, Any], Finding] | None,
        stage: int,
        runs: bool,
        distrust: str,
        many: tuple[Rule, Callable[[list[Finding]], Finding]] | None,
    ) -> None:
        self.subject, self.rules, self.condition, self.finding = subject, rules, condition, finding
        self.stage, self.runs, self.distrust, self.many = stage, runs, distrust, many

    def __repr__(self) -> str:
        return f"<check of {self.subject.__name__}: {', '.join(rule.code for rule in self.rules)}>"

    def findings(self, subject: S) -> Iterable[Found]:
        """The findings about a subject."""
        violations = self.condition(subject)
        return () if violations is None else self.findings_of(subject, violations)

    def findings_of(self, subject: S, violations: Any) -> Iterator[Found]:
        """The findings for what the condition returned."""
        if isinstance(violations, np.ndarray):
            violations = violations.nonzero()[0].tolist()
        for violation in violations:
            yield violation if self.finding is None else self.finding(subject, violation)


def check(
    subject: type[S],
    *rules: Rule,
    finding: Callable[[S, Any], Finding] | None = None,
    stage: int = ORDER,
    runs: bool = False,
    distrust: str = "",
    many: tuple[Rule, Callable[[list[Finding]], Finding]] | None = None,
) -> Callable[[Callable[[S], Any]], Check[S]]:
    """Make a condition a Check of these rules."""

    def decorated(condition: Callable[[S], Any]) -> Check[S]:
        return Check(subject, rules, condition, finding, stage, runs, distrust, many)

    return decorated
