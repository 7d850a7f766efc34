"""Queue units compared with the commit log: whether a unit points to a message, and to its own."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kidx.findings import ERROR, WARNING, Finding, Rule
from kidx.rocketmq.formats import MAX_EXT_ADDRESS, SCHEDULE_TOPIC
from kidx.rocketmq.messages import MAX_MESSAGE_BYTES, Message, decode
from kidx.rocketmq.registry import asked_of
from kidx.rocketmq.rules.queue_units import UNIT_ORDER
from kidx.rocketmq.rules.texts import BROKEN_UNIT, REBUILD
from kidx.rocketmq.subjects.log_units import (
    MESSAGE,
    NO_MESSAGE,
    OTHER_SIZE,
    SIZES_DISAGREE,
    UNKNOWN,
    LogUnits,
    ScannedUnits,
)
from kidx.rocketmq.subjects.log_window import UnitWindow
from kidx.rocketmq.subjects.queue_file import WIDTH

PAST_LOG_END = Rule(
    "KXR120",
    "past-log-end",
    ERROR,
    "A unit points past the commit log's end",
    "Dropped when the broker loads, if the unit is among those that recovery reads.",
    "The queue knows of a message that the commit log lost: the log was cut (a crash, or a copy taken earlier than "
    "the queue's), the queue was not. After an unclean stop this is expected, and only a warning.",
    "nothing, if the messages are lost; the broker drops the units",
)
NO_MESSAGE_THERE = Rule(
    "KXR122",
    "no-message",
    ERROR,
    "A unit points at something that is no message",
    BROKEN_UNIT,
    "At the unit's offset the commit log has no message head. Either the unit or the log is damaged: the log's own "
    "findings (KXR201) show which.",
    REBUILD,
)
SIZE_MISMATCH = Rule(
    "KXR123",
    "size-mismatch",
    ERROR,
    "A unit's size is not its message's",
    "The consumer gets a message cut short, or one with the next one's bytes behind it, and fails to decode it.",
    "A unit repeats the size that the message itself has in its first four bytes.",
    REBUILD,
)
TAG_MISMATCH = Rule(
    "KXR124",
    "tag-mismatch",
    ERROR,
    "A unit's tag code is not its message's",
    "The broker filters by this code, so consumers of that tag miss the message or get one of another tag; for a "
    "delayed message it is the delivery time, and it is delivered at the wrong time.",
    "The code is the Java hash of the message's TAGS; of delayed messages the delivery time, by the broker's "
    "messageDelayLevel. Without --config kidx takes the delay that most units of a level's queue have for the level's, "
    "else the default one. (Delayed messages of 4.7.1, 4.9.8 and 5.5.1 were checked.)",
    REBUILD,
)
QUEUE_OFFSET_MISMATCH = Rule(
    "KXR125",
    "queue-offset-mismatch",
    ERROR,
    "A message has another queue offset than its unit",
    "Nothing checks it: the consumer gets the message under the unit's offset and sees the other in the message.",
    "A message carries its number in the queue; its unit stands at that number times 20. Units shifted by one are "
    "a unit lost or doubled.",
    REBUILD,
)
FOREIGN_MESSAGE = Rule(
    "KXR126",
    "foreign-message",
    ERROR,
    "A unit points at a message of another queue",
    "The consumer gets a message of another topic or queue.",
    "Topic and queue id stand in the message. A unit that leads to another queue's message was overwritten, or its "
    "file belongs to another queue's directory.",
    REBUILD,
)


def unit_finding(
    rule: Rule,
    units: LogUnits,
    unit: int,
    message: str,
    expected: object = None,
    found: object = None,
    severity: str | None = None,
) -> Finding:
    """A finding about one unit."""
    slot = units.slot(unit)
    span = slot * WIDTH, (slot + 1) * WIDTH
    path = units.queue_of(unit).path
    return rule.finding(path, message, span=span, slot=slot, expected=expected, found=found, severity=severity)


@asked_of(UnitWindow)
def foreign_message(window: UnitWindow) -> Iterator[Finding]:
    """Units that lead to a message of another queue, unless the message names theirs as a light queue."""
    if window.own.all():
        return
    for i in (~window.own).nonzero()[0].tolist():
        if i in window.light:
            continue
        unit = int(window.rows[i])
        queue, parts = window.units.queue_of(unit), window.parts
        topic = bytes(window.data[parts.topic[i] : parts.topic_end[i]]).decode("utf-8", "replace")
        found = f"{topic}/{int(window.head['queue_id'][i])}"
        expected = f"{queue.topic}/{queue.queue_id}"
        yield unit_finding(FOREIGN_MESSAGE, window.units, unit, f"its message is of {found}", expected, found)


@asked_of(UnitWindow)
def queue_offset_mismatch(window: UnitWindow) -> Iterator[Finding]:
    """Units whose message states another queue offset."""
    stated, expected = window.head["queue_offset"], window.units.queue_offset[window.rows]
    wrong = {i: int(stated[i]) for i in ((stated != expected) & window.own).nonzero()[0].tolist()}
    if not window.own.all():
        wrong |= {i: offset for i, offset in window.light.items() if offset != expected[i]}
    for i, found in wrong.items():
        text = f"its message says queue offset {found}"
        yield unit_finding(QUEUE_OFFSET_MISMATCH, window.units, int(window.rows[i]), text, int(expected[i]), found)


@asked_of(ScannedUnits)
def past_log_end(scanned: ScannedUnits) -> Iterator[Finding]:
    """Units of messages that would end past the commit log's end."""
    units, log_end = scanned.units, scanned.log_end
    for unit in scanned.past.nonzero()[0].tolist():
        end = int(units.at[unit] + units.size[unit])
        text = f"its message would end at {end}, and the commit log ends at {log_end}"
        yield unit_finding(PAST_LOG_END, units, unit, text, log_end, end, WARNING if scanned.unclean else None)


