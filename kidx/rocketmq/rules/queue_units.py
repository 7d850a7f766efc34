"""A ConsumeQueue's units by themselves: how its files end, holes, pre-blank units, order, expired units."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from kidx.findings import ERROR, NOTE, WARNING, Finding, Rule
from kidx.rocketmq.registry import asked_of
from kidx.rocketmq.rules.texts import BROKEN_UNIT, REBUILD
from kidx.rocketmq.subjects.queue_file import WIDTH, QueueFile

if TYPE_CHECKING:
    from kidx.rocketmq.subjects.queue_file import Ints

PHANTOM_FILE = Rule(
    "KXR110",
    "phantom-file",
    WARNING,
    "The last queue file is all zero",
    "Recovery takes its first unit for data: a phantom (0, 0, 0) and a max offset one too high; a time search that "
    "probes it throws IndexOutOfBoundsException.",
    "A crash between creating a queue file and writing its first unit leaves a file of zeros.",
    "remove the zero file while the broker is stopped",
)
HOLE = Rule(
    "KXR111",
    "hole",
    ERROR,
    "Invalid units lie before valid ones",
    "Recovery of the last three files ends at the first invalid unit (offset below 0, size not above 0) and "
    "drops all units after it; in older files the hole stays, and pulls across it stop.",
    "Units are appended one after another, so zeros or negative numbers in the middle are pages that were never "
    "written or were lost.",
    REBUILD,
)
PRE_BLANK = Rule(
    "KXR112",
    "pre-blank",
    NOTE,
    "The queue's first file begins with pre-blank units",
    "They count as valid in recovery and lead nowhere: offset 0, size 2147483647.",
    "When a queue's first file is created at an offset other than 0, all units before that offset are filled with "
    "(0, 2147483647, 0). Normal where queue files were deleted and rebuilt.",
)
MISPLACED_PRE_BLANK = Rule(
    "KXR113",
    "misplaced-pre-blank",
    ERROR,
    "A pre-blank unit where none can be",
    BROKEN_UNIT,
    "Pre-blank units are written at the head of a queue's first file only.",
    REBUILD,
)
UNIT_ORDER = Rule(
    "KXR114",
    "unit-order",
    ERROR,
    "Commit-log offsets of a queue do not increase",
    "Nothing checks it. Consumers get messages out of order, or one twice; the search for the min offset goes astray.",
    "A queue's units are written in the order of the commit log, so each points further than the one before it.",
    REBUILD,
)
EXPIRED_UNITS = Rule(
    "KXR121",
    "expired-units",
    NOTE,
    "Units of messages that are already deleted",
    "Skipped: the queue's min offset lies after them. A pull below that is answered OFFSET_TOO_SMALL.",
    "The commit log is deleted by age, a queue file only when all its units are expired; so a queue usually begins "
    "with units that lead nowhere.",
)


@asked_of(QueueFile)
def phantom_file(file: QueueFile) -> Iterator[Finding]:
    """A last file without units after a full one."""
    if file.last and file.number and not len(file.at) and not file.follows_partial:
        text = "all of it is zero, and the file before it is full"
        yield PHANTOM_FILE.finding(file.file.path, text, span=(0, file.file.size))


@asked_of(QueueFile)
def hole(file: QueueFile) -> Iterator[Finding]:
    """One finding a run of invalid units, and one where units follow a file that is not full."""
    if file.follows_partial and len(file.at):
        yield _hole(file, 0, 1, "units follow here, but the file before it is not full")
    if file.valid.all():
        return
    bad = (~file.valid).nonzero()[0]
    for run in np.split(bad, np.flatnonzero(np.diff(bad) > 1) + 1):
        first, count = int(run[0]), len(run)
        what = "invalid unit" if count == 1 else f"{count} invalid units"
        yield _hole(file, first, count, f"{what}: offset below 0 or size not above 0")


def _hole(file: QueueFile, first: int, count: int, message: str) -> Finding:
    return HOLE.finding(file.file.path, message, span=(first * WIDTH, (first + count) * WIDTH), slot=first)


@asked_of(QueueFile)
def pre_blank(file: QueueFile) -> Iterator[Finding]:
    """Pre-blank units at the head of a queue."""
    if file.leading_blanks:
        last = file.first_offset + file.leading_blanks - 1
        text = f"units {file.first_offset} to {last} are pre-blank"
        yield PRE_BLANK.finding(file.file.path, text, span=(0, file.leading_blanks * WIDTH))


@asked_of(QueueFile)
def misplaced_pre_blank(file: QueueFile) -> Iterator[Finding]:
    """Pre-blank units anywhere else."""
    for slot in file.blank.nonzero()[0][file.leading_blanks :].tolist():
        text = "a pre-blank unit after real ones"
        yield MISPLACED_PRE_BLANK.finding(file.file.path, text, span=_span(slot), slot=slot)


@asked_of(QueueFile)
def unit_order(file: QueueFile) -> Iterator[Finding]:
    """Units that do not point further than the one before them."""
    at = file.real_at
    for i in not_increasing(at, file.offset_before):
        slot, earlier = int(file.real[i]), int(at[i - 1]) if i else file.offset_before
        text = f"it points to {int(at[i])}, the unit before it to {earlier}"
        found, expected = int(at[i]), f"> {earlier}"
        yield UNIT_ORDER.finding(file.file.path, text, span=_span(slot), slot=slot, expected=expected, found=found)


def not_increasing(at: Ints, before: int) -> list[int]:
    """Which of these offsets are not above the one before them; `before` is that of the first one."""
    rows: list[int] = ((at[1:] <= at[:-1]).nonzero()[0] + 1).tolist()
    return [0, *rows] if len(at) and at[0] <= before else rows


@asked_of(QueueFile)
def expired_units(file: QueueFile) -> Iterator[Finding]:
    """Units that lead to before the commit log's begin: one finding a file."""
    if np.count_nonzero(file.expired):
        slots = file.real[file.expired]
        text = f"{len(slots)} units lead to messages before {file.log_start}, where the commit log begins"
        span = int(slots[0]) * WIDTH, (int(slots[-1]) + 1) * WIDTH
        yield EXPIRED_UNITS.finding(file.file.path, text, span=span, slot=int(slots[0]), found=len(slots))


def _span(slot: int) -> tuple[int, int]:
    return slot * WIDTH, (slot + 1) * WIDTH
