"""Rules and their findings, of whatever system's files; how users choose among rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from kidx.errors import UsageError, meant

if TYPE_CHECKING:
    from types import ModuleType

ERROR, WARNING, NOTE = "error", "warning", "note"
SEVERITIES = (ERROR, WARNING, NOTE)  # worst first
NOT_HELD = "not held against"  # in the reason why a file was skipped: what it says was not compared with its log
MAX_FINDINGS_OF_A_RULE = 1000  # in one file: random bytes would otherwise give one an entry
T = TypeVar("T")


class Rule(NamedTuple):
    """One thing that can be wrong, or worth knowing, about a file.

    `code` is stable (KX110), `name` is readable (zero-tail). `broker` states what a broker of which version does with
    such a file, `story` what happened and what to do (for `kidx explain`); both are plain sentences.
    """

    code: str
    name: str
    severity: str
    title: str
    broker: str
    story: str
    repair: str = ""

    def finding(
        self,
        file: str,
        message: str,
        *,
        span: tuple[int, int] | None = None,
        slot: int | None = None,
        expected: Any = None,
        found: Any = None,
        severity: str | None = None,
    ) -> Finding:
        """A finding of this rule. `span` is its first byte and the byte after its last one."""
        start, end = span if span else (None, None)
        return Finding(
            self.code, severity or self.severity, file, start, end, slot, expected, found, message, self.broker
        )


class Finding(NamedTuple):
    """One finding of one rule in one file.

    `byte_start` is the first byte concerned and `byte_end` the byte AFTER the last one; `slot` is the index entry.
    All three are None where the finding is about the whole file. `expected` and `found` are JSON-able values.
    """

    rule: str
    severity: str
    file: str
    byte_start: int | None
    byte_end: int | None
    slot: int | None
    expected: Any
    found: Any
    message: str
    broker: str


class Skipped(NamedTuple):
    """Something that was not checked, and why."""

    what: str
    why: str


class Coverage:
    """What a run checked. Without these totals, "clean" would claim more than is known.

    `bytes_checked` and `bytes_skipped` are bytes of files, `entries` index entries, `batches` record batches.
    """

    def __init__(
        self,
        files: int = 0,
        entries: int = 0,
        batches: int = 0,
        bytes_checked: int = 0,
        bytes_skipped: int = 0,
        skipped: list[Skipped] | None = None,
        unreadable: int = 0,
    ) -> None:
        self.files = files
        self.entries = entries
        self.batches = batches
        self.bytes_checked = bytes_checked
        self.bytes_skipped = bytes_skipped
        self.skipped: list[Skipped] = [] if skipped is None else skipped
        self.unreadable = unreadable

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Coverage) and vars(self) == vars(other)

    def __repr__(self) -> str:
        return f"<Coverage: {', '.join(f'{name} {value}' for name, value in vars(self).items())}>"

    def add(self, other: Coverage) -> None:
        """Add another run's totals to these."""
        self.files += other.files
        self.entries += other.entries
        self.batches += other.batches
        self.bytes_checked += other.bytes_checked
        self.bytes_skipped += other.bytes_skipped
        self.skipped += other.skipped
        self.unreadable += other.unreadable


def rules_in(package: ModuleType) -> dict[str, Rule]:
    """The rules that a package's modules define at their top level, by code, ascending. Imports every module of it.

    Raises ValueError where two rules share a code or a name.
    """
    import pkgutil
    from importlib import import_module

    rules: dict[str, Rule] = {}
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        for value in vars(import_module(found.name)).values():
            if isinstance(value, Rule) and rules.setdefault(value.code, value) is not value:
                raise ValueError(f"{found.name}: the code {value.code} belongs to another rule already")
    if len({rule.name for rule in rules.values()}) < len(rules):
        raise ValueError(f"{package.__name__}: two rules share a name")
    return dict(sorted(rules.items()))


def codes_of(selection: Iterable[str], rules: Mapping[str, Rule]) -> frozenset[str]:
    """The codes in `rules` that these codes, names and prefixes of codes (KX1) select. Raises UsageError."""
    codes: set[str] = set()
    for word in filter(None, map(str.strip, selection)):
        matching = {code for code in rules if code.startswith(word.upper())}
        codes |= matching or {_code_of_name(word, rules)}
    return frozenset(codes)


def _code_of_name(word: str, rules: Mapping[str, Rule]) -> str:
    for rule in rules.values():
        if rule.name == word.lower():
            return rule.code
    near = meant(word, [rule.name for rule in rules.values()])
    raise UsageError(f"{word}: no rule has this code or name{near or '; `kidx explain` lists them'}")


def left_out(chosen: frozenset[str] | None, rules: Mapping[str, Rule]) -> list[Skipped]:
    """The rules that a selection of codes leaves out, as skipped items of a run; None selects all."""
    missing = sorted(set(rules) - chosen) if chosen is not None else []
    if not missing:
        return []
    few = len(missing) <= 4
    what = (
        ", ".join(f"{code} {rules[code].name}" for code in missing) if few else f"{len(missing)} of {len(rules)} rules"
    )
    return [Skipped(what, "left out by --select, --ignore or the configuration")]


class SuppressedFindings(NamedTuple):
    """Findings of one rule that are not reported one by one: how many there are, and the last of them."""

    last: Finding
    number: int


class FindingLimiter:
    """Makes at most as many findings of a rule in one file as limited() lets through; the rest is counted."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def of(self, code: str, items: Sequence[T], make: Callable[[T], Finding]) -> Iterator[Finding | SuppressedFindings]:
        """The findings of a rule that `make` makes of items, in order."""
        count = self._counts.get(code, 0)
        self._counts[code] = count + len(items)
        room = max(0, MAX_FINDINGS_OF_A_RULE - count)
        yield from map(make, items[:room])
        if len(items) > room:
            yield SuppressedFindings(make(items[-1]), len(items) - room)


def limited(findings: Iterable[Finding | SuppressedFindings]) -> Iterator[Finding]:
    """Findings with at most MAX_FINDINGS_OF_A_RULE of each rule in a file, then one that counts the rest."""
    seen: dict[tuple[str, str], int] = {}
    last: dict[tuple[str, str], Finding] = {}
    for one in findings:
        finding, count = (one.last, one.number) if isinstance(one, SuppressedFindings) else (one, 1)
        key = finding.file, finding.rule
        seen[key] = so_far = seen.get(key, 0) + count
        last[key] = finding
        if so_far <= MAX_FINDINGS_OF_A_RULE:
            yield finding
    for key, count in seen.items():
        more = count - MAX_FINDINGS_OF_A_RULE
        if more > 0:
            message = f"{more:,} findings of this rule in this file up to here are not listed one by one"
            yield last[key]._replace(expected=None, found=more, message=message)
