"""What the tests of checks share: a healthy partition to damage, and the rules that a check finds in it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from kidx.checks.options import Options
from kidx.checks.partition import Checked, check_target
from kidx.checks.targets import Target
from kidx.findings import NOTE, Finding
from tests.support import FIXTURES

NEWEST = FIXTURES / "kafka-4.3.1"


@pytest.fixture
def copy(tmp_path: Path) -> Callable[[str], Path]:
    """Copies a partition of the newest fixture set (`clean/plain-0`) to be damaged, alone, without its log dir."""

    def copied(partition: str) -> Path:
        source = NEWEST / partition
        return Path(shutil.copytree(source, tmp_path / source.name))

    return copied


def check(path: Path, **options: object) -> Checked:
    """Check a directory whole, or one file of it."""
    if path.is_dir():
        return check_target(Target(str(path)), Options(**options))  # type: ignore[arg-type]
    return check_target(Target(str(path.parent), {path.name: str(path)}), Options(**options))  # type: ignore[arg-type]


def grave(checked: Checked) -> list[Finding]:
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
