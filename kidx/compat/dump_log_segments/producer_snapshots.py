"""Producer snapshots as DumpLogSegments prints them."""

from __future__ import annotations

from fastcrc.crc32 import iscsi as crc32c

from kidx.compat.dump_log_segments import java
from kidx.formats.producer_snapshot import HEADER_BYTES, VERSION, parse_snapshot

_CRC_START = 6


def producer_lines(data: bytes) -> tuple[list[bytes], str]:
    """A producer snapshot's lines, and the tool's message about damage or ""; a damaged one has no lines."""
    refused = "Snapshot failed schema validation: "
    version = int.from_bytes(data[:2], "big", signed=True)
    if len(data) > 1 and version != VERSION:
        return [], f"{refused}Snapshot contained an unknown file version {version}"
    if len(data) < HEADER_BYTES:
        return [], refused + "null"
    snapshot = parse_snapshot(data)
    wrong = ""
    rest = len(data) - HEADER_BYTES
    if snapshot.entry_count < 0:
        wrong = refused + "non-nullable field producerEntries was serialized as null"
    elif snapshot.entry_count > rest:
        wrong = f"{refused}Tried to allocate a collection of size {snapshot.entry_count}"
        wrong += f", but there are only {rest} bytes remaining."
    elif snapshot.entry_count != len(snapshot.producers):
        wrong = refused + "null"
    elif not snapshot.crc_ok:
        computed = crc32c(data[_CRC_START:])
        wrong = f"Snapshot is corrupt (CRC is no longer valid). Stored crc: {snapshot.crc}. Computed crc: {computed}"
    lines = []
    for p in snapshot.producers if not wrong else ():
        open_from = p.current_txn_first_offset
        transaction = f"OptionalLong[{open_from}]" if open_from >= 0 else "OptionalLong.empty"
        line = (
            f"producerId: {p.producer_id} producerEpoch: {p.producer_epoch} coordinatorEpoch: {p.coordinator_epoch} "
            f"currentTxnFirstOffset: {transaction} lastTimestamp: {p.timestamp}"
        )
        if p.last_offset >= 0:
            first = java.sequence_before(p.last_sequence, p.offset_delta)
            line += (
                f" firstSequence: {first} lastSequence: {p.last_sequence} lastOffset: {p.last_offset} "
                f"offsetDelta: {p.offset_delta} timestamp: {p.timestamp}"
            )
        lines.append(line.encode() + b"\n")
    return lines, wrong
