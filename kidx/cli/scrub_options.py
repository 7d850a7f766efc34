"""Options of `verify` for passes over a live broker's disks: how fast, where to go on, metrics."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

import click

from kidx.cli.options import as_argument
from kidx.cli.values import PATH, Rate
from kidx.errors import UsageError

if TYPE_CHECKING:
    from kidx.checks.engine.options import Options
    from kidx.checks.engine.result import CheckResult
    from kidx.checks.engine.targets import Target
    from kidx.errors import CannotRead


class Scrubbing(NamedTuple):
    """How fast to read, the file that remembers earlier runs, and the file of metrics."""

    rate: int | None
    resume: str | None
    metrics: str | None

    def check(
        self, targets: Iterable[Target | CannotRead], options: Options, progress: Callable[[int, int], None]
    ) -> CheckResult:
        """Check the targets, the least recently checked first where --resume remembers that."""
        from kidx.checks.engine.run import check_all

        options = options._replace(bytes_per_second=self.rate)
        if self.resume is None:
            if self.metrics is not None:
                raise UsageError("--metrics is about all runs of a scrub; name its file with --resume FILE")
            return check_all(targets, options, progress)
        from kidx.report.findings.scrub import Scrub
        from kidx.report.metrics import write_metrics

        scrub = Scrub(self.resume)
        try:
            return check_all(scrub.in_order(targets), options, progress, scrub.note)
        finally:
            scrub.save()
            if self.metrics is not None:
                write_metrics(self.metrics, scrub.metrics())


scrub_options = as_argument(
    "scrubbing",
    Scrubbing,
    click.option("--rate", type=Rate(), help="Read local files no faster than this, such as 50MB/s."),
    click.option(
        "--resume", type=PATH, metavar="FILE", help="Remember checks here: the least recently checked come first."
    ),
    click.option("--metrics", type=PATH, metavar="FILE", help="With --resume: write Prometheus metrics here."),
)
