"""Batches that a producer wrote outside its transaction while that was open: recovery refuses such a log.

Source: org.apache.kafka.storage.internals.log.ProducerAppendInfo.appendDataBatch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from kidx.checks.making import finding
from kidx.findings import Finding
from kidx.formats.batches import HEADER_BYTES, Batch

if TYPE_CHECKING:
    from kidx.checks.producers import Producers
    from kidx.checks.sequences import Written
    from kidx.checks.stretch import TransactionEvent


def outside_transaction(path: str, batch: Batch | Written, first_offset: int) -> Finding:
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


def outside_earlier_transactions(
    path: str, stretches: Sequence[Producers], events: Sequence[TransactionEvent], open_before: Mapping[int, int]
) -> Iterator[Finding]:
    """Findings about each producer's first batch in each stretch of a log, which was checked without knowing the rest.

    `events` are the log's, in order: a transaction has one for its first batch in each stretch, so a batch without one
    is not transactional. `open_before` are the first offsets of the transactions open at the log's start, by producer.
    """
    by_producer: dict[int, list[TransactionEvent]] = {}
    for event in events:
        by_producer.setdefault(event.producer_id, []).append(event)
    for stretch in stretches:
        for producer, (there, marker) in stretch.first.items():
            if marker is not None:
                continue
            last = next((e for e in reversed(by_producer.get(producer, ())) if e.offset <= there.base_offset), None)
            if last is None:
                first = open_before.get(producer)
            elif last.marker is None and last.offset != there.base_offset:
                first = last.offset
            else:
                first = None
            if first is not None:
                yield outside_transaction(path, there, first)
