"""Options of the commands that check: what is checked, and how thoroughly."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import click

from kidx.cli.options import as_argument, base_offset_option, max_inflate_bytes_option
from kidx.errors import UsageError

if TYPE_CHECKING:
    from kidx.checks.engine.options import Options


class Checking(NamedTuple):
    """What is checked, and how thoroughly."""

    quick: bool
    deep: bool
    sample: str | None
    live: bool
    base_offset: int | None
    max_inflate_bytes: int

    def options(self, rules: frozenset[str], kind: str | None = None, jobs: int = 1) -> Options:
        """The options of a run. Raises UsageError for contradictory options and impossible samples."""
        from kidx.checks.engine.options import DEEP, DEFAULT, QUICK, Options, Sample

        if self.quick and self.deep:
            raise UsageError("--quick reads no log and --deep decodes every record; choose one of them")
        level = QUICK if self.quick else DEEP if self.deep else DEFAULT
        sample = Sample.parse(self.sample) if self.sample else None
        return Options(self.base_offset, self.live, level, sample, jobs, rules, kind, self.max_inflate_bytes)


checking_options = as_argument(
    "checking",
    Checking,
    click.option("--quick", is_flag=True, help="Read no log: what a broker checks at start, and more."),
    click.option("--deep", is_flag=True, help="Decode every record."),
    click.option(
        "--sample", metavar="N%|N/M", help="Read only a share of the logs: a percentage, or the Nth of M shares."
    ),
    click.option("--live", is_flag=True, help="A broker may be writing: growing files are not findings."),
    base_offset_option,
    max_inflate_bytes_option(),
)
