"""Findings that are known: a baseline, and paths for which rules are ignored. Both leave findings out of a result.

A finding is known by its rule, file, first byte and slot: a baseline holds as long as the damage stays where it is.
What is left out is counted among the skipped items, so that a verdict never hides it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from typing import NamedTuple

from kidx.errors import UsageError
from kidx.evidence import read_file
from kidx.findings import Coverage, Finding, Rule, Skipped, codes_of
from kidx.text.quantities import counted

SCHEMA = "kidx.baseline.v1"
BEGINNING = b'{"schema": "' + SCHEMA.encode()
_LARGEST_BYTES = 64 << 20
Known = frozenset[tuple[str, str, int | None, int | None]]


class Kept(NamedTuple):
    """A result without the findings that were left out."""

    findings: list[Finding]
    coverage: Coverage
    unread: list[str]


def baseline_text(findings: Iterable[Finding]) -> str:
    """A baseline: kidx.baseline.v1, one line a finding."""
    from kidx.text.json_text import json_text

    lines = ",\n".join(json_text(list(key)) for key in sorted({_key(f) for f in findings}, key=str))
    return f'{{"schema": "{SCHEMA}", "findings": [\n{lines}\n]}}\n'


def read_baseline(path: str) -> Known:
    """The findings in a baseline. Raises CannotRead, UsageError for a file that is no baseline."""
    import json

    try:
        known = json.loads(read_file(path, _LARGEST_BYTES))
        if known["schema"] != SCHEMA:
            raise ValueError
        return frozenset((str(rule), str(file), start, slot) for rule, file, start, slot in known["findings"])
    except (ValueError, KeyError, TypeError, RecursionError):
        raise UsageError(f"{path}: not a baseline; kidx verify --write-baseline writes one") from None


def without(
    findings: Iterable[Finding],
    coverage: Coverage,
    unread: list[str],
    left_out: Mapping[str, Callable[[Finding], bool]],
) -> Kept:
    """The result without findings for which a test of `left_out` holds; its key says why, and the number is noted."""
    kept: list[Finding] = []
    counts = dict.fromkeys(left_out, 0)
    for finding in findings:
        why = next((why for why, test in left_out.items() if test(finding)), None)
        if why is None:
            kept.append(finding)
        else:
            counts[why] += 1
    whole = Coverage()
    whole.add(coverage)
    whole.skipped += [Skipped(counted(count, "finding"), why) for why, count in counts.items() if count]
    return Kept(kept, whole, unread)


def known(baseline: Known) -> Callable[[Finding], bool]:
    """Whether a finding is in a baseline."""
    return lambda finding: _key(finding) in baseline


def ignored(by_path: Mapping[str, Iterable[str]], rules: Mapping[str, Rule]) -> Callable[[Finding], bool]:
    """Whether a finding's file matches a pattern whose rules include its own. Raises UsageError for unknown rules."""
    codes = {pattern: codes_of(words, rules) for pattern, words in by_path.items()}
    return lambda finding: any(
        finding.rule in its and fnmatchcase(finding.file, pattern) for pattern, its in codes.items()
    )


def _key(finding: Finding) -> tuple[str, str, int | None, int | None]:
    return finding.rule, finding.file, finding.byte_start, finding.slot
