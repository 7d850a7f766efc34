"""A whole log: its stretches side by side or one after another, across broken places, and joined into one account."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from kidx.checks.against_log import OffsetEntries, TimeEntries
from kidx.checks.making import finding
from kidx.checks.producers import Producers
from kidx.checks.stretch import Gap, LogFacts, Named, Stretch, TransactionEvent
from kidx.checks.stretch_check import check_stretch
from kidx.evidence import Evidence
from kidx.execution import run_parallel
from kidx.findings import Finding
from kidx.segments.resume import parts, resume
from kidx.segments.scan import spare_page_cache
from kidx.segments.walk import END, PREALLOCATED, TORN

_WORTH_FORKING_BYTES = 24 << 20  # below that a fork costs more than it saves
_MOST_BROKEN_PLACES = 1000
_NOT_BELIEVED = ("KX301", "KX307", "KX308")
_NOT_AS_WRITTEN = (*_NOT_BELIEVED, "KX305", "KX309", "KX310")


class LogChecked:
    """What a log holds, joined from its stretches. `end` is the byte where its batches end."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.gaps: list[Gap] = []
        self.events: list[TransactionEvent] = []
        self.named: dict[int, Named] = {}
        self.producers: list[Producers] = []  # of one stretch after another
        self.too_large: list[str] = []
        self.broken: list[tuple[int, int]] = []  # first byte, byte after the last
        self.batches = 0
        self.first_offset: int | None = None
        self.last_offset: int | None = None
        self.max_timestamp = -1
        self.last_position = 0
        self.compacted = False
        self.whole = True  # no place was broken, so what is not there is missing
        self.end = 0

    @property
    def not_believed(self) -> list[int]:
        """Where the batches stand whose offsets are not to be believed."""
        return [f.byte_start for f in self.findings if f.rule in _NOT_BELIEVED and f.byte_start is not None]

    @property
    def tells_transactions(self) -> bool:
        """Whether every batch is what a broker wrote there, once and in order, so that markers can be replayed."""
        return self.whole and not any(f.rule in _NOT_AS_WRITTEN for f in self.findings)

    @property
    def skipped_bytes(self) -> int:
        """Bytes of broken places."""
        return sum(after - first for first, after in self.broken)


def check_log(
    log: Evidence, facts: LogFacts, offsets: OffsetEntries | None, times: TimeEntries | None, jobs: int
) -> LogChecked:
    """Check every batch of a log, and its indexes' entries against them. Raises CannotRead and its children."""
    done = LogChecked()
    before: Stretch | None = None
    future: tuple[int, int] | None = None
    for stretch, broken in _stretches(log, facts, offsets, times, jobs, done):
        done.findings += stretch.findings
        if before is not None:
            done.findings += _across(log, before, stretch, times, broken, done)
        done.gaps += stretch.gaps
        done.events += stretch.events
        done.named.update(stretch.named)
        done.producers.append(stretch.producers)
        done.too_large += stretch.too_large
        done.batches += stretch.batches
        done.compacted |= stretch.compacted
        done.end = stretch.position
        if stretch.first_offset is not None:
            done.first_offset = stretch.first_offset if done.first_offset is None else done.first_offset
            done.last_offset, done.last_position = stretch.last_offset, stretch.last_position or 0
            before = stretch
        done.max_timestamp = max(done.max_timestamp, stretch.max_timestamp)
        future = future or stretch.future
        if times is not None and stretch.times_met is not None:
            times.join_met(stretch.times_met)
    if future is not None:
        done.findings.append(_future(log, *future))
    return done


