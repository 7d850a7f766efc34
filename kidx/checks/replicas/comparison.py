"""The result of a comparison: the differences of two sides of a partition, and what was compared."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

from kidx.checks.engine.result import CheckResult
from kidx.logdir.tree import Partition

MAX_DIFFERENCES_OF_A_KIND = 1000  # in one partition of two sides


class Difference(NamedTuple):
    """One difference: its kind (`what`), `where` it is (a path below both sides and a place in it), both values.

    `allowed`: healthy replicas may differ like this. `partition` is the path below both sides (empty: the sides are
    partitions themselves), `offset` the first one concerned, None where it is about no offset. `left_path` and
    `right_path` are the two sides as they were given.
    """

    what: str
    where: str
    left: Any
    right: Any
    allowed: bool
    partition: str
    offset: int | None
    left_path: str
    right_path: str


class Comparison:
    """The differences found, at most MAX_DIFFERENCES_OF_A_KIND of a kind in a partition, and what was compared.

    `counts` has all of them, by left path, right path, partition, kind and whether they are allowed.
    `partitions` are the partitions that both sides have, by left path, right path and partition.
    """

    def __init__(self) -> None:
        self.differences: list[Difference] = []
        self.counts: Counter[tuple[str, str, str, str, bool]] = Counter()
        self.partitions: list[tuple[str, str, str]] = []
        self.checked: CheckResult = _CheckedOnce()

    def add(self, one: Difference) -> None:
        """Count a difference, and keep it unless there are too many of its kind."""
        key = one.left_path, one.right_path, one.partition, one.what, one.allowed
        self.counts[key] += 1
        if self.counts[key] <= MAX_DIFFERENCES_OF_A_KIND:
            self.differences.append(one)

    @property
    def differ(self) -> bool:
        """Whether anything differs that healthy replicas have in common."""
        return any(not allowed for *_, allowed in self.counts)


class _CheckedOnce(CheckResult):
    """Coverage that counts a file once, even if it is compared with several sides."""

    def __init__(self) -> None:
        super().__init__()
        self._counted: set[tuple[str, ...]] = set()

    def _first(self, *key: str) -> bool:
        new = key not in self._counted
        self._counted.add(key)
        return new

    def cover(self, path: str, checked_bytes: int, *, entries: int = 0, batches: int = 0) -> None:
        if self._first("covered", path):
            super().cover(path, checked_bytes, entries=entries, batches=batches)

    def cannot(self, path: str, sentence: str) -> None:
        if self._first("unread", path, sentence):
            super().cannot(path, sentence)

    def skip(self, path: str, why: str, skipped_bytes: int = 0, where: str = "") -> None:
        if self._first("skipped", path, why, where):
            super().skip(path, why, skipped_bytes, where)


class Sides:
    """One partition's two sides, and where their differences are kept; `name` is the path below both."""

    def __init__(
        self, left: Partition, right: Partition, name: str, paths: tuple[str, str], comparison: Comparison
    ) -> None:
        self.left, self.right, self.name, self.paths, self.comparison = left, right, name, paths, comparison

    @property
    def checked(self) -> CheckResult:
        """What was compared and what could not be read."""
        return self.comparison.checked

    def where(self, *parts: str) -> str:
        """A difference's place, from its parts."""
        return " ".join(filter(None, (self.name, *parts)))

    def note(self, what: str, where: str, left: Any, right: Any, *, allowed: bool, offset: int | None = None) -> None:
        """Keep a difference; `where` is a place inside the partition."""
        place = self.where(where)
        self.comparison.add(Difference(what, place, left, right, allowed, self.name, offset, *self.paths))
