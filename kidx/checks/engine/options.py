"""The options of a run: small, immutable and picklable, so that forks and Spark tasks get the same."""

from __future__ import annotations

from typing import NamedTuple

from kidx.errors import UsageError
from kidx.findings import Finding
from kidx.formats.compression import MAX_INFLATE_BYTES

QUICK, DEFAULT, DEEP = "quick", "default", "deep"


class Sample(NamedTuple):
    """Which logs to read: those whose name falls on `share` (from 1) of `shares`, or a percentage of them.

    Chosen by name, so every process chooses the same logs, and N shares together are all logs.
    """

    share: float
    shares: int

    @classmethod
    def parse(cls, text: str) -> Sample:
        """`10%` or `3/8` (the third of eight shares). Raises UsageError."""
        number, slash, of = text.partition("/")
        try:
            if text.endswith("%"):
                percent = float(text[:-1])
                if 0 < percent <= 100:
                    return cls(percent, 0)
            elif slash and 1 <= int(number) <= int(of):
                return cls(int(number), int(of))
        except ValueError:
            pass
        raise UsageError(f"--sample {text}: write a percentage (10%) or a share (3/8: the third of eight)")

    def has(self, name: str) -> bool:
        """Whether a log is in the sample."""
        from zlib import crc32

        at = crc32(name.encode("utf-8", "surrogateescape"))
        return at % self.shares == self.share - 1 if self.shares else at % 10_000 < self.share * 100


class Options(NamedTuple):
    """What to check and what to report.

    `level`: QUICK reads no log, DEFAULT every batch's header and CRC, DEEP every record. `sample` leaves logs out.
    `base_offset` is for files whose name does not give it. `live`: a broker may be writing, so growth is not a finding.
    `jobs` is how many processes may share one large log. `rules` are the codes to report, None for all. `kind`
    (kidx.logdir.names) is the kind of files whose name does not give it. `remote` are the remote tiers that log dirs
    are held against. `max_inflate_bytes` is a run's InflationBudget (kidx.formats.compression). `bytes_per_second`
    bounds how fast all processes together read local files; None: as fast as they can.
    """

    base_offset: int | None = None
    live: bool = False
    level: str = DEFAULT
    sample: Sample | None = None
    jobs: int = 1
    rules: frozenset[str] | None = None
    kind: str | None = None
    max_inflate_bytes: int = MAX_INFLATE_BYTES
    remote: tuple[str, ...] = ()
    bytes_per_second: int | None = None

    def wants(self, finding: Finding) -> bool:
        """Whether a finding is to be reported."""
        return self.rules is None or finding.rule in self.rules
