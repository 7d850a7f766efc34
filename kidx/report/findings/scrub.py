"""A scrub: the same directories checked again and again, the least recently checked first, over many runs.

A file of one JSON object remembers when each directory was last checked, how many bytes that read and how many findings
of each rule it had. It is written every few seconds, so a run that is stopped goes on about where it was.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from kidx.checks.engine.result import CheckResult
from kidx.checks.engine.targets import Target
from kidx.errors import CannotRead, UsageError
from kidx.evidence import absolute, exists, read_file
from kidx.report.metrics import Metric
from kidx.surgery.output import write_output

SCHEMA = "kidx.scrub.v1"
_BEGINNING = b'{"schema": "' + SCHEMA.encode()
_LARGEST_BYTES = 256 << 20
_SAVED_EVERY_SECONDS = 10.0


class LastCheck(NamedTuple):
    """The last check of a directory: when, in seconds since the epoch, bytes read, unread files, findings by rule."""

    at: float
    bytes_checked: int
    unread: int
    findings: dict[str, int]


class Scrub:
    """What a scrub's file remembers. Raises UsageError for a file that is none, CannotRead."""

    def __init__(self, path: str) -> None:
        self._path = path
        self.checks: dict[str, LastCheck] = _read(path) if exists(path) else {}
        self._saved = time.monotonic()
        self.save()  # a place that cannot be written is found before hours of work

    def in_order(self, targets: Iterable[Target | CannotRead]) -> list[Target | CannotRead]:
        """The least recently checked targets first, new ones before all; directories that are gone are forgotten."""
        found = list(targets)
        there = {_key(target) for target in found if isinstance(target, Target)}
        self.checks = {key: last for key, last in self.checks.items() if key in there}
        return sorted(found, key=self._age)

    def _age(self, target: Target | CannotRead) -> float:
        last = self.checks.get(_key(target)) if isinstance(target, Target) else None
        return last.at if last else 0.0

    def note(self, target: Target, result: CheckResult) -> None:
        """Remember a check, and write the file if that was not done for some seconds."""
        findings = dict(Counter(finding.rule for finding in result.findings))
        read = result.coverage.bytes_checked
        self.checks[_key(target)] = LastCheck(time.time(), read, len(result.unread), findings)
        if time.monotonic() - self._saved > _SAVED_EVERY_SECONDS:
            self.save()

    def metrics(self) -> list[Metric]:
        """What node_exporter shows: bytes, directories, the age of the oldest check, findings by rule."""
        checks = list(self.checks.values())
        findings: Counter[str] = Counter()
        for last in checks:
            findings.update(last.findings)
        alone: Mapping[str, str] = {}
        oldest = [(alone, min(last.at for last in checks))] if checks else []
        read, unread = sum(c.bytes_checked for c in checks), sum(c.unread for c in checks)
        by_rule = [({"rule": rule}, number) for rule, number in sorted(findings.items())]
        return [
            Metric("kidx_checked_bytes", "Bytes read by the last check of each directory.", [(alone, read)]),
            Metric("kidx_checked_directories", "Directories that have been checked.", [(alone, len(checks))]),
            Metric("kidx_unread_files", "Files that the last checks could not read.", [(alone, unread)]),
            Metric("kidx_oldest_check_timestamp_seconds", "When the least recent of the last checks was.", oldest),
            Metric("kidx_findings", "Findings of the last checks.", by_rule),
        ]

    def save(self) -> None:
        """Write the file."""
        import json

        self._saved = time.monotonic()
        write_output(self._path, json.dumps({"schema": SCHEMA, "checks": self.checks}) + "\n", (_BEGINNING,))


def _key(target: Target) -> str:
    return "\n".join([absolute(target.directory), *sorted(target.names or ())])


def _read(path: str) -> dict[str, LastCheck]:
    import json

    try:
        said = json.loads(read_file(path, _LARGEST_BYTES))
        if said["schema"] != SCHEMA:
            raise ValueError
        return {str(key): _checked(*values) for key, values in said["checks"].items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise UsageError(f"{path}: not the file of a scrub; name a new one for --resume") from None


def _checked(at: Any, bytes_checked: Any, unread: Any, findings: Any) -> LastCheck:
    return LastCheck(float(at), int(bytes_checked), int(unread), {str(k): int(n) for k, n in findings.items()})
