"""What was compared with the real systems, and where they and kidx differ."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple


class Difference(NamedTuple):
    """One answer that is not the same. `asked` says the question so that a person can ask it again."""

    what: str
    asked: str
    ours: object
    theirs: object

    def __str__(self) -> str:
        return f"{self.what}: {self.asked}\n  kidx: {_short(self.ours)}\n  real: {_short(self.theirs)}"


class Ledger:
    """Counts comparisons by what was compared, and keeps the differences."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.differences: list[Difference] = []

    def compare(self, what: str, asked: object, ours: object, theirs: object) -> None:
        """One comparison; what is unequal is a difference."""
        self.counts[what] += 1
        if ours != theirs:
            self.differences.append(Difference(what, _said(asked), ours, theirs))

    def compare_each(self, what: str, asked: Iterable[object], ours: list[object], theirs: list[object]) -> None:
        """One comparison for each question."""
        for question, one, other in zip(asked, ours, theirs, strict=True):
            self.compare(what, question, one, other)

    def __str__(self) -> str:
        return " ".join(f"{what}={count}" for what, count in sorted(self.counts.items()))


def _said(asked: object) -> str:
    return " ".join(map(str, asked)) if isinstance(asked, (tuple, list)) else str(asked)


def _short(answer: object, most: int = 600) -> str:
    text = answer if isinstance(answer, str) else json.dumps(answer, default=str)
    return text if len(text) <= most else f"{text[:most]}... ({len(text)} characters)"
