"""A whole log: its ranges, in parallel or in turn, across broken places, joined into one result."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from kidx.checks.engine.discovery import distrusting, findings_about
from kidx.checks.engine.log_range import check_log_range
from kidx.checks.rule import BATCH, LOG
from kidx.checks.subjects.indexes import OffsetEntries, TimeEntries
from kidx.checks.subjects.logs import Gap, LogBreak, LogFacts, LogRange, LogResult, RangeBorder
from kidx.evidence import Evidence
from kidx.execution import run_parallel
from kidx.findings import limited
from kidx.segments.resume import parts, resume
from kidx.segments.scan import spare_page_cache
from kidx.segments.walk import END, PREALLOCATED

_WORTH_FORKING_BYTES = 24 << 20  # below that a fork costs more than it saves
_MOST_BROKEN_PLACES = 1000


def check_log(
    log: Evidence, facts: LogFacts, offsets: OffsetEntries | None, times: TimeEntries | None, jobs: int
) -> LogResult:
    """Check every batch of a log, and its indexes' entries against them. Raises CannotRead and its children."""
    done = LogResult()
    before: LogRange | None = None
    for part, broken in _ranges(log, facts, offsets, times, jobs, done):
        if before is not None:
            border = RangeBorder(log.path, before, part, times, done.max_timestamp, broken)
            done.findings += limited(findings_about(border))
            done.gaps += _gap_at(border)
        done.add(part)
        if part.first_offset is not None:
            before = part
        if times is not None and part.times_met is not None:
            times.join_met(part.times_met)
    not_believed, not_written = distrusting(BATCH), distrusting(BATCH, LOG)
    done.not_believed = [f.byte_start for f in done.findings if f.rule in not_believed and f.byte_start is not None]
    done.as_written = done.whole and not any(f.rule in not_written for f in done.findings)
    return done


def _gap_at(border: RangeBorder) -> list[Gap]:
    """Offsets that are missing between two ranges."""
    before, first = border.before.previous_last, border.after.first_offset
    if border.broken or before is None or first is None or first <= before + 1:
        return []
    if border.before.after_bad or border.after.first_position != border.after.start:
        return []  # a batch between them is not to be believed
    return [Gap(border.after.start, before + 1, first - 1)]


def _ranges(
    log: Evidence,
    facts: LogFacts,
    offsets: OffsetEntries | None,
    times: TimeEntries | None,
    jobs: int,
    done: LogResult,
) -> Iterator[tuple[LogRange, bool]]:
    """The ranges in order, and whether the place before each is broken. Broken places go into `done`."""
    check = partial(_check_range, log, facts, offsets, times)
    start, broken, places = 0, False, 0
    if jobs > 1 and log.size >= _WORTH_FORKING_BYTES and offsets is not None:
        pieces = parts(log, offsets.positions, jobs)
        spare_page_cache(log)
        found = run_parallel(check, pieces, jobs) if len(pieces) > 1 else {}
        for piece in pieces[:-1]:  # the last one is looked at below, as a log of one piece is
            part = found.get(piece)
            if part is None or part.ending != END or part.position != piece[1]:
                break
            yield part, False
            start = piece[1]
        last = found.get(pieces[-1])
        if last is not None and start == pieces[-1][0] and last.ending == END:
            yield last, False
            return
    while True:
        part = check((start, log.size))
        yield part, broken
        if part.ending == END:
            return
        at = part.position
        after = resume(log, at + 1) if part.ending != PREALLOCATED and places < _MOST_BROKEN_PLACES else None
        end = log.size if after is None else after
        place = LogBreak(log.path, facts, at, end, part.ending, part.ending_why, after is None)
        done.findings += limited(findings_about(place))
        done.being_written = place.being_written
        if after is not None or part.ending != PREALLOCATED:
            done.whole = False
            done.broken.append((at, end))
        if after is None:
            return
        places += 1
        broken = True
        start = after


def _check_range(
    log: Evidence,
    facts: LogFacts,
    offsets: OffsetEntries | None,
    times: TimeEntries | None,
    piece: tuple[int, int],
) -> LogRange:
    return check_log_range(log, facts, offsets, times, *piece)
