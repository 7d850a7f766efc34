"""How a run checks: small, immutable, picklable, so that forks and Spark tasks get the very same."""

from __future__ import annotations

from dataclasses import dataclass

from kidx.findings import Finding


@dataclass(frozen=True, slots=True)
class Options:
    """What to check and what to report.

    `base_offset` is for files whose name does not tell. `live` says that a broker may be writing: growth is no trouble.
    `rules` are the codes to report, None for all.
    """

    base_offset: int | None = None
    live: bool = False
    rules: frozenset[str] | None = None

    def wants(self, finding: Finding) -> bool:
        """Whether a finding is to be reported."""
        return self.rules is None or finding.rule in self.rules
