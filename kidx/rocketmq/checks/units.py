"""A ConsumeQueue's units by themselves: ends, holes, pre-blanks, order. What passes goes to the commit log's scan."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kidx.findings import Finding
from kidx.rocketmq.checks.making import finding
from kidx.rocketmq.files import OpenFiles
from kidx.rocketmq.formats import PRE_BLANK_SIZE, UNIT
from kidx.rocketmq.layout import StoreFile

Ints = npt.NDArray[np.int64]
WIDTH = UNIT.size


@dataclass
class QueueUnits:
    """A queue file's units that lead somewhere. `slot` counts in the file, `queue_offset` in the queue; all int64."""

    topic: str
    queue_id: int
    path: str
    slot: Ints
    queue_offset: Ints
    at: Ints
    size: Ints
    tag_code: Ints


def read_units(opened: OpenFiles, file: StoreFile) -> tuple[Ints, Ints, Ints]:
    """(commit-log offset, size, tag code) of every whole unit of a file, up to the last that is not all zero."""
    evidence = opened.get(file.path)
    data = np.empty(file.size, np.uint8)
    evidence.read_into(0, data.data)
    raw = data[: file.size // WIDTH * WIDTH].view(UNIT.dtype)
    at, size, tag_code = (raw[name].astype(np.int64) for name in ("commit_log_offset", "size", "tag_code"))
    used = np.flatnonzero((at != 0) | (size != 0) | (tag_code != 0))
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
        leading = int(np.argmin(blank)) if len(blank) and not blank.all() else len(blank)
        if number == 0 and leading:
            said = f"units {base // WIDTH} to {base // WIDTH + leading - 1} are pre-blank"
            yield finding("KXR112", file.path, said, span=(0, leading * WIDTH))
        for slot in np.flatnonzero(blank)[leading if number == 0 else 0 :].tolist():
            yield finding("KXR113", file.path, "a pre-blank unit after real ones", span=_span(slot), slot=slot)
        valid = (at >= 0) & (size > 0)
        yield from _holes(file, valid)
        real = valid & ~blank
        slots = np.flatnonzero(real)
        yield from _order(file, slots, at[slots], last_at)
        if len(slots):
            last_at = int(at[slots[-1]])
        expired = slots[at[slots] < log_start]
        if len(expired):
            said = f"{len(expired)} units lead to messages before {log_start}, where the commit log begins"
            span = int(expired[0]) * WIDTH, (int(expired[-1]) + 1) * WIDTH
            yield finding("KXR121", file.path, said, span=span, slot=int(expired[0]), found=len(expired))
            slots = slots[at[slots] >= log_start]
        yield QueueUnits(
            topic, queue_id, file.path, slots, slots + base // WIDTH, at[slots], size[slots], tag_code[slots]
        )


def _span(slot: int) -> tuple[int, int]:
    return slot * WIDTH, (slot + 1) * WIDTH


def _hole(file: StoreFile, first: int, count: int, message: str) -> Finding:
    return finding("KXR111", file.path, message, span=(first * WIDTH, (first + count) * WIDTH), slot=first)


def _holes(file: StoreFile, valid: npt.NDArray[np.bool_]) -> Iterator[Finding]:
    """One finding a run of units that are none."""
    bad = np.flatnonzero(~valid)
    if len(bad):
        for run in np.split(bad, np.flatnonzero(np.diff(bad) > 1) + 1):
            first, count = int(run[0]), len(run)
            what = "unit is none" if count == 1 else f"{count} units are none"
            yield _hole(file, first, count, f"{what}: offset below 0 or size not above 0")


def _order(file: StoreFile, slots: Ints, at: Ints, before: int) -> Iterator[Finding]:
    earlier = np.concatenate([np.array([before], np.int64), at[:-1]]) if len(at) else at
    for i in np.flatnonzero(at <= earlier).tolist():
        slot = int(slots[i])
        said = f"it points to {int(at[i])}, the unit before it to {int(earlier[i])}"
        yield finding(
            "KXR114", file.path, said, span=_span(slot), slot=slot, expected=f"> {int(earlier[i])}", found=int(at[i])
        )