@asked_of(ScannedUnits)
def no_message(scanned: ScannedUnits) -> Iterator[Finding]:
    """Units that lead to no message, or to one whose parts do not add up to its size."""
    for target, what in (
        (UNKNOWN, "no message starts at {}"),
        (NO_MESSAGE, "no message starts at {}"),
        (SIZES_DISAGREE, "the sizes inside the message at {} do not add up"),
    ):
        for unit in scanned.rows(target).tolist():
            at = int(scanned.units.at[unit])
            yield unit_finding(NO_MESSAGE_THERE, scanned.units, unit, what.format(at), None, at)


@asked_of(ScannedUnits)
def size_mismatch(scanned: ScannedUnits) -> Iterator[Finding]:
    """Units of messages of another size."""
    units = scanned.units
    for unit in scanned.rows(OTHER_SIZE).tolist():
        at = int(units.at[unit])
        file = scanned.log.find(at)
        size = int.from_bytes(file.read(at - file.base, 4), signed=True) if file else 0
        text = f"the message at {at} has {size} bytes"
        yield unit_finding(SIZE_MISMATCH, units, unit, text, size, int(units.size[unit]))


@asked_of(ScannedUnits)
def two_queues(scanned: ScannedUnits) -> Iterator[Finding]:
    """Units of different queues that lead to one message, unless it was dispatched to both."""
    units = scanned.units
    same = (units.at[1:] == units.at[:-1]).nonzero()[0] + 1
    same = same[~scanned.past[same] & (units.queue[same] != units.queue[same - 1])]
    for unit in same.tolist():
        if unit not in scanned.light and unit - 1 not in scanned.light:
            text = f"{units.queue_of(unit - 1).path} has a unit of the same message"
            yield unit_finding(UNIT_ORDER, units, unit, text, None, int(units.at[unit]))


@asked_of(ScannedUnits)
def tag_mismatch(scanned: ScannedUnits) -> Iterator[Finding]:
    """Units whose tag code is neither the hash of TAGS nor, for a delayed message, the delivery time."""
    units = scanned.units
    wrong = (units.tag_hash != units.tag_code) & (units.target == MESSAGE) & (units.tag_code > MAX_EXT_ADDRESS)
    if not wrong.any():
        return
    delays = _delays(scanned) if scanned.delay_levels_ms is None else {}
    for unit in (wrong & ~scanned.past).nonzero()[0].tolist():
        queue, found, expected = units.queue_of(unit), int(units.tag_code[unit]), int(units.tag_hash[unit])
        if queue.topic == SCHEDULE_TOPIC:
            if queue.queue_id in delays:
                expected = int(units.store_timestamp[unit]) + delays[queue.queue_id]
            else:
                delivery = _delivery(scanned, unit)
                expected = expected if delivery is None else delivery
        if expected != found:
            text = f"its message's is {expected}, the unit says {found}"
            yield unit_finding(TAG_MISMATCH, units, unit, text, expected, found)


def _delivery(scanned: ScannedUnits, unit: int) -> int | None:
    """The delivery time of a unit's message, by the delay levels that are known, else by the default ones."""
    at = int(scanned.units.at[unit])
    file = scanned.log.find(at)
    message = decode(file.read(at - file.base, min(int(scanned.units.size[unit]), MAX_MESSAGE_BYTES))) if file else None
    return message.delivery_timestamp(scanned.delay_levels_ms) if isinstance(message, Message) else None


def _delays(scanned: ScannedUnits) -> dict[int, int]:
    """The delay, ms, that most units of a delay level's queue have, by queue id: messageDelayLevel is configuration.

    Only whole seconds count, as a level has them, so a single unit with a flipped bit does not speak for its queue.
    """
    units, found = scanned.units, dict[int, int]()
    for queue_id in {queue.queue_id for queue in units.queues if queue.topic == SCHEDULE_TOPIC}:
        numbers = [i for i, q in enumerate(units.queues) if (q.topic, q.queue_id) == (SCHEDULE_TOPIC, queue_id)]
        rows = (np.isin(units.queue, numbers) & (units.target == MESSAGE)).nonzero()[0]
        delays, counts = np.unique(units.tag_code[rows] - units.store_timestamp[rows], return_counts=True)
        if len(rows) and 2 * counts.max() > len(rows):
            delay = int(delays[counts.argmax()])
            if delay > 0 and delay % 1000 == 0:
                found[queue_id] = delay
    return found
