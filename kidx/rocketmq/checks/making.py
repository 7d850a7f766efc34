"""How checks make findings of the wing's rules, and what a run ends with."""

from __future__ import annotations

from kidx.findings import Coverage, Finder, Finding
from kidx.rocketmq.catalogue import RULES

finding = Finder(RULES)


class Checked:
    """What was found, what was covered, and one sentence for everything that could not be read."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.coverage = Coverage()
        self.unread: list[str] = []
