"""Blocks of records as Arrow batches, in the form in which they are written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from kidx.export.reading import Block
from kidx.export.sources import Source
from kidx.export.text_rows import TextColumns, string_array
from kidx.segments.arrow_records import arrow, record_batch, record_schema

if TYPE_CHECKING:
    import pyarrow as pa

_BYTES_COLUMNS = ("key", "value", "headers")


class Form(NamedTuple):
    """How records are written: one of writers.FORMATS, the columns (None: all), one of text_rows.ENCODINGS, and how
    large a file may become, None for no limit.
    """

    format: str = "jsonl"
    columns: tuple[str, ...] | None = None
    encoding: str = "utf8"
    file_bytes: int | None = None

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
        whole = record_schema(form.columns)
        self._form, self._text = form, TextColumns(form.encoding, quoted=form.format == "jsonl")
        texts = frozenset(_BYTES_COLUMNS).intersection(whole.names) if form.is_text else frozenset()
        self.json: frozenset[str] = texts
        self._others = pa.schema([field for field in whole if field.name not in texts])
        self._topics = pa.array(topics, pa.string())
        self.schema = pa.schema([self._as_written(field) for field in whole])

    def _as_written(self, field: pa.Field) -> pa.Field:
        pa = arrow()
        words = self._form.format == "csv" and pa.types.is_dictionary(field.type)
        return pa.field(field.name, pa.string()) if words or field.name in self.json else field

    def batch(self, block: Block, source: Source) -> pa.RecordBatch:
        """A block's records."""
        pa = arrow()
        columns, segment = block.columns, block.segment.base_offset
        others = record_batch(columns, self._others, topic=source.topic, partition=source.partition, segment=segment)
        arrays = []
        for field in self.schema:
            if field.name in self.json:
                array = string_array(self._text.column(columns, field.name))
            elif field.name == "topic" and source.topic is not None:
                number = pa.scalar(self._topics.index(source.topic).as_py(), pa.int32())
                array = pa.DictionaryArray.from_arrays(pa.repeat(number, len(columns)), self._topics)
            else:
                array = others.column(field.name)
            arrays.append(array if array.type == field.type else array.cast(field.type))
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    @property
    def not_utf8(self) -> int:
        """How many keys, values and header values were not UTF-8 so far."""
        return self._text.not_utf8
