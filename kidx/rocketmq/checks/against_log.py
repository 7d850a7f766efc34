"""Units whose place in the commit log the scan has judged: what stands there, and the tag code."""

from __future__ import annotations

from collections.abc import Iterator

from kidx.findings import WARNING, Finding
from kidx.rocketmq.checks.ext import ExtFiles
from kidx.rocketmq.checks.lanes import GOOD, NOT_WHOLE, OTHER_SIZE, SOUND, Lanes
from kidx.rocketmq.checks.log_scan import LogScan
from kidx.rocketmq.checks.making import finding
from kidx.rocketmq.checks.units import WIDTH, QueueUnits
from kidx.rocketmq.commit_log import CommitLog
from kidx.rocketmq.formats import MAX_EXT_ADDRESS, SCHEDULE_TOPIC
from kidx.rocketmq.messages import Message, decode


def check_lanes(lanes: Lanes, log: CommitLog, ext: ExtFiles, scan: LogScan, unclean: bool) -> Iterator[Finding]:
    """Findings about units, after the scan of the commit log has filled the lanes' states."""
    log_end = scan.end
    told = (lanes.state != SOUND).nonzero()[0]  # a sound message lies within the log and has its unit's tag
    past = lanes.at[told] + lanes.size[told] > log_end
    for lane in told[past].tolist():
        end = int(lanes.at[lane] + lanes.size[lane])
        said = f"its message would end at {end}, and the commit log ends at {log_end}"
        yield _unit(lanes, lane, "KXR120", said, log_end, end, WARNING if unclean else None)
    told = told[~past]
    good = lanes.state[told] == GOOD
    for lane in told[~good].tolist():
        at, state = int(lanes.at[lane]), int(lanes.state[lane])
        if state == OTHER_SIZE:
            size = _size_at(log, at)
            yield _unit(lanes, lane, "KXR123", f"the message at {at} has {size} bytes", size, int(lanes.size[lane]))
        elif state == NOT_WHOLE:
            yield _unit(lanes, lane, "KXR122", f"the sizes inside the message at {at} do not add up", None, at)
        else:
            yield _unit(lanes, lane, "KXR122", f"no message starts at {at}", None, at)
    doubled = (lanes.at[1:] == lanes.at[:-1]).nonzero()[0] + 1
    doubled = doubled[lanes.at[doubled] + lanes.size[doubled] <= log_end]
    same_queue = doubled[lanes.source[doubled] != lanes.source[doubled - 1]]
    for lane in same_queue.tolist():
        if lane in scan.light or lane - 1 in scan.light:
            continue
        other = lanes.queues[int(lanes.source[lane - 1])].path
        yield _unit(lanes, lane, "KXR114", f"{other} has a unit of the same message", None, int(lanes.at[lane]))
    told = told[good]
    addresses = lanes.tag_code[told] <= MAX_EXT_ADDRESS
    yield from _addresses(lanes, ext, told[addresses].tolist())
    told = told[~addresses]
    for lane in told[lanes.tag_code[told] != lanes.tag_hash[told]].tolist():
        yield from _tag(lanes, log, lane)


def _unit(
    lanes: Lanes, lane: int, code: str, message: str, expected: object, found: object, severity: str | None = None
) -> Finding:
    queue, slot = _queue(lanes, lane), lanes.slot(lane)
    span = slot * WIDTH, (slot + 1) * WIDTH
    return finding(code, queue.path, message, span=span, slot=slot, expected=expected, found=found, severity=severity)


def _queue(lanes: Lanes, lane: int) -> QueueUnits:
    return lanes.queues[int(lanes.source[lane])]


def _size_at(log: CommitLog, at: int) -> int:
    file = log.find(at)
    return int.from_bytes(file.read(at - file.base, 4), signed=True) if file else 0


def _tag(lanes: Lanes, log: CommitLog, lane: int) -> Iterator[Finding]:
    """A tag code that is not the hash of TAGS: right for a delayed message if it is the delivery time."""
    expected, found = int(lanes.tag_hash[lane]), int(lanes.tag_code[lane])
    if _queue(lanes, lane).topic == SCHEDULE_TOPIC and (file := log.find(int(lanes.at[lane]))):
        message = decode(file.read(int(lanes.at[lane]) - file.base, int(lanes.size[lane])))
        if isinstance(message, Message) and (delivery := message.delivery_timestamp()) is not None:
            expected = delivery
    if expected != found:
        yield _unit(lanes, lane, "KXR124", f"its message's is {expected}, the unit says {found}", expected, found)


def _addresses(lanes: Lanes, ext: ExtFiles, chosen: list[int]) -> Iterator[Finding]:
    for lane in chosen:
        queue, address = _queue(lanes, lane), int(lanes.tag_code[lane])
        unit = ext.unit(queue.topic, queue.queue_id, address)
        if unit is None:
            yield _unit(lanes, lane, "KXR130", f"address {address} leads to no ext unit", None, address)
            continue
        expected = [int(lanes.tag_hash[lane]), int(lanes.store_timestamp[lane])]
        found = [unit.tag_code, unit.store_timestamp]
        if expected != found:
            said = f"the ext unit has tag code and store time {found}, the message {expected}"
            yield _unit(lanes, lane, "KXR130", said, expected, found)
