"""Every batch and record of the fixtures, against what Kafka's own DumpLogSegments printed of them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import pytest

from kidx.evidence import open_evidence
from kidx.formats.batches import Batch
from kidx.formats.control import parse_control
from kidx.formats.producer_snapshot import ProducerState, parse_snapshot
from kidx.formats.records import Record
from kidx.segments.records import first_offset, read_records
from kidx.segments.scan import scan
from tests.support import FIXTURES, dump_texts

Recorded = list[tuple[bytes, Path]]  # a text and the file it is about


def recorded(*options: str) -> Recorded:
    return [
        (text, file)
        for file, asked, text in dump_texts()
        if asked in options and file.suffix in (".log", ".checkpoint", ".snapshot") and b"<<threw" not in text
    ]


def set_of(pairs: Recorded) -> str:
    return pairs[0][1].relative_to(FIXTURES).parts[0]


def by_set(pairs: Recorded) -> list[Recorded]:
    return [list(group) for _, group in groupby(pairs, key=lambda pair: set_of([pair]))]


def batch_line(batch: Batch, crc_ok: bool) -> str:
    """DumpLogSegments.printBatchLevel."""
    if batch.magic >= 2:
        horizon = "OptionalLong.empty" if batch.delete_horizon is None else f"OptionalLong[{batch.delete_horizon}]"
        start = (
            f"baseOffset: {batch.base_offset} lastOffset: {batch.last_offset} count: {batch.record_count} "
            f"baseSequence: {batch.base_sequence} lastSequence: {batch.last_sequence} producerId: {batch.producer_id} "
            f"producerEpoch: {batch.producer_epoch} partitionLeaderEpoch: {batch.leader_epoch} "
            f"isTransactional: {str(batch.transactional).lower()} isControl: {str(batch.control).lower()} "
            f"deleteHorizonMs: {horizon}"
        )
    else:
        start = f"offset: {batch.last_offset}"
    return (
        f"{start} position: {batch.position} {batch.timestamp_type}: {batch.max_timestamp} size: {batch.size} "
        f"magic: {batch.magic} compresscodec: {batch.codec_name} crc: {batch.crc} isvalid: {str(crc_ok).lower()}"
    )


def record_line(batch: Batch, record: Record) -> str:
    """DumpLogSegments.printRecordMetadata, as far as it says numbers and header names."""
    key, value = (-1 if field is None else len(field) for field in (record.key, record.value))
    line = f"| offset: {record.offset} {batch.timestamp_type}: {record.timestamp} keySize: {key} valueSize: {value}"
    if batch.magic >= 2:
        line += f" sequence: {record.sequence} headerKeys: [{','.join(k.decode() for k, _ in record.headers)}]"
    else:
        line += f" isValid: {str(record.crc_ok).lower()} crc: {record.crc}"
    if batch.control:
        control = parse_control(record.key, record.value)
        assert control is not None and control.fields is not None
        if control.name in ("ABORT", "COMMIT"):
            line += f" endTxnMarker: {control.name} coordinatorEpoch: {control.fields['coordinatorEpoch']}"
    return line


def producer_line(p: ProducerState) -> str:
    """DumpLogSegments.dumpProducerIdSnapshot; a producer whose last marker is all that is known has no batch."""
    first = "OptionalLong.empty" if p.current_txn_first_offset < 0 else f"OptionalLong[{p.current_txn_first_offset}]"
    line = (
        f"producerId: {p.producer_id} producerEpoch: {p.producer_epoch} coordinatorEpoch: {p.coordinator_epoch} "
        f"currentTxnFirstOffset: {first} lastTimestamp: {p.timestamp} "
    )
    if p.last_offset >= 0:
        line += (
            f"firstSequence: {p.last_sequence - p.offset_delta} lastSequence: {p.last_sequence} "
            f"lastOffset: {p.last_offset} offsetDelta: {p.offset_delta} timestamp: {p.timestamp}"
        )
    return line.rstrip()


def lines_of(log: Path, deep: bool) -> Iterator[str]:
    with open_evidence(str(log)) as evidence:
        windows = scan(evidence)
        for window in windows:
            for row, batch in enumerate(window.batches()):
                yield batch_line(batch, row not in (window.bad_crc or ()))
                if deep:
                    records, damage = read_records(evidence, batch)
                    assert damage is None
                    if batch.magic < 2:
                        assert first_offset(evidence, batch) == records[0].offset
                    yield from (record_line(batch, record) for record in records)
        assert windows.ending is not None and windows.ending.kind == "end"


@pytest.mark.parametrize("pairs", by_set(recorded("")), ids=set_of)
def test_batches_are_what_kafka_prints(pairs: Recorded) -> None:
    seen = 0
    for answer, log in pairs:
        if log.suffix == ".snapshot":
            continue
        wanted = [line for line in answer.decode().splitlines() if line.startswith(("baseOffset: ", "offset: "))]
        assert list(lines_of(log, deep=False)) == wanted, log
        seen += len(wanted)
    assert seen


@pytest.mark.parametrize("pairs", by_set(recorded(".deep", ".print")), ids=set_of)
def test_records_are_what_kafka_prints(pairs: Recorded) -> None:
    for answer, log in pairs:
        found = list(lines_of(log, deep=True))
        # with --print-data-log, a line goes on with key and payload, and these may hold line breaks
        wanted = [ln for ln in answer.decode().split("\n") if ln.startswith(("baseOffset: ", "offset: ", "| "))]
        assert len(found) == len(wanted), log
        for mine, kafkas in zip(found, wanted, strict=True):
            assert kafkas.startswith(mine), log


def test_producer_snapshots_are_what_kafka_prints() -> None:
    seen = 0
    for answer, path in recorded(""):
        if path.suffix != ".snapshot":
            continue
        snapshot = parse_snapshot(path.read_bytes())
        assert snapshot.crc_ok and snapshot.extra_bytes == 0 and snapshot.entry_count == len(snapshot.producers)
        lines = [producer_line(producer) for producer in snapshot.producers]
        wanted = answer.decode().splitlines()[1:]
        assert lines == wanted, path
        seen += len(lines)
    assert seen
