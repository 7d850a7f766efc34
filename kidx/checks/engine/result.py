"""The result of a check: findings, coverage, and what could not be read."""

from __future__ import annotations

from collections.abc import Iterable

from kidx.checks.engine.options import Options
from kidx.errors import KidxError
from kidx.evidence import STDIN_NAMES, exists
from kidx.evidence.tiered import DamagedObject, NoKey
from kidx.findings import Coverage, Finding, Skipped
from kidx.logdir.tree import DataFile


class CheckResult:
    """Findings, coverage, and a sentence for everything that could not be read. Picklable.

    With `only`, a path, only that file is counted: its siblings are read only to compare it with them. `damaged` are
    the pieces of remote segments that could not be put together; they become findings.
    """

    def __init__(
        self,
        findings: list[Finding] | None = None,
        coverage: Coverage | None = None,
        unread: list[str] | None = None,
        only: str | None = None,
    ) -> None:
        self.findings: list[Finding] = [] if findings is None else findings
        self.coverage: Coverage = Coverage() if coverage is None else coverage
        self.unread: list[str] = [] if unread is None else unread
        self.only = only
        self.damaged: list[DamagedObject] = []

    def cover(self, path: str, checked_bytes: int, *, entries: int = 0, batches: int = 0) -> None:
        """Count a file that was checked."""
        if self.only in (None, path):
            self.coverage.files += 1
            self.coverage.bytes_checked += checked_bytes
            self.coverage.entries += entries
            self.coverage.batches += batches

    def cannot(self, path: str, sentence: str) -> None:
        """Note that a file, or something of it, could not be read."""
        if self.only in (None, path):
            self.unread.append(sentence)
            self.coverage.unreadable += 1

    def failed(self, sentences: Iterable[str]) -> None:
        """Note failures of the system (kidx.evidence.system_failures), each once."""
        for sentence in dict.fromkeys(sentences):
            if sentence not in self.unread:
                self.unread.append(sentence)
                self.coverage.unreadable += 1

    def skip(self, path: str, why: str, skipped_bytes: int = 0, where: str = "") -> None:
        """Note that a file, or something of it, was not checked."""
        if self.only in (None, path):
            self.coverage.skipped.append(Skipped(path + where, why))
            self.coverage.bytes_skipped += skipped_bytes

    def add(self, other: CheckResult) -> None:
        """Add another result to this one."""
        self.findings += other.findings
        self.coverage.add(other.coverage)
        self.unread += other.unread
        self.damaged += other.damaged


def cannot_read(file: DataFile, e: KidxError, options: Options, done: CheckResult) -> None:
    """Note a file that could not be read, or that is gone since the directory was listed."""
    if isinstance(e, DamagedObject):
        done.damaged.append(e)
        done.skip(file.path, "it cannot be put together from the objects of the tier")
    elif isinstance(e, NoKey):
        done.skip(file.path, "encrypted, and not checked without its key")
        done.cannot(file.path, str(e))
    elif done.only is not None or file.path in STDIN_NAMES or exists(file.path):
        done.cannot(file.path, str(e))
    elif options.live:
        done.skip(file.path, "it was deleted while the directory was checked")
    else:
        done.cannot(
            file.path, f"{file.path}: it was deleted while the directory was checked; try again, or with --live"
        )
