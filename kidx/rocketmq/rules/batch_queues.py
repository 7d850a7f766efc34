"""A BatchConsumeQueue's units (5.0 on): by themselves, and compared with the messages that hold their batches."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kidx.findings import ERROR, WARNING, Finding, Rule
from kidx.rocketmq.batch_queues import WIDTH
from kidx.rocketmq.registry import asked_of
from kidx.rocketmq.rules.queue_units import HOLE, UNIT_ORDER
from kidx.rocketmq.rules.texts import BROKEN_UNIT, REBUILD
from kidx.rocketmq.rules.units_in_log import (
    FOREIGN_MESSAGE,
    NO_MESSAGE_THERE,
    PAST_LOG_END,
    SIZE_MISMATCH,
    TAG_MISMATCH,
)
from kidx.rocketmq.subjects.batch_file import BatchFile

BATCH_UNIT = Rule(
    "KXR140",
    "batch-unit",
    ERROR,
    "A batch unit does not agree with its message or its neighbours",
    BROKEN_UNIT,
    "A batch unit repeats the message's store time, base offset and count (INNER_BASE, INNER_NUM); each batch "
    "begins where the one before it ended.",
    REBUILD,
)


def _finding(
    rule: Rule,
    file: BatchFile,
    slot: int,
    message: str,
    expected: object = None,
    found: object = None,
    severity: str | None = None,
) -> Finding:
    span = slot * WIDTH, (slot + 1) * WIDTH
    return rule.finding(file.path, message, span=span, slot=slot, expected=expected, found=found, severity=severity)


@asked_of(BatchFile)
def invalid_unit(file: BatchFile) -> Iterator[Finding]:
    """Units with a field that is negative or zero."""
    for slot in (~file.valid).nonzero()[0].tolist():
        yield _finding(HOLE, file, slot, "an invalid unit: a field is negative or zero")


@asked_of(BatchFile)
def batch_order(file: BatchFile) -> Iterator[Finding]:
    """Units that do not point further than the one before them."""
    at = file.chain["commit_log_offset"]
    for i in (at[1:] <= at[:-1]).nonzero()[0].tolist():
        text = f"it points to {int(at[i + 1])}, the unit before it to {int(at[i])}"
        yield _finding(UNIT_ORDER, file, int(file.chain_slots[i]), text)


@asked_of(BatchFile)
def batches_adjoin(file: BatchFile) -> Iterator[Finding]:
    """Batches that do not begin where the one before them ends."""
    base = file.chain["base_offset"].astype(np.int64)
    end = base + file.chain["batch_size"]
    for i in (base[1:] != end[:-1]).nonzero()[0].tolist():
        expected, found = int(end[i]), int(base[i + 1])
        text = f"its batch begins at {found}, the one before it ended at {expected}"
        yield _finding(BATCH_UNIT, file, int(file.chain_slots[i]), text, expected, found)


@asked_of(BatchFile)
def past_log_end(file: BatchFile) -> Iterator[Finding]:
    """Units of messages that would end past the commit log's end."""
    for slot in file.into_log[file.past].tolist():
        end = int(file.fields["commit_log_offset"][slot]) + int(file.fields["size"][slot])
        text = f"its message would end at {end}, and the commit log ends at {file.log_end}"
        yield _finding(PAST_LOG_END, file, slot, text, file.log_end, end, WARNING if file.unclean else None)


@asked_of(BatchFile)
def no_message(file: BatchFile) -> Iterator[Finding]:
    """Units that lead to no message."""
    known = {slot for slot, _ in file.with_message}
    for slot in file.into_log[~file.past].tolist():
        if slot not in known:
            at = int(file.fields["commit_log_offset"][slot])
            yield _finding(NO_MESSAGE_THERE, file, slot, f"no message starts at {at}", None, at)


@asked_of(BatchFile)
def other_message(file: BatchFile) -> Iterator[Finding]:
    """Units whose message has another size, queue, tag, base offset, count or store time."""
    own = f"{file.queue[0]}/{file.queue[1]}"
    for slot, message in file.with_message:
        unit = file.fields[slot]
        for rule, what, expected, found in (
            (SIZE_MISMATCH, "size", message.size, int(unit["size"])),
            (FOREIGN_MESSAGE, "queue", f"{message.topic}/{message.queue_id}", own),
            (TAG_MISMATCH, "tag code", message.tag_code, int(unit["tag_code"])),
        ):
            if expected != found:
                text = f"its message's {what} is {expected}, the unit's {found}"
                yield _finding(rule, file, slot, text, expected, found)
        stated = [*message.batch, message.store_timestamp]
        repeated = [int(unit[name]) for name in ("base_offset", "batch_size", "store_timestamp")]
        if stated != repeated:
            text = f"base offset, count and store time are {repeated}, its message's {stated}"
            yield _finding(BATCH_UNIT, file, slot, text, stated, repeated)
