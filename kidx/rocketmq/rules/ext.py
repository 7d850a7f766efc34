"""Units whose tag code is an address in consumequeue_ext."""

from __future__ import annotations

from collections.abc import Iterator

from kidx.findings import ERROR, Finding, Rule
from kidx.rocketmq.formats import MAX_EXT_ADDRESS
from kidx.rocketmq.registry import asked_of
from kidx.rocketmq.rules.units_in_log import unit_finding
from kidx.rocketmq.subjects.log_units import MESSAGE, ScannedUnits

EXT_UNIT = Rule(
    "KXR130",
    "ext-unit",
    ERROR,
    "A unit's consumequeue_ext address does not lead to its message's ext unit",
    "The broker filters without the bitmap and says in its log that it cannot find the content.",
    "With enableConsumeQueueExt a unit's tag code can be an address in consumequeue_ext, whose unit repeats the "
    "tag's hash and the store time.",
    "remove consumequeue and consumequeue_ext of the queue and let the broker rebuild them",
)


@asked_of(ScannedUnits)
def ext_unit(scanned: ScannedUnits) -> Iterator[Finding]:
    """Addresses that lead to no ext unit, or to one with another tag or store time than the message."""
    units = scanned.units
    addresses = units.tag_code <= MAX_EXT_ADDRESS
    if not addresses.any():
        return
    for unit in (addresses & (units.target == MESSAGE) & ~scanned.past).nonzero()[0].tolist():
        queue, address = units.queue_of(unit), int(units.tag_code[unit])
        ext = scanned.ext.unit(queue.topic, queue.queue_id, address)
        if ext is None:
            yield unit_finding(EXT_UNIT, units, unit, f"address {address} leads to no ext unit", None, address)
            continue
        expected = [int(units.tag_hash[unit]), int(units.store_timestamp[unit])]
        found = [ext.tag_code, ext.store_timestamp]
        if expected != found:
            text = f"the ext unit has tag code and store time {found}, the message {expected}"
            yield unit_finding(EXT_UNIT, units, unit, text, expected, found)
