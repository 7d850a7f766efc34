"""Producers' sequence numbers and epochs."""

from __future__ import annotations

from collections.abc import Iterator

from kidx.checks.rule import check
from kidx.checks.subjects.partitions import CheckedSegments
from kidx.checks.subjects.producers import GAP, NEW_EPOCH, OLD_EPOCH, REPEAT, RESTART, SequenceBreak
from kidx.findings import NOTE, WARNING, Finding, Rule
from kidx.formats.batches import HEADER_BYTES, SEQUENCES, sequence_after

PRODUCER_SEQUENCE = Rule(
    code="KX408",
    name="producer-sequence",
    severity=WARNING,
    title="A producer's batch does not follow the one before it",
    broker=(
        "Appending, a leader refuses such a batch (OutOfOrderSequenceException, InvalidProducerEpochException), unless "
        "it knows nothing of the producer. Followers and brokers that start take what is in the log."
    ),
    story=(
        "An idempotent producer numbers its records in each partition, from 0 in each epoch of its own, and its epoch "
        "never falls. A gap means that records are missing though no offset is, and a repeated number means that "
        "records were written twice: the log was put together from two histories or written past a broker. A broker "
        "forgets a producer that is silent for producer.id.expiration.ms (a day; before 3.4 for "
        "transactional.id.expiration.ms, 7 days), and its state is lost with the snapshots: then it accepts any "
        "number. Where that is possible (numbers that begin with 0 again, a day of silence, a new epoch that does not "
        "begin with 0) it is a note, to say that duplicates may have passed unnoticed. Compacted partitions are not "
        "checked, because batches are missing there by design."
    ),
    repair="compare with a replica (`kidx diff`)",
)

_STATE_KEPT_MS = 86_400_000  # producer.id.expiration.ms: after a longer silence a broker may have forgotten a producer


@check(CheckedSegments, PRODUCER_SEQUENCE)
def producer_sequence(segments: CheckedSegments) -> Iterator[Finding] | None:
    """Batches that do not follow their producer's last one, where nothing was compacted."""
    return None if segments.compacted else _broken_sequences(segments)


def _broken_sequences(segments: CheckedSegments) -> Iterator[Finding]:
    for path, breaks in segments.sequence_breaks.items():
        yield from (_broken(path, one) for one in breaks)


def _broken(path: str, one: SequenceBreak) -> Finding:
    """Where the broker may have known nothing of the producer any more, and so taken what came, it is a note."""
    before, there, why = one
    forgotten = why in (RESTART, NEW_EPOCH) or there.timestamp - before.timestamp >= _STATE_KEPT_MS
    wanted = sequence_after(before.last_sequence, 1)
    first, last = there.base_sequence, before.last_sequence
    text = {
        GAP: f"goes on with sequence number {first} after {last}: {(first - wanted) % SEQUENCES:,} are missing",
        REPEAT: f"goes back to sequence number {first} after {last}",
        RESTART: f"begins with sequence number 0 again after {last}, in the same epoch",
        NEW_EPOCH: f"begins epoch {there.producer_epoch} with sequence number {first} instead of 0",
        OLD_EPOCH: f"writes in epoch {there.producer_epoch}, which a later one had ended",
    }[why]
    perhaps = " (its broker may have forgotten the producer)" if forgotten else ""
    return PRODUCER_SEQUENCE.finding(
        path,
        f"the batch at byte {there.position} (base offset {there.base_offset}): producer {there.producer_id} {text}"
        + perhaps,
        span=(there.position, there.position + HEADER_BYTES),
        expected=0 if why == NEW_EPOCH else wanted,
        found={"producer_epoch": there.producer_epoch, "base_sequence": first},
        severity=NOTE if forgotten else WARNING,
    )
