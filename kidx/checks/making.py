"""How checks make findings of a rule: shorter here, so that each check reads as what it checks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from kidx.checks.catalogue import RULES
from kidx.findings import Finding
from kidx.light_typing import Any, NamedTuple, TypeVar

MAX_FINDINGS_OF_A_RULE = 1000  # in one file: random bytes would otherwise give one an entry
T = TypeVar("T")


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


def of_entry(
    code: str, file: str, width: int, slot: int, said: str, *, expected: Any = None, found: Any = None
) -> Finding:
    """A finding about an index's entry, of `width` bytes; `said` follows `entry 12` in its sentence."""
    span = (slot * width, (slot + 1) * width)
    return finding(code, file, f"entry {slot:,}{said}", span=span, slot=slot, expected=expected, found=found)


class Counted(NamedTuple):
    """Findings of one rule that nobody will be told one by one: how many, and the last of them."""

    last: Finding
    number: int


class Telling:
    """Makes no more findings of a rule in one file than bounded() lets through; the rest is counted."""

    def __init__(self) -> None:
        self._told: dict[str, int] = {}

    def of(self, code: str, items: Sequence[T], make: Callable[[T], Finding]) -> Iterator[Finding | Counted]:
        """The findings of a rule that `make` makes of items, in order."""
        told = self._told.get(code, 0)
        self._told[code] = told + len(items)
        room = max(0, MAX_FINDINGS_OF_A_RULE - told)
        yield from map(make, items[:room])
        if len(items) > room:
            yield Counted(make(items[-1]), len(items) - room)


def bounded(findings: Iterable[Finding | Counted]) -> Iterator[Finding]:
    """The findings of one file, at most MAX_FINDINGS_OF_A_RULE of each rule, then one that counts the rest."""
    seen: dict[str, int] = {}
    last: dict[str, Finding] = {}
    for one in findings:
        told, count = (one.last, one.number) if isinstance(one, Counted) else (one, 1)
        seen[told.rule] = so_far = seen.get(told.rule, 0) + count
        last[told.rule] = told
        if so_far <= MAX_FINDINGS_OF_A_RULE:
            yield told
    for code, count in seen.items():
        more = count - MAX_FINDINGS_OF_A_RULE
        if more > 0:
            yield last[code]._replace(
                expected=None,
                found=more,
                message=f"{more:,} findings of this rule in this file up to here are not listed one by one",
            )
