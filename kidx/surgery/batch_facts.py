"""What recovery needs to know of a log's batches, read in one process or several."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kidx.evidence import Evidence
from kidx.forks import run_forked
from kidx.formats.indexes import MAX_RELATIVE_OFFSET
from kidx.segments.resume import parts
from kidx.segments.scan import scan
from kidx.segments.walk import END
from kidx.surgery.recovered_transactions import Event, EventReader

if TYPE_CHECKING:
    import numpy.typing as npt

    from kidx.segments.windows import Ints, Window

WORTH_FORKING_BYTES = 32 << 20  # a log below this is read before a second process has paid for itself


class BatchFacts(NamedTuple):
    """Neighbouring valid batches: arrays of one row a batch, and the transaction events among them.

    `position` (uint32, bytes), `relative_last_offset` (int32, to the segment's base) and `max_timestamp` (int64, ms).
    `end` is the byte after the last of them; `broken` says why the log is not valid there, None where it goes on or
    has come to its end.
    """

    position: npt.NDArray[np.uint32]
    relative_last_offset: npt.NDArray[np.int32]
    max_timestamp: Ints
    events: list[Event]
    end: int
    broken: str | None = None


def read_facts(
    log: Evidence, base_offset: int, index_positions: Sequence[int] | Ints | None, jobs: int = 1
) -> Iterator[BatchFacts]:
    """The facts of all batches up to the first that is not valid, in order; with `jobs` by that many processes.

    `index_positions`, of an index in any state, only make it faster. Raises CannotRead and its children.
    """
    ranges = parts(log, index_positions, jobs if log.size >= WORTH_FORKING_BYTES else 1)
    start = 0
    if len(ranges) > 1:

        def read_range(part: tuple[int, int]) -> BatchFacts:
            return _joined(list(_read(log, base_offset, index_positions, *part)))

        done: dict[tuple[int, int], BatchFacts] = dict(run_forked(read_range, ranges, jobs))
        for part in ranges[:-1]:  # only where a range ends in order is it certain that the next one starts at a batch
            if done[part].end != part[1]:
                break
            yield done.pop(part)
            start = part[1]
        else:
            yield done.pop(ranges[-1])
            return
    yield from _read(log, base_offset, index_positions, start, log.size)


def _read(
    log: Evidence, base_offset: int, index_positions: Sequence[int] | Ints | None, start: int, end: int
) -> Iterator[BatchFacts]:
    windows = scan(log, index_positions, start=start, end=end)
    events = EventReader(log)
    for window in windows:
        sound, broken = _sound_rows(window, base_offset)
        yield BatchFacts(
            window.position[:sound].astype(np.uint32),
            (window.last_offset[:sound] - base_offset).astype(np.int32),
            window.column("max_timestamp")[:sound].copy(),
            list(events.read(window, sound)),
            window.end if broken is None else int(window.position[sound]),
            broken,
        )
        if broken is not None:
            return
    ending = windows.ending
    if ending is not None and ending.kind != END:
        nothing = np.empty(0, np.int64)
        yield BatchFacts(nothing.astype(np.uint32), nothing.astype(np.int32), nothing, [], ending.position, ending.why)


def _sound_rows(window: Window, base_offset: int) -> tuple[int, str | None]:
    """How many batches from the window's first on are valid, and what is wrong with the next one."""
    sound, broken = len(window), None
    if window.bad_crc:
        sound, broken = min(window.bad_crc), "the CRC of the batch does not hold"
    relative = window.last_offset[:sound] - base_offset
    unfit = (relative < 0) | (relative > MAX_RELATIVE_OFFSET)
    if unfit.any():
        sound = int(np.argmax(unfit))
        offset = int(window.last_offset[sound])
        broken = f"the batch's last offset, {offset}, does not fit the base offset {base_offset}"
    return sound, broken


def _joined(facts: list[BatchFacts]) -> BatchFacts:
    """Consecutive facts as one."""
    return BatchFacts(
        np.concatenate([f.position for f in facts]),
        np.concatenate([f.relative_last_offset for f in facts]),
        np.concatenate([f.max_timestamp for f in facts]),
        [event for f in facts for event in f.events],
        facts[-1].end,
        facts[-1].broken,
    )