def _stretches(
    log: Evidence,
    facts: LogFacts,
    offsets: OffsetEntries | None,
    times: TimeEntries | None,
    jobs: int,
    done: LogChecked,
) -> Iterator[tuple[Stretch, bool]]:
    """The stretches in order, and whether the place before each is broken. How the log ends goes into `done`."""
    check = partial(_check_range, log, facts, offsets, times)
    start, broken, places = 0, False, 0
    if jobs > 1 and log.size >= _WORTH_FORKING_BYTES and offsets is not None:
        ranges = parts(log, offsets.positions, jobs)
        spare_page_cache(log)
        found = run_parallel(check, ranges, jobs) if len(ranges) > 1 else {}
        for piece in ranges[:-1]:  # the last one is looked at below, as a log of one piece is
            stretch = found.get(piece)
            if stretch is None or stretch.ending != END or stretch.position != piece[1]:
                break
            yield stretch, False
            start = piece[1]
        last = found.get(ranges[-1])
        if last is not None and start == ranges[-1][0] and last.ending == END:
            yield last, False
            return
    while True:
        stretch = check((start, log.size))
        yield stretch, broken
        if stretch.ending == END:
            return
        at = stretch.position
        after = resume(log, at + 1) if stretch.ending != PREALLOCATED and places < _MOST_BROKEN_PLACES else None
        if after is None:
            done.findings += _ending(log, stretch, done)
            return
        places += 1
        broken = True
        done.whole = False
        done.findings.append(
            finding(
                "KX303",
                log.path,
                f"no batch can be read at byte {at} ({stretch.ending_why}); the next sound one starts at byte {after}",
                span=(at, after),
                found=after - at,
            )
        )
        done.broken.append((at, after))
        start = after


def _check_range(
    log: Evidence,
    facts: LogFacts,
    offsets: OffsetEntries | None,
    times: TimeEntries | None,
    piece: tuple[int, int],
) -> Stretch:
    return check_stretch(log, facts, offsets, times, *piece)


def _ending(log: Evidence, stretch: Stretch, done: LogChecked) -> Iterator[Finding]:
    """What the log ends with, where that is not a batch's end."""
    at, rest = stretch.position, log.size - stretch.position
    if stretch.ending == PREALLOCATED:
        yield finding("KX312", log.path, f"its last {rest:,} bytes are zeros", span=(at, log.size), found=rest)
        return
    done.whole = False
    done.broken.append((at, log.size))
    code = "KX302" if stretch.ending == TORN else "KX304"
    yield finding(
        code,
        log.path,
        f"its last {rest:,} bytes are no batch: {stretch.ending_why}",
        span=(at, log.size),
        found=rest,
    )


def _across(
    log: Evidence, before: Stretch, stretch: Stretch, times: TimeEntries | None, broken: bool, done: LogChecked
) -> Iterator[Finding]:
    """What only the border of two stretches shows."""
    if before.last_offset is not None and stretch.first_offset is not None:
        missing = stretch.first_offset - before.last_offset - 1
        if missing < 0:
            yield finding(
                "KX305",
                log.path,
                f"the batch at byte {stretch.start} begins with offset {stretch.first_offset}, but offset "
                f"{before.last_offset} came before it",
                span=(stretch.start, stretch.start + 8),
                expected=before.last_offset + 1,
                found=stretch.first_offset,
            )
        elif missing and not broken:
            done.gaps.append(Gap(stretch.start, before.last_offset + 1, stretch.first_offset - 1))
    if 0 <= stretch.first_epoch < before.last_epoch:
        yield finding(
            "KX404",
            log.path,
            f"from byte {stretch.start} on the leader epoch is {stretch.first_epoch}, but "
            f"epoch {before.last_epoch} came before it",
            span=(stretch.start, stretch.start + 16),
            expected=f">= {before.last_epoch}",
            found=stretch.first_epoch,
        )
    index = stretch.first_time_met
    if times is not None and index is not None and not broken and done.max_timestamp >= int(times.timestamps[index]):
        yield times.mismatch(index, int(times.timestamps[index]), done.max_timestamp)


def _future(log: Evidence, position: int, timestamp: int) -> Finding:
    return finding(
        "KX311",
        log.path,
        f"the batch at byte {position} has timestamp {timestamp}, more than a day from now",
        span=(position, position + 43),
        found=timestamp,
    )
