"""Batches that a producer wrote outside its transaction while that was open: recovery refuses such a log.

Source: org.apache.kafka.storage.internals.log.ProducerAppendInfo.appendDataBatch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kidx.checks.making import finding
from kidx.evidence import Evidence
from kidx.findings import Finding
from kidx.formats.batches import HEADER_BYTES, Batch
from kidx.formats.crc import crc_holds
from kidx.light_typing import TYPE_CHECKING
from kidx.logdir.names import LOG
from kidx.segments.walk import walk

if TYPE_CHECKING:
    from kidx.checks.segment import SegmentChecked


def outside_transaction(path: str, batch: Batch, first_offset: int) -> Finding:
    """The finding about a batch outside the transaction that its producer has open since `first_offset`."""
    return finding(
        "KX409",
        path,
        f"the batch at byte {batch.position} (base offset {batch.base_offset}): producer {batch.producer_id} writes it "
        f"outside the transaction that it has open since offset {first_offset}",
        span=(batch.position, batch.position + HEADER_BYTES),
        expected={"producer_id": batch.producer_id, "transactional": True},
        found={"producer_id": batch.producer_id, "transactional": False},
    )


def outside_earlier_transactions(living: Sequence[SegmentChecked], still_open: Mapping[int, int]) -> Iterator[Finding]:
    """One finding for each producer that has, of the transactions begun before a stretch of a log that was checked.

    `living` are the segments in order; `still_open` the first offsets, by producer id, of the transactions that no
    marker ends. Only headers are read, from the first of these on.
    """
    told = {f.found["producer_id"] for c in living if c.log for f in c.log.findings if f.rule == "KX409"}
    waiting = {producer: first for producer, first in still_open.items() if producer not in told}
    for checked in living:
        begun = [first for first in waiting.values() if checked.log and first <= (checked.log.last_offset or -1)]
        if not begun:
            continue
        with checked.segment.files[LOG].open() as log:
            for batch in _data_batches(log, min(begun)):
                first = waiting.get(batch.producer_id)
                if first is None or batch.base_offset <= first or batch.transactional:
                    continue
                if crc_holds(batch, log.read(batch.position, batch.size)):
                    del waiting[batch.producer_id]
                    yield outside_transaction(log.path, batch, first)


def _data_batches(log: Evidence, first_offset: int) -> Iterator[Batch]:
    """The batches of idempotent producers, markers apart, from an offset on."""
    return (b for b in walk(log) if b.producer_id >= 0 and not b.control and b.last_offset >= first_offset)
