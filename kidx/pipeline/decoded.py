"""Records of Kafka's own topics, decoded in a task: what the data source's kind `decoded_records` gives."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from kidx.evidence import Evidence
from kidx.formats.batches import Batch
from kidx.formats.control import parse_control
from kidx.formats.records import Damage
from kidx.formats.schemas.topics import FAMILY_OF_TOPIC, Part, decoder_of
from kidx.pipeline.pieces import Piece
from kidx.segments.record_blocks import RecordDecoder
from kidx.segments.scan import scan
from kidx.segments.window_records import Content, records_in_order

if TYPE_CHECKING:
    from kidx.formats.schemas.topics import Decoder

_COLUMNS = ("offset", "timestamp", "control", "kind", "version", "key", "value", "problem")
_NUMBERS = ("offset", "timestamp")  # what conditions are about


def decoded_columns(evidence: Evidence, piece: Piece) -> Iterator[Mapping[str, Any]]:
    """The columns of schemas.DECODED_RECORDS, a window of the log at a time.

    Of a damaged batch the records come that precede the damage.
    """
    import numpy as np

    decode = decoder_of(FAMILY_OF_TOPIC[str(piece.topic)])
    decoder = RecordDecoder(evidence)
    for window in scan(evidence, start=piece.start, end=piece.end, check_crc=False, hold=True):
        damaged: list[tuple[Batch, Damage]] = []
        rows = [_row(c, decode) for c in records_in_order(evidence, decoder, window, damaged)]
        columns = dict(zip(_COLUMNS, zip(*rows, strict=True), strict=True)) if rows else dict.fromkeys(_COLUMNS, ())
        yield {name: np.array(v, np.int64 if name in _NUMBERS else object) for name, v in columns.items()}


def _row(content: Content, decode: Decoder) -> tuple[Any, ...]:
    control, offset, timestamp, key, value = content
    if control:
        said = parse_control(key, value)
        if said is None:
            return offset, timestamp, True, None, None, _json_bytes(key), None, "no control record by its key"
        return offset, timestamp, True, said.name, None, None, _json(said.fields), None
    decoded = decode(key, value)
    about, says = decoded
    kind = about.name or (says and says.name)
    return offset, timestamp, False, kind, says and says.version, _text(about), says and _text(says), decoded.problem


def _text(part: Part) -> str | None:
    return _json_bytes(part.raw) if part.data is None else _json(part.data)


def _json_bytes(data: bytes | None) -> str | None:
    return None if data is None else _json({"bytes": data.hex()})


def _json(value: Any) -> str | None:
    return None if value is None else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
