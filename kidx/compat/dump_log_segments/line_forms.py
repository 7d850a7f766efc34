"""The lines that Kafka's DumpLogSegments prints for index entries and batches, word for word.

Source: org.apache.kafka.tools.DumpLogSegments, 4.3.1.
"""

from __future__ import annotations

from kidx.text.integer_text import Choice, LineForm, Number


def _line(*names: str) -> LineForm:
    pieces = [f"{' ' if i else ''}{name}: ".encode() for i, name in enumerate(names)]
    return LineForm([*pieces, b"\n"], [Number()] * len(names))


# By index kind: the columns that its line names, in order, and the line.
INDEX_LINES: dict[str, tuple[tuple[str, ...], LineForm]] = {
    "offset_index": (("offset", "position"), _line("offset", "position")),
    "time_index": (("timestamp", "offset"), _line("timestamp", "offset")),
    "transaction_index": (
        ("version", "producer_id", "first_offset", "last_offset", "last_stable_offset"),
        _line("version", "producerId", "firstOffset", "lastOffset", "lastStableOffset"),
    ),
}

TIMESTAMP_TYPES = ("CreateTime", "LogAppendTime", "NoTimestampType")
_BOOLEAN = Choice((b"false", b"true"))
_TIME_TYPE = Choice(tuple(name.encode() for name in TIMESTAMP_TYPES))
_OPTIONAL_LONG = Number(absent=b"OptionalLong.empty", before=b"OptionalLong[", after=b"]")


def batch_line(codec_names: tuple[str, ...]) -> LineForm:
    """A v2 batch's line; columns as `BATCH_COLUMNS`."""
    head = ("baseOffset", "lastOffset", "count", "baseSequence", "lastSequence", "producerId", "producerEpoch")
    pieces = [f"{' ' if i else ''}{name}: ".encode() for i, name in enumerate((*head, "partitionLeaderEpoch"))]
    pieces += [b" isTransactional: ", b" isControl: ", b" deleteHorizonMs: "]
    specs: list[Number | Choice] = [*[Number()] * 8, _BOOLEAN, _BOOLEAN, _OPTIONAL_LONG]
    return _with_tail(pieces, specs, codec_names)


def message_line(codec_names: tuple[str, ...]) -> LineForm:
    """A v0 or v1 message's line: its offset, then a batch's last columns."""
    return _with_tail([b"offset: "], [Number()], codec_names)


def _with_tail(pieces: list[bytes], specs: list[Number | Choice], codec_names: tuple[str, ...]) -> LineForm:
    pieces += [b" position: ", b" ", b": ", b" size: ", b" magic: ", b" compresscodec: ", b" crc: ", b" isvalid: "]
    codecs = Choice(tuple(name.encode() for name in codec_names))
    specs += [Number(), _TIME_TYPE, Number(), Number(), Number(), codecs, Number(), _BOOLEAN]
    return LineForm([*pieces, b"\n"], specs)
