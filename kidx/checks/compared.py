"""What a comparison comes to: differences of two sides, and what was compared."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kidx.checks.engine.result import CheckResult
from kidx.logdir.tree import Partition

_MOST_OF_A_KIND = 1000


class Difference(NamedTuple):
    """One difference: `what` kind it is, `where` (a path below both sides and a place in it), both sides' values.

    `allowed`: healthy replicas may differ like this.
    """

    what: str
    where: str
    left: Any
    right: Any
    allowed: bool


@dataclass(slots=True)
class Compared:
    """The differences of two sides, and what was compared."""

    differences: list[Difference] = field(default_factory=list)
    checked: CheckResult = field(default_factory=CheckResult)

    def note(self, what: str, where: str, left: Any, right: Any, *, allowed: bool) -> None:
        """Keep a difference; of one kind at one place no more than a thousand are told."""
        if sum(1 for d in self.differences[-_MOST_OF_A_KIND:] if d.what == what) < _MOST_OF_A_KIND:
            self.differences.append(Difference(what, where, left, right, allowed))


class Sides:
    """One partition's two sides, and where their differences are kept; `name` is the path below what was asked for."""

    def __init__(self, left: Partition, right: Partition, name: str, done: Compared) -> None:
        self.left, self.right, self.name, self.done = left, right, name, done

    def where(self, *parts: str) -> str:
        """A difference's place, from its parts."""
        return " ".join(filter(None, (self.name, *parts)))
