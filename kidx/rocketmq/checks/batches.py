"""A BatchConsumeQueue against itself and against the messages that hold its batches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kidx.findings import WARNING, Finding
from kidx.rocketmq.batch_queues import WIDTH, BatchUnit
from kidx.rocketmq.checks.log_scan import Stray
from kidx.rocketmq.checks.making import finding
from kidx.rocketmq.extent import extent_of
from kidx.rocketmq.files import OpenFiles
from kidx.rocketmq.formats import BATCH_UNIT
from kidx.rocketmq.layout import StoreFile


def check_batch_queue(
    opened: OpenFiles,
    queue: tuple[str, int],
    files: list[StoreFile],
    messages: Mapping[int, Stray],
    log: tuple[int, int],
    unclean: bool,
) -> Iterator[Finding | int]:
    """Findings, and the commit-log offset of every batch that has its unit. `log` is where the commit log lies."""
    before: BatchUnit | None = None
    for file in files:
        evidence = opened.get(file.path)
        units = extent_of(WIDTH, file.size, evidence.read).units
        for slot, fields in enumerate(BATCH_UNIT.struct.iter_unpack(evidence.read(0, units * WIDTH))):
            unit = BatchUnit(*fields)
            if unit.commit_log_offset < 0 or unit.size <= 0 or unit.base_offset < 0 or unit.batch_size <= 0:
                yield _at(file, slot, "KXR111", "the unit is none: a field is negative or zero")
                continue
            if before and unit.commit_log_offset <= before.commit_log_offset:
                said = f"it points to {unit.commit_log_offset}, the unit before it to {before.commit_log_offset}"
                yield _at(file, slot, "KXR114", said)
            if before and unit.base_offset != before.base_offset + before.batch_size:
                expected = before.base_offset + before.batch_size
                said = f"its batch begins at {unit.base_offset}, the one before it ended at {expected}"
                yield _at(file, slot, "KXR140", said, expected, unit.base_offset)
            before = unit
            if unit.commit_log_offset >= log[0]:
                yield from _against(file, slot, unit, queue, messages, log[1], unclean)


def _against(
    file: StoreFile,
    slot: int,
    unit: BatchUnit,
    queue: tuple[str, int],
    messages: Mapping[int, Stray],
    log_end: int,
    unclean: bool,
) -> Iterator[Finding | int]:
    at = unit.commit_log_offset
    if at + unit.size > log_end:
        said = f"its message would end at {at + unit.size}, and the commit log ends at {log_end}"
        yield _at(file, slot, "KXR120", said, log_end, at + unit.size, WARNING if unclean else None)
        return
    message = messages.get(at)
    if message is None:
        yield _at(file, slot, "KXR122", f"no message starts at {at}", None, at)
        return
    yield at
    pairs = {
        "KXR123": ("size", message.size, unit.size),
        "KXR126": ("queue", f"{message.topic}/{message.queue_id}", f"{queue[0]}/{queue[1]}"),
        "KXR124": ("tag code", message.tag_code, unit.tag_code),
    }
    for code, (what, expected, found) in pairs.items():
        if expected != found:
            yield _at(file, slot, code, f"its message's {what} is {expected}, the unit's {found}", expected, found)
    told = [*message.batch, message.store_timestamp]
    said_by_unit = [unit.base_offset, unit.batch_size, unit.store_timestamp]
    if told != said_by_unit:
        said = f"base offset, count and store time are {said_by_unit}, its message's {told}"
        yield _at(file, slot, "KXR140", said, told, said_by_unit)


def _at(
    file: StoreFile,
    slot: int,
    code: str,
    message: str,
    expected: object = None,
    found: object = None,
    severity: str | None = None,
) -> Finding:
    span = slot * WIDTH, (slot + 1) * WIDTH
    return finding(code, file.path, message, span=span, slot=slot, expected=expected, found=found, severity=severity)
