"""Decoded records of Kafka's own topics: the columns of the data source's kind `decoded_records`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from kidx.evidence import Evidence
from kidx.formats.schemas.topics import FAMILY_OF_TOPIC, decoder_of
from kidx.pipeline.pieces import Piece
from kidx.segments.record_blocks import RecordDecoder
from kidx.segments.scan import scan
from kidx.tables.decoded_records import DecodedRow, decoded_records

_COLUMNS = ("offset", "timestamp", "control", "kind", "version", "key", "value", "problem")
_NUMBERS = ("offset", "timestamp")  # the columns that may have conditions


def decoded_columns(evidence: Evidence, piece: Piece) -> Iterator[Mapping[str, Any]]:
    """The columns of schemas.DECODED_RECORDS for each window of the log: int64 or object, shape (records,).

    Of a damaged batch, only the records before the damage are included.
    """
    import numpy as np

    decode = decoder_of(FAMILY_OF_TOPIC[str(piece.topic)])
    decoder = RecordDecoder(evidence, partly=True)
    for window in scan(evidence, start=piece.start, end=piece.end, check_crc=False, hold=True):
        rows = [_row(record) for record in decoded_records(window, decoder, decode, [])]
        columns = dict(zip(_COLUMNS, zip(*rows, strict=True), strict=True)) if rows else dict.fromkeys(_COLUMNS, ())
        yield {name: np.array(v, np.int64 if name in _NUMBERS else object) for name, v in columns.items()}


def _row(record: DecodedRow) -> tuple[Any, ...]:
    key, value = record.key or {}, record.value or {}
    kind = key.get("name") or value.get("name")
    texts = _text(key), _text(value)
    return record.offset, record.timestamp, record.control, kind, value.get("version"), *texts, record.problem


def _text(part: Mapping[str, Any]) -> str | None:
    data = part.get("data")
    if data is None:
        data = {"bytes": part["bytes"]} if "bytes" in part else None
    return None if data is None else json.dumps(data, ensure_ascii=False, separators=(",", ":"))
