"""The tables of `kidx query` for DuckDB: datasets whose rows are read from files while the query runs.

DuckDB calls `scanner` of an object that is a pyarrow Dataset with the columns and the condition of the query. What the
condition excludes is not read: topics, partitions, segments, offsets and times that the indexes locate, producers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from kidx.errors import KidxError
from kidx.pipeline.filters import RANGED, Conditions
from kidx.pipeline.frames import to_arrow_text
from kidx.pipeline.piece_batches import read_piece
from kidx.pipeline.pieces import Piece, find_pieces
from kidx.pipeline.schemas import schema_of
from kidx.segments.column_reader import DamagedRange
from kidx.sql.outcome import Outcome
from kidx.sql.pushdown import Filter
from kidx.text.json_text import as_unicode

_WHOLE_FILES = 1 << 62


class Relation(ds.Dataset):
    """One table: rows of a kind below some paths. `outcome` collects what could not be read."""

    def __init__(self, kind: str, paths: Sequence[str], outcome: Outcome) -> None:
        self._kind, self._paths, self._outcome = kind, paths, outcome
        self._schema = schema_of(kind)

    @property
    def schema(self) -> pa.Schema:
        """The table's columns."""
        return self._schema

    def scanner(self, columns: Sequence[str] | None = None, filter: Any = None, **_: Any) -> _Scanner:
        """Some columns of the rows that meet a condition."""
        return _Scanner(self, list(columns) if columns is not None else self._schema.names, filter)

    def batches(self, columns: list[str], condition: Filter) -> Iterator[pa.RecordBatch]:
        """The rows as batches of these columns, read while they are consumed."""
        try:
            yield from self._batches(columns, condition)
        except Exception as e:
            self._outcome.failure = e  # DuckDB makes a text of it
            raise

    def _batches(self, columns: list[str], condition: Filter) -> Iterator[pa.RecordBatch]:
        schema = schema_of(self._kind, {*columns, *condition.names})
        conditions = self._conditions(condition)
        for piece in self._pieces(condition, conditions):
            damage: list[DamagedRange] = []
            try:
                for batch in read_piece(self._kind, piece, conditions, schema, damage):
                    yield condition.apply(batch).select(columns)
            except KidxError as e:
                self._outcome.unread(str(e))
            for found in damage:
                self._outcome.damaged(piece.path, found)

    def _conditions(self, condition: Filter) -> Conditions:
        conditions = Conditions()
        for name in RANGED:
            bounds = condition.bounds(name) if name in self._schema.names else None
            if bounds is not None:
                conditions.bound(name, *bounds)
        return conditions

    def _pieces(self, condition: Filter, conditions: Conditions) -> list[Piece]:
        pieces = find_pieces(self._kind, self._paths, conditions, _WHOLE_FILES)
        possible = condition.possible([self._guarantee(piece) for piece in pieces])
        return [piece for piece, may in zip(pieces, possible, strict=True) if may]

    def _guarantee(self, piece: Piece) -> Any:
        """What holds for every row of a piece."""
        known: dict[str, Any] = {"topic": as_unicode(piece.topic), "partition": piece.partition}
        if piece.base_offset >= 0:
            known |= {"file": to_arrow_text(piece.path), "segment": piece.base_offset}
        guarantee = ds.scalar(True)
        for name, value in known.items():
            if name in self._schema.names:
                typed = pa.scalar(value, self._schema.field(name).type)
                field = ds.field(name)
                guarantee = guarantee & (field.is_null() if value is None else field == typed)
        return guarantee


class _Scanner:
    """What DuckDB asks for batches."""

    def __init__(self, relation: Relation, columns: list[str], expression: Any) -> None:
        self._relation, self._columns = relation, columns
        self._filter = Filter(expression, relation.schema)

    def to_reader(self) -> pa.RecordBatchReader:
        """The batches as a stream."""
        whole = self._relation.schema
        schema = pa.schema([whole.field(name) for name in self._columns])
        return pa.RecordBatchReader.from_batches(schema, self._relation.batches(self._columns, self._filter))
