"""Batches that a producer wrote outside its transaction while that was open: recovery refuses such a log.

Source: org.apache.kafka.storage.internals.log.ProducerAppendInfo.appendDataBatch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kidx.checks.making import finding
from kidx.checks.segment import SegmentChecked
from kidx.evidence import Evidence
from kidx.findings import Finding
from kidx.formats.batches import HEADER_BYTES, Batch
from kidx.formats.crc import crc_holds
from kidx.logdir.names import LOG
from kidx.segments.walk import walk


def outside_transactions(living: Sequence[SegmentChecked], still_open: Mapping[int, int]) -> Iterator[Finding]:
    """One finding for each producer that has; only headers from the first open transaction on are read.

    `living` are the segments in order; `still_open` the first offsets, by producer id, of the transactions that no
    marker ends.
    """
    waiting = dict(still_open)
    for checked in living:
        begun = [first for first in waiting.values() if checked.log and first <= (checked.log.last_offset or -1)]
        if not begun:
            continue
        with checked.segment.files[LOG].open() as log:
            for batch in _data_batches(log, min(begun)):
                first = waiting.get(batch.producer_id)
                if first is None or batch.base_offset <= first or batch.transactional:
                    continue
                if not crc_holds(batch, log.read(batch.position, batch.size)):
                    continue
                del waiting[batch.producer_id]
                yield finding(
                    "KX409",
                    log.path,
                    f"the batch at byte {batch.position} (base offset {batch.base_offset}): producer "
                    f"{batch.producer_id} writes it outside the transaction that it has open since offset {first}",
                    span=(batch.position, batch.position + HEADER_BYTES),
                    expected=True,
                    found=False,
                )


def _data_batches(log: Evidence, first_offset: int) -> Iterator[Batch]:
    """The batches of idempotent producers, markers apart, from an offset on."""
    return (b for b in walk(log) if b.producer_id >= 0 and not b.control and b.last_offset >= first_offset)
