"""Transactions: aborted ones in the transaction index, open ones, and batches outside an open one."""

from __future__ import annotations

from collections.abc import Iterator
from shlex import quote

from kidx.checks.rule import check
from kidx.checks.subjects.indexes import entry_finding
from kidx.checks.subjects.logs import Batches
from kidx.checks.subjects.partitions import OpenTransaction, OpenTransactions, SegmentTransactions
from kidx.checks.subjects.producers import Written
from kidx.checks.subjects.transactions import TransactionEvent
from kidx.checks.texts import CONFIRM_BY_REBUILD, REBUILD
from kidx.findings import ERROR, NOTE, WARNING, Finding, Rule
from kidx.formats.batches import HEADER_BYTES, Batch
from kidx.formats.indexes import TRANSACTION_INDEX
from kidx.text.quantities import counted, iso_time, size_text

_ABORT = "kafka-transactions.sh --bootstrap-server HOST:9092 abort"

ABORTED_TRANSACTION_MISSING = Rule(
    code="KX401",
    name="aborted-transaction-missing",
    severity=ERROR,
    title="An aborted transaction is not in the transaction index",
    broker=(
        "Every version sends read_committed consumers the aborted transactions that its index lists. This one is not "
        "among them: its records are delivered as if they had been committed."
    ),
    story=(
        "When an ABORT marker ends a transaction, the broker lists it in the .txnindex of the segment that holds the "
        "marker. An entry or the file is missing. Recovery of the segment writes it again, and so does a rebuild. "
        + CONFIRM_BY_REBUILD
    ),
    repair=REBUILD,
)

ABORTED_TRANSACTION_WRONG = Rule(
    code="KX402",
    name="aborted-transaction-wrong",
    severity=ERROR,
    title="A transaction index entry contradicts the log",
    broker=(
        "Every version trusts the index: read_committed consumers drop that producer's records from the first to the "
        "last offset that it says, and see records that it leaves out."
    ),
    story=(
        "Each entry stands for an ABORT marker in this segment: its producer, the transaction's first offset, the "
        "marker's, and the last stable offset when it was written. " + CONFIRM_BY_REBUILD
    ),
    repair=REBUILD,
)

OPEN_TRANSACTION = Rule(
    code="KX403",
    name="open-transaction",
    severity=NOTE,
    title="A transaction has neither been committed nor aborted",
    broker=(
        "The last stable offset stays at its first offset: read_committed consumers get nothing after it, and the "
        "cleaner does not pass it. The coordinator aborts it after transaction.timeout.ms."
    ),
    story=(
        "A transaction was under way when the broker stopped or the files were copied. If it stays open for longer "
        "than its timeout it hangs (before KIP-890 a late append could start one without the coordinator's "
        "knowledge): kafka-transactions.sh find-hanging shows it, and abort ends it. Brokers before 3.0 need "
        "--producer-id, --producer-epoch and --coordinator-epoch in place of --start-offset. Where "
        "__transaction_state shows that the timeout had passed for an hour when the coordinator wrote last, this is a "
        "warning."
    ),
    repair=f"{_ABORT} --topic TOPIC --partition N --start-offset OFFSET",
)

OUTSIDE_TRANSACTION = Rule(
    code="KX409",
    name="outside-transaction",
    severity=ERROR,
    title="A producer wrote outside its open transaction",
    broker=(
        "Recovery throws InvalidTxnStateException at this batch, and so does a start that replays it because no later "
        "producer snapshot is there: the log is not loaded. A start after a clean stop does not check."
    ),
    story=(
        "A leader refuses such a batch, so no log that a broker wrote has one. Either the batch's transactional bit is "
        "wrong, or that of the batch that seems to begin the transaction (both under a CRC that holds, so something "
        "wrote it that way), or the producer snapshot at the log's start claims a transaction that was not open (the "
        "finding then names a transaction from before the log's first segment). Let the replica fetch the partition "
        "again from a sound one."
    ),
    repair="compare with a replica (`kidx diff`)",
)


@check(SegmentTransactions, ABORTED_TRANSACTION_MISSING)
def aborted_transaction_missing(segment: SegmentTransactions) -> Iterator[Finding]:
    """ABORT markers of transactions with batches that the index does not list.

    A compacted log has lost batches, so its markers need no entry.
    """
    if segment.compacted:
        return
    listed = {fields[3] for _, fields in segment.entries}
    for there in segment.aborted:
        if there.last_offset not in listed and there.written:
            yield ABORTED_TRANSACTION_MISSING.finding(
                segment.index_path or segment.log_path,
                f"the log has an ABORT marker of producer {there.producer_id} at offset {there.last_offset}, and "
                + ("the transaction index does not list it" if segment.index_path else "there is no transaction index"),
                expected=there._asdict(),
            )


