"""What `kidx scan` does around the scan itself: its settings, its progress line, the results it keeps."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING

from kidx.errors import UsageError

if TYPE_CHECKING:
    from kidx.pipeline.scan import Scanned, Settings

_PATIENCE_S = 0.7


def settings_of(
    master: str,
    config: tuple[str, ...],
    out: str | None,
    report: str | None,
    entries: bool,
    compaction: bool,
    fresh: bool,
    spark_log: str | None,
) -> Settings:
    """The options as the pipeline takes them. Raises UsageError, and MissingExtra where Spark is not installed."""
    from kidx.pipeline.session import need_spark

    need_spark()
    from kidx.pipeline.scan import Settings

    pairs = {}
    for setting in config:
        name, equals, value = setting.partition("=")
        if not equals or not name.startswith("spark."):
            raise UsageError(f"--conf {setting}: a setting looks like spark.executor.memory=2g")
        pairs[name] = value
    for wanted, option in ((report, "--report"), (entries, "--entries"), (fresh, "--fresh")):
        if wanted and out is None:
            raise UsageError(f"{option} needs a place for the results; give one with --out DIR")
    return Settings(master, pairs, out, entries, compaction, fresh, spark_log)


def keep_results(settings: Settings, scanned: Scanned, status: int, report: str | None) -> None:
    """Write what --out and --report ask for."""
    if settings.out is None:
        return
    from kidx.pipeline.output import write_results
    from kidx.report.findings.rows import summary_of

    summary = summary_of(scanned.checked.findings, scanned.checked.coverage, status)
    store = write_results(settings.out, scanned, summary)
    if report:
        from kidx.report.screens.fleet_page import fleet_page

        page = fleet_page(scanned.fleet.tables, scanned.checked.findings, summary, scanned.inventory.bytes)
        store.write("report.html", page.encode("utf-8", "backslashreplace"))


class FleetProgress:
    """One line on standard error, rewritten, where that is a terminal; gone when the scan is through."""

    def __init__(self) -> None:
        self._shown = sys.stderr.isatty()
        self._started = time.monotonic()
        self._width = 0

    def __enter__(self) -> FleetProgress:
        return self

    def __call__(self, phase: str, done: int, total: int) -> None:
        """Say what is being done; `done` of `total` bytes where there is a total."""
        if not self._shown:
            return
        share = f" {100 * done // total}% of {total / 1e9:,.2f} GB" if total else ""
        self._draw(f"{phase}{share}  {time.monotonic() - self._started:.0f} s")

    def __exit__(self, kind: type[BaseException] | None, e: BaseException | None, trace: TracebackType | None) -> None:
        if self._width:
            self._draw("")
            sys.stderr.write("\r")

    def _draw(self, line: str) -> None:
        sys.stderr.write("\r" + line.ljust(self._width))
        sys.stderr.flush()
        self._width = len(line)
