"""Checking one range of a log, from a batch boundary to another, window by window."""

from __future__ import annotations

from collections.abc import Iterable

from kidx.checks.engine.discovery import checks_of
from kidx.checks.rule import BATCH, FIELDS, Found
from kidx.checks.subjects.indexes import OffsetEntries, TimeEntries
from kidx.checks.subjects.logs import Batches, LogFacts, LogRange
from kidx.checks.subjects.transactions import TransactionTracker
from kidx.evidence import Evidence
from kidx.findings import MAX_FINDINGS_OF_A_RULE, Finding
from kidx.segments.scan import scan
from kidx.segments.windows import Window

_MOST_FINDINGS = 20 * MAX_FINDINGS_OF_A_RULE


def check_log_range(
    log: Evidence,
    facts: LogFacts,
    offsets: OffsetEntries | None,
    times: TimeEntries | None,
    start: int,
    end: int | None,
) -> LogRange:
    """Scan and check. Raises CannotRead and its children."""
    done = LogRange(start, facts)
    if times is not None:
        times.first_met = None
    check = WindowChecker(log, facts, done, offsets, times)
    windows = scan(log, offsets.positions if offsets else None, start=start, end=end, hold=facts.deep)
    for window in windows:
        check.take(window)
    done.position = windows.position
    if windows.ending is not None:
        done.ending, done.ending_why = windows.ending.kind, windows.ending.why
    if times is not None:
        done.times_met, done.first_time_met = times.met, times.first_met
    return done


class WindowChecker:
    """Applies the rules to a log range window by window, and keeps the range's state up to date."""

    def __init__(
        self,
        log: Evidence,
        facts: LogFacts,
        done: LogRange,
        offsets: OffsetEntries | None,
        times: TimeEntries | None,
    ) -> None:
        self._log, self._facts, self._done, self._offsets, self._times = log, facts, done, offsets, times
        self._tracker = TransactionTracker(log)
        self._decoder = None
        if facts.deep:
            from kidx.segments.record_blocks import RecordDecoder  # its tables take longer to build than a small check

            self._decoder = RecordDecoder(log)

    def take(self, window: Window) -> None:
        """Check a window. Raises CannotRead and its children."""
        batches = Batches(
            self._log, self._facts, window, self._done, self._tracker, self._decoder, self._offsets, self._times
        )
        for check in checks_of(Batches):
            violations = check.condition(batches)
            if violations is None:
                continue
            if check.stage <= FIELDS and check.distrust == BATCH:
                batches.discredit(violations)
            self._add(check.findings_of(batches, violations))
        self._done.advance(batches)

    def _add(self, findings: Iterable[Found]) -> None:
        """Limit the findings: there are more than are listed one by one."""
        for one in findings:
            if len(self._done.findings) < _MOST_FINDINGS and isinstance(one, Finding):
                self._done.findings.append(one)