@check(SegmentTransactions, ABORTED_TRANSACTION_WRONG)
def aborted_transaction_wrong(segment: SegmentTransactions) -> Iterator[Finding]:
    """Entries without their marker, or with other offsets than the log's.

    Where a transaction began does not show in a compacted log. An entry needs its marker all the same, and says that it
    begins there only if the log has lost all of its batches.
    """
    by_marker = {a.last_offset: a for a in segment.aborted}
    compacted = segment.compacted
    for slot, (_, producer, first, last, stable) in segment.entries:
        there = by_marker.get(last)
        if there is None or there.producer_id != producer:
            wrong = f"lists an abort of producer {producer} at offset {last}; the log has no such marker there"
        elif there.first_offset not in (None, first) and (not compacted or first == last):
            wrong = f"says the transaction began at offset {first}; in the log it begins at {there.first_offset}"
        elif not compacted and there.last_stable_offset not in (None, stable):
            wrong = (
                f"says the last stable offset was {stable} at the marker; by the log it was {there.last_stable_offset}"
            )
        else:
            continue
        assert segment.index_path is not None
        yield entry_finding(
            ABORTED_TRANSACTION_WRONG,
            segment.index_path,
            TRANSACTION_INDEX,
            slot,
            f" {wrong}",
            expected=there._asdict() if there else None,
            found={"producer_id": producer, "first_offset": first, "last_offset": last, "last_stable_offset": stable},
        )


@check(OpenTransactions, OPEN_TRANSACTION)
def open_transaction(transactions: OpenTransactions) -> Iterator[Finding]:
    """Transactions that no marker ends; a warning where the coordinator should have ended them long ago."""
    for one in transactions.open:
        yield OPEN_TRANSACTION.finding(
            transactions.log_path,
            _described(one, transactions),
            found=_known(one),
            severity=WARNING if not transactions.live and one.coordinator and one.coordinator.overdue else NOTE,
        )


def _described(one: OpenTransaction, transactions: OpenTransactions) -> str:
    who = [] if one.coordinator is None else [f"transactional id {one.coordinator.transactional_id}"]
    who += [] if one.producer_epoch is None else [f"epoch {one.producer_epoch}"]
    known = f" ({', '.join(who)})" if who else ""
    text = f"producer {one.producer_id}{known} has a transaction open since offset {one.first_offset}"
    if one.since_ms is not None and (since := iso_time(one.since_ms)):
        text += f", {since}"
    text += "; read_committed consumers wait there"
    if one.held_records is not None and one.held_bytes is not None:
        text += f", {counted(one.held_records, 'offset')} ({size_text(one.held_bytes)}) before the log's end"
    name = transactions.partition
    if name is not None and not name.state:
        where = f"--topic {quote(name.topic)} --partition {name.partition} --start-offset {one.first_offset}"
        text += f". To end it: {_ABORT} {where}"
    return text


def _known(one: OpenTransaction) -> dict[str, int | str]:
    facts = {
        "producer_id": one.producer_id,
        "first_offset": one.first_offset,
        "transactional_id": None if one.coordinator is None else one.coordinator.transactional_id,
        "producer_epoch": one.producer_epoch,
        "since_timestamp": one.since_ms,
        "held_records": one.held_records,
        "held_bytes": one.held_bytes,
    }
    return {name: value for name, value in facts.items() if value is not None}


def _outside(path: str, batch: Batch | Written, first_offset: int) -> Finding:
    """The finding about a batch outside the transaction that its producer has open since `first_offset`.

    Source: org.apache.kafka.storage.internals.log.ProducerAppendInfo.appendDataBatch.
    """
    return OUTSIDE_TRANSACTION.finding(
        path,
        f"the batch at byte {batch.position} (base offset {batch.base_offset}): producer {batch.producer_id} writes it "
        f"outside the transaction that it has open since offset {first_offset}",
        span=(batch.position, batch.position + HEADER_BYTES),
        expected={"producer_id": batch.producer_id, "transactional": True},
        found={"producer_id": batch.producer_id, "transactional": False},
    )


def outside_finding(batches: Batches, found: tuple[int, int]) -> Finding:
    """The finding about a row, and the offset at which its producer's transaction began."""
    row, first_offset = found
    return _outside(batches.path, batches.window.batch(row), first_offset)


@check(Batches, OUTSIDE_TRANSACTION, finding=outside_finding)
def outside_transaction(batches: Batches) -> list[tuple[int, int]] | None:
    """Batches outside a transaction that began in the same range of the log."""
    return batches.transactions.outside or None


@check(SegmentTransactions, OUTSIDE_TRANSACTION)
def outside_earlier_transaction(segment: SegmentTransactions) -> Iterator[Finding]:
    """Each producer's first batch in each range of the log, which was checked without knowing what came before.

    A transaction has an event for its first batch in each range, so a batch without one is not transactional.
    """
    by_producer: dict[int, list[TransactionEvent]] = {}
    for event in segment.events:
        by_producer.setdefault(event.producer_id, []).append(event)
    for part in segment.ranges:
        for producer, (there, marker) in part.first.items():
            if marker is not None:
                continue
            last = next((e for e in reversed(by_producer.get(producer, ())) if e.offset <= there.base_offset), None)
            if last is None:
                first = segment.open_before.get(producer)
            elif last.marker is None and last.offset != there.base_offset:
                first = last.offset
            else:
                first = None
            if first is not None:
                yield _outside(segment.log_path, there, first)
