"""A record's line: its sizes and headers, its key and payload."""

from __future__ import annotations

from collections.abc import Callable

from kidx.compat.dump_log_segments import java
from kidx.formats.batches import Batch
from kidx.formats.control import ABORT, COMMIT, CONTROL_TYPE_NAMES, ControlRecord, parse_control
from kidx.formats.records import Record

_CONTROL_WORDS = dict(
    zip(
        CONTROL_TYPE_NAMES,
        ("", "", "LeaderChange:", "SnapshotHeader", "SnapshotFooter", "KRaftVersion", "KRaftVoters"),
        strict=True,
    )
)
Contents = Callable[[Record], tuple[str | None, str | None]]


def contents_of(decoder: str | None, wanted: bool) -> Contents | None:
    """The function from a record to its key's and payload's text: a topic's decoder, or UTF-8; None: print neither."""
    if decoder:
        from kidx.compat.dump_log_segments.decoders import decoded_texts

        return lambda record: decoded_texts(decoder, record)
    return plain_texts if wanted else None


def plain_texts(record: Record) -> tuple[str | None, str | None]:
    """Key and value as text."""
    key, value = (None if part is None else java.text(part) for part in (record.key, record.value))
    return key, value


def record_line(
    batch: Batch, record: Record, metadata: bool, contents: Contents | None, sizes: tuple[int, int] | None = None
) -> bytes:
    """A record's line: `metadata` says whether its sizes and headers are in it, `contents` gives key and payload.

    `sizes` are the key's and the value's where they are not those of the record.
    """
    out = []
    if metadata:
        if sizes is None:
            sizes = -1 if record.key is None else len(record.key), -1 if record.value is None else len(record.value)
        out.append(
            f"| offset: {record.offset} {batch.timestamp_type}: {record.timestamp} "
            f"keySize: {sizes[0]} valueSize: {sizes[1]}"
        )
        if batch.magic == 2:
            delta = record.offset - batch.base_offset
            sequence = java.sequence_after(batch.base_sequence, delta) if batch.base_sequence >= 0 else -1
            out.append(f" sequence: {sequence} headerKeys: [{','.join(java.text(name) for name, _ in record.headers)}]")
        else:
            out.append(f" isValid: {'true' if record.crc_ok else 'false'} crc: {record.crc}")
        if batch.control and (control := parse_control(record.key, record.value)):
            out.append(control_text(control))
    if contents and not batch.control:
        prefix = " " if metadata else "| "
        for name, text in zip(("key", "payload"), contents(record), strict=True):
            if text is not None:
                out.append(f"{prefix}{name}: {text}")
                prefix = " "
    return "".join(out).encode() + b"\n"


def control_text(control: ControlRecord) -> str:
    """What a control record's line says about the marker or message in it."""
    if control.type_id in (ABORT, COMMIT):
        epoch = control.fields["coordinatorEpoch"] if control.fields else None
        return f" endTxnMarker: {control.name} coordinatorEpoch: {epoch}"
    if control.name in _CONTROL_WORDS:
        from kidx.compat.dump_log_segments.jackson import compact_json

        return f" {_CONTROL_WORDS[control.name]} {compact_json(control.fields)}"
    return f" controlType: {control.name}({control.type_id})"
