"""The rows of kidx stat."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

from kidx.cli import complain, exit_status
from kidx.errors import CannotRead, KidxError
from kidx.evidence import must_exist, open_evidence
from kidx.logdir.names import INDEX_OF_KIND, base_offset_of, index_format_of, parse_file_name
from kidx.lookup.index_measures import measure
from kidx.tables.inputs import Input, inputs_of
from kidx.tables.table import TEXT, TIMESTAMP, Column, Table

_COLUMNS = (
    Column("file", TEXT),
    Column("kind", TEXT),
    Column("base_offset"),
    Column("size_bytes", unit="bytes"),
    Column("entries"),
    Column("capacity", unit="entries"),
    Column("slack", unit="entries"),
    Column("zero_tail_bytes", unit="bytes"),
    Column("torn_bytes", unit="bytes"),
    Column("first_offset"),
    Column("last_offset"),
    Column("first_position", unit="bytes"),
    Column("last_position", unit="bytes"),
    Column("first_timestamp", TIMESTAMP),
    Column("last_timestamp", TIMESTAMP),
    Column("entries_a_page"),
    Column("offsets_an_entry"),
    Column("log_bytes_an_entry", unit="bytes"),
    Column("pages"),
    Column("warm_from_slot"),
    Column("warm_from_page"),
)
FIELDS = tuple(c.name for c in _COLUMNS)


class Stat:
    """A run over paths. `single` says that one index was named; `status` is the exit status once the rows are read."""

    def __init__(
        self, paths: Sequence[str], *, kind: str | None, base_offset: int | None, sort: str | None, reverse: bool
    ) -> None:
        self._paths, self._kind, self._base_offset, self._sort, self._reverse = paths, kind, base_offset, sort, reverse
        self.single = len(paths) == 1 and not os.path.isdir(paths[0])
        self.status = exit_status.CLEAN

    def table(self) -> Table:
        """kidx.stat.v1: a row an index file, in order of paths, or sorted (absent values last)."""
        rows: Iterator[Sequence[Any]] | list[Sequence[Any]] = self._rows()
        if self._sort is not None:
            column = FIELDS.index(self._sort)
            everything = list(rows)
            there = [row for row in everything if row[column] is not None]
            rows = sorted(there, key=lambda row: row[column], reverse=self._reverse)
            rows += [row for row in everything if row[column] is None]
        return Table("kidx.stat.v1", _COLUMNS, rows)

    def _rows(self) -> Iterator[Sequence[Any]]:
        for path in self._paths:
            try:
                files = list(inputs_of([path], self._kind, INDEX_OF_KIND))
            except KidxError as e:
                self._complain(e)
                continue
            for file in files:
                try:
                    if isinstance(file, CannotRead):
                        raise file
                    yield self._row(file)
                except KidxError as e:
                    self._complain(e)

    def _complain(self, e: KidxError) -> None:
        complain(str(e))
        self.status = max(self.status, e.exit_status)

    def _row(self, file: Input) -> Sequence[Any]:
        must_exist(file.path)
        index_format = index_format_of(file.path, file.kind or None)
        with open_evidence(file.path) as evidence:
            if index_format.relative:
                base_offset: int | None = base_offset_of(file.path, self._base_offset)
            else:
                name = parse_file_name(file.path)
                base_offset = name.base_offset if name and self._base_offset is None else self._base_offset
            kind, base_offset, *numbers = measure(evidence, index_format, base_offset)
        return (file.path, kind, base_offset, *(round(n, 2) if isinstance(n, float) else n for n in numbers))
