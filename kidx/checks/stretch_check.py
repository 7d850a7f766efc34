"""Checking one stretch of a log, from a batch boundary to another: window by window, with as little ado as it needs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from kidx.checks.against_log import OffsetEntries, TimeEntries
from kidx.checks.quiet import pass_quietly
from kidx.checks.stretch import LogFacts, Stretch
from kidx.evidence import Evidence
from kidx.segments.scan import scan

if TYPE_CHECKING:
    from kidx.checks.window_check import WindowCheck
    from kidx.segments.windows import Window

_FEW_BATCHES = 64  # in a window: below that, arrays take longer than lists do


def check_stretch(
    log: Evidence,
    facts: LogFacts,
    offsets: OffsetEntries | None,
    times: TimeEntries | None,
    start: int,
    end: int | None,
) -> Stretch:
    """Scan and check. Raises CannotRead and its children."""
    seen = Stretch(start, facts)
    if times is not None:
        times.first_met = None
    thorough: WindowCheck | None = None
    windows = scan(log, offsets.positions if offsets else None, start=start, end=end, hold=facts.deep)
    for window in windows:
        if not (thorough and thorough.wants(window)) and _passes_quietly(window, facts, seen, offsets, times):
            continue
        if thorough is None:
            from kidx.checks.window_check import WindowCheck  # in a healthy log of large batches it is not needed

            thorough = WindowCheck(log, facts, seen, offsets, times)
        thorough.check(window)
    seen.position = windows.position
    if windows.ending is not None:
        seen.ending, seen.ending_why = windows.ending.kind, windows.ending.why
    if times is not None:
        seen.times_met, seen.first_time_met = times.met, times.first_met
    return seen


def _passes_quietly(
    window: Window, facts: LogFacts, seen: Stretch, offsets: OffsetEntries | None, times: TimeEntries | None
) -> bool:
    """Whether there is nothing to tell of a window; said with arrays where numpy is there, or came with it."""
    if window.plain and ("numpy" not in sys.modules or len(window) < _FEW_BATCHES):
        return pass_quietly(window, facts, seen, offsets, times)
    from kidx.checks import quiet_arrays

    return quiet_arrays.pass_quietly(window, facts, seen, offsets, times)
