"""A ConsumeQueue's units by themselves: ends, holes, pre-blanks, order. What passes goes to the commit log's scan."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kidx.findings import Finding
from kidx.rocketmq.checks.making import finding
from kidx.rocketmq.files import OpenFiles
from kidx.rocketmq.formats import PRE_BLANK_SIZE, UNIT
from kidx.rocketmq.layout import StoreFile

if TYPE_CHECKING:
    import numpy.typing as npt

    Ints = npt.NDArray[np.int64]

WIDTH = UNIT.size
_CHUNK_UNITS = 1 << 14


class QueueUnits(NamedTuple):
    """A queue file's units that lead somewhere, all int64. `first_offset` is the queue offset of the file's first."""

    topic: str
    queue_id: int
    path: str
    first_offset: int
    queue_offset: Ints
    at: Ints
    size: Ints
    tag_code: Ints


def read_units(opened: OpenFiles, file: StoreFile) -> tuple[Ints, Ints, Ints]:
    """(commit-log offset, size, tag code) of every whole unit of a file, up to the last that is not all zero."""
    evidence = opened.get(file.path)
    count = file.size // WIDTH
    at, size, tag_code = (np.empty(count, np.int64) for _ in range(3))
    chunk = np.empty(min(count, _CHUNK_UNITS) * WIDTH, np.uint8)
    for start in range(0, count, _CHUNK_UNITS):
        data = chunk[: (count - start) * WIDTH].data
        evidence.read_into(start * WIDTH, data)
        units = np.ndarray(len(data) // WIDTH, UNIT.dtype, data)
        part = slice(start, start + len(units))
        at[part], size[part], tag_code[part] = units["commit_log_offset"], units["size"], units["tag_code"]
    end = count
    if end and not size[-1]:
        used = ((at != 0) | (size != 0) | (tag_code != 0)).nonzero()[0]
        end = int(used[-1]) + 1 if len(used) else 0
    return at[:end], size[:end], tag_code[:end]


def check_queue(
    opened: OpenFiles, topic: str, queue_id: int, files: list[StoreFile], log_start: int
) -> Iterator[Finding | QueueUnits]:
    """Findings of a queue's own files, and of each file the units that the commit log should still know."""
    last_at, full = -1, True
    for number, file in enumerate(files):
        at, size, tag_code = read_units(opened, file)
        base = file.base or 0
        if not len(at) and number == len(files) - 1 and number and full:
            yield finding("KXR110", file.path, "all of it is zero, and the file before it is full", span=(0, file.size))
            continue
        if not full and len(at):
            yield _hole(file, 0, 1, "units follow here, but the file before it is not full")
        full = len(at) == file.size // WIDTH
        blank = (at == 0) & (size == PRE_BLANK_SIZE) & (tag_code == 0)
        leading = int(blank.argmin()) if len(blank) and not blank.all() else len(blank)
        if number == 0 and leading:
            said = f"units {base // WIDTH} to {base // WIDTH + leading - 1} are pre-blank"
            yield finding("KXR112", file.path, said, span=(0, leading * WIDTH))
        for slot in blank.nonzero()[0][leading if number == 0 else 0 :].tolist():
            yield finding("KXR113", file.path, "a pre-blank unit after real ones", span=_span(slot), slot=slot)
        valid = (at >= 0) & (size > 0)
        yield from _holes(file, valid)
        real = valid & ~blank
        slots = real.nonzero()[0]
        if len(slots) != len(at):
            at, size, tag_code = at[slots], size[slots], tag_code[slots]
        yield from _order(file, slots, at, last_at)
        if len(slots):
            last_at = int(at[-1])
        expired = slots[at < log_start]
        if len(expired):
            said = f"{len(expired)} units lead to messages before {log_start}, where the commit log begins"
            span = int(expired[0]) * WIDTH, (int(expired[-1]) + 1) * WIDTH
            yield finding("KXR121", file.path, said, span=span, slot=int(expired[0]), found=len(expired))
            kept = at >= log_start
            slots, at, size, tag_code = slots[kept], at[kept], size[kept], tag_code[kept]
        slots += base // WIDTH
        yield QueueUnits(topic, queue_id, file.path, base // WIDTH, slots, at, size, tag_code)


def _span(slot: int) -> tuple[int, int]:
    return slot * WIDTH, (slot + 1) * WIDTH


def _hole(file: StoreFile, first: int, count: int, message: str) -> Finding:
    return finding("KXR111", file.path, message, span=(first * WIDTH, (first + count) * WIDTH), slot=first)


def _holes(file: StoreFile, valid: npt.NDArray[np.bool_]) -> Iterator[Finding]:
    """One finding a run of units that are none."""
    bad = (~valid).nonzero()[0]
    if len(bad):
        for run in np.split(bad, np.flatnonzero(np.diff(bad) > 1) + 1):
            first, count = int(run[0]), len(run)
            what = "unit is none" if count == 1 else f"{count} units are none"
            yield _hole(file, first, count, f"{what}: offset below 0 or size not above 0")


def _order(file: StoreFile, slots: Ints, at: Ints, before: int) -> Iterator[Finding]:
    backwards = ((at[1:] <= at[:-1]).nonzero()[0] + 1).tolist()
    if len(at) and at[0] <= before:
        backwards.insert(0, 0)
    for i in backwards:
        slot, earlier = int(slots[i]), int(at[i - 1]) if i else before
        said = f"it points to {int(at[i])}, the unit before it to {earlier}"
        yield finding("KXR114", file.path, said, span=_span(slot), slot=slot, expected=f"> {earlier}", found=int(at[i]))
