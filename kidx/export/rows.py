"""Blocks of records as Arrow batches, in the form in which they are written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kidx.export.reading import Block
from kidx.export.schema_registry import AVRO, Decoder, SchemaRegistry
from kidx.export.sources import Source
from kidx.export.text_rows import TextColumns, string_array
from kidx.export.typed_columns import Typed, json_text, typed
from kidx.segments.arrow_records import arrow, record_batch, record_schema
from kidx.text.json_text import as_unicode

if TYPE_CHECKING:
    import pyarrow as pa

    from kidx.text.spans import Spans

_BYTES_COLUMNS = ("key", "value", "headers")
_DECODED = ("key_schema_id", "key_decoded", "value_schema_id", "value_decoded")


class Form(NamedTuple):
    """How records are written: one of writers.FORMATS, the columns (None: all), one of text_rows.ENCODINGS, and how
    large a file may become, None for no limit. `registry` adds the columns key_schema_id, key_decoded, value_schema_id
    and value_decoded.
    """

    format: str = "jsonl"
    columns: tuple[str, ...] | None = None
    encoding: str = "utf8"
    file_bytes: int | None = None
    registry: SchemaRegistry | None = None

    @property
    def is_text(self) -> bool:
        """Whether keys, values and headers become text."""
        return self.format in ("jsonl", "csv")


class RowMaker:
    """Makes the rows of a file. `schema` is theirs; in its columns `json`, text is JSON already.

    `topics` are all topics of the file: Arrow's file format wants one dictionary for all batches.
    """

    def __init__(self, form: Form, topics: Sequence[str]) -> None:
        pa = arrow()
        names = form.columns
        decoded = () if form.registry is None else _DECODED if names is None else [n for n in _DECODED if n in names]
        whole = record_schema(None if names is None else [name for name in names if name not in decoded])
        self._form, self._text = form, TextColumns(form.encoding, quoted=form.format == "jsonl")
        texts = [name for name in _BYTES_COLUMNS if form.is_text and name in whole.names]
        self._others = pa.schema([field for field in whole if field.name not in texts])
        self._topic_numbers = {topic: number for number, topic in enumerate(topics)}
        self._topics = pa.array(as_unicode(list(topics)), pa.string())
        self._sides = {} if form.registry is None else {side: _Side(form, side, topics) for side in ("key", "value")}
        self.schema = pa.schema([self._as_written(field, texts) for field in whole])
        for name in decoded:
            self.schema = self.schema.append(pa.field(name, self._sides[name.split("_")[0]].type_of(name)))
        json_columns = [name for name in texts if self._text.is_json(name)]
        json_columns += [name for name in decoded if name.endswith("decoded") and form.is_text]
        self._texts, self.json = texts, frozenset(json_columns)

    def _as_written(self, field: pa.Field, texts: Sequence[str]) -> pa.Field:
        pa = arrow()
        words = self._form.format == "csv" and pa.types.is_dictionary(field.type)
        return pa.field(field.name, pa.string()) if words or field.name in texts else field

    def batch(self, block: Block, source: Source) -> pa.RecordBatch:
        """A block's records."""
        pa = arrow()
        columns, segment = block.columns, block.segment.base_offset
        others = record_batch(columns, self._others, topic=None, partition=source.partition, segment=segment)
        arrays = dict(zip(others.schema.names, others.columns, strict=True))
        if "topic" in arrays and source.topic is not None:
            number = pa.scalar(self._topic_numbers[source.topic], pa.int32())
            arrays["topic"] = pa.DictionaryArray.from_arrays(pa.repeat(number, len(columns)), self._topics)
        for side, decoder in self._sides.items():
            if f"{side}_schema_id" in self.schema.names or f"{side}_decoded" in self.schema.names:
                arrays |= decoder.columns(getattr(columns, side))
        for name in self.schema.names:
            if name not in arrays:
                arrays[name] = string_array(self._text.column(columns, name))
        made = [arrays[field.name] for field in self.schema]
        cast = [a if a.type == f.type else a.cast(f.type) for a, f in zip(made, self.schema, strict=True)]
        return pa.RecordBatch.from_arrays(cast, schema=self.schema)

    @property
    def not_utf8(self) -> int:
        """How many keys, values and header values were not UTF-8 so far."""
        return self._text.not_utf8

    @property
    def decoded(self) -> dict[str, dict[str, int]]:
        """How many keys and values were decoded so far, and why others were not."""
        return {side: dict(decoder.counts) for side, decoder in self._sides.items()}


class _Side:
    """Keys, or values, that carry the id of a schema."""

    def __init__(self, form: Form, side: str, topics: Sequence[str]) -> None:
        assert form.registry is not None
        self._side = side
        target = form.registry.latest.get(f"{topics[0]}-{side}") if len(topics) == 1 and not form.is_text else None
        if target is None or target.kind != AVRO:
            self._typed, target = json_text(), None
        else:
            self._typed = typed(form.registry.avro(target))
        self._decoder = Decoder(form.registry, target)

    @property
    def counts(self) -> Counter[str]:
        """What was decoded, and what not."""
        return self._decoder.counts

    def type_of(self, name: str) -> pa.DataType:
        """The type of one of the two columns."""
        return self._typed.type if name.endswith("decoded") else arrow().int32()

    def columns(self, spans: Spans) -> dict[str, pa.Array]:
        """The schema ids and the decoded values, null where there are none."""
        pa = arrow()
        ids, values, done = self._decoder.decode(spans)
        converted = [_converted(self._typed, value) if ok else None for value, ok in zip(values, done, strict=True)]
        unfit = sum(ok and value is None for value, ok in zip(converted, done.tolist(), strict=True))
        if unfit:
            self.counts["not of the column's type"] += unfit
        return {
            f"{self._side}_schema_id": pa.array(ids.astype(np.int32), mask=ids < 0),
            f"{self._side}_decoded": pa.array(converted, self._typed.type),
        }


def _converted(kind: Typed, value: Any) -> Any:
    pa = arrow()
    try:
        converted = kind.convert(value)
        pa.scalar(converted, kind.type)
    except (pa.ArrowException, LookupError, ValueError, TypeError, AttributeError, OverflowError):
        return None
    return converted
