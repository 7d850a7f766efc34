"""How a rule's file presents itself to the engine: conditions on a subject, and the findings of what violates them.

A subject is what a condition looks at; its class says when the engine asks (kidx.checks.subjects): Entries for each
chunk of an index, Batches for each window of a log, CheckedLog once a log is read, Listing for a directory's names.
The engine finds every Check in the modules of kidx.checks.rules. A new rule needs its file and its test, no more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

import numpy as np

from kidx.findings import Finding, Rule, SuppressedFindings

S = TypeVar("S")
Found = Finding | SuppressedFindings

# Stages. Checks of one subject run by stage, then by their first rule's code. An index entry is reported once, by the
# first check that it violates; a batch whose header cannot be is not looked at for order.
ABSENT, FIELDS, REPEATS, ORDER, BOUNDS = range(5)

# What a violation says of a log: its batch's own offsets prove nothing; or the log is not as a broker wrote it, so its
# transactions cannot be replayed. A batch of the first kind makes the log one of the second.
BATCH, LOG = "batch", "log"


class Check(Generic[S]):
    """One condition on a subject, and what makes findings of its violations.

    `condition` gives None where there are none, as cheaply as it can; else a bool array with one value a row, or any
    violations; `finding` makes a finding of one row or violation. Without it the condition gives the findings.
    `runs`: neighbouring rows make one finding, made of (first row, row after the last).
    `distrust` is BATCH or LOG, see above. `many` makes one finding of many of a healthy, repetitive rule.
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
        """The findings of what the condition gave."""
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
