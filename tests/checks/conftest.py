"""What the tests of checks share: a healthy partition to damage, and the rules that a check finds in it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kidx.checks.engine.discovery import findings_about
from kidx.checks.engine.index_file import entry_findings, index_extent
from kidx.checks.engine.options import Options
from kidx.checks.engine.partition import check_target
from kidx.checks.engine.result import CheckResult
from kidx.checks.engine.targets import Target
from kidx.checks.rule import Found
from kidx.checks.subjects.indexes import IndexFacts, IndexFile
from kidx.evidence import Evidence
from kidx.findings import NOTE, Finding
from kidx.formats.indexes import IndexFormat
from tests.support import FIXTURES

NEWEST = FIXTURES / "kafka-4.3.1"


@pytest.fixture
def copy(tmp_path: Path) -> Callable[[str], Path]:
    """Copies a partition of the newest fixture set (`clean/plain-0`) to be damaged, alone, without its log dir."""

    def copied(partition: str) -> Path:
        source = NEWEST / partition
        return Path(shutil.copytree(source, tmp_path / source.name))

    return copied


def index_findings(evidence: Evidence, index_format: IndexFormat, facts: IndexFacts) -> Iterator[Found]:
    """Findings about an index by itself."""
    index = IndexFile(evidence.path, index_format, facts, evidence.size, index_extent(evidence, index_format))
    yield from entry_findings(evidence, index)
    yield from findings_about(index)


def check(path: Path, **options: object) -> CheckResult:
    """Check a directory whole, or one file of it."""
    if path.is_dir():
        return check_target(Target(str(path)), Options(**options))  # type: ignore[arg-type]
    return check_target(Target(str(path.parent), {path.name: str(path)}), Options(**options))  # type: ignore[arg-type]


def grave(checked: CheckResult) -> list[Finding]:
    """The findings that are more than notes."""
    return [f for f in checked.findings if f.severity != NOTE]


def placed(finding: Finding) -> tuple[object, ...]:
    """A finding's rule, slot, byte range, expected and found values."""
    return (
        finding.rule, finding.slot, finding.byte_start, finding.byte_end, finding.expected, finding.found
    )  # fmt: skip


def rules(findings: list[Finding]) -> set[str]:
    """The codes found."""
    return {f.rule for f in findings}
