"""Measures of index files as rows: entries, capacity, ranges, density."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kidx.errors import CannotRead, KidxError
from kidx.evidence import must_exist, open_evidence
from kidx.logdir.names import INDEX_OF_KIND, base_offset_of, index_format_of, parse_file_name
from kidx.lookup.index_measures import measure
from kidx.tables.input_files import InputFile, input_files
from kidx.tables.table import TEXT, TIMESTAMP, Column, Notes, Table

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


def stat_table(
    paths: Sequence[str],
    *,
    kind: str | None = None,
    base_offset: int | None = None,
    sort: str | None = None,
    reverse: bool = False,
) -> Table:
    """kidx.stat.v1: a row an index file, in order of paths, or sorted by one of FIELDS (absent values last).

    Paths are index files, or directories, below which every index is measured. `kind` and `base_offset` are needed
    where names do not tell them. What cannot be read becomes a note.
    """
    notes = Notes()
    rows: Iterator[Sequence[Any]] | list[Sequence[Any]] = _rows(paths, kind, base_offset, notes)
    if sort is not None:
        column = FIELDS.index(sort)
        everything = list(rows)
        present = [row for row in everything if row[column] is not None]
        rows = sorted(present, key=lambda row: row[column], reverse=reverse)
        rows += [row for row in everything if row[column] is None]
    return Table("kidx.stat.v1", _COLUMNS, rows, notes=notes)


def _rows(paths: Sequence[str], kind: str | None, base_offset: int | None, notes: Notes) -> Iterator[Sequence[Any]]:
    for path in paths:
        try:
            files = list(input_files([path], kind, INDEX_OF_KIND))
        except KidxError as e:
            notes.add(str(e), e.exit_status)
            continue
        for file in files:
            try:
                if isinstance(file, CannotRead):
                    raise file
                yield _row(file, base_offset)
            except KidxError as e:
                notes.add(str(e), e.exit_status)


def _row(file: InputFile, given: int | None) -> Sequence[Any]:
    must_exist(file.path)
    index_format = index_format_of(file.path, file.kind or None)
    with open_evidence(file.path) as evidence:
        if index_format.relative:
            base_offset: int | None = base_offset_of(file.path, given)
        else:
            name = parse_file_name(file.path)
            base_offset = name.base_offset if name and given is None else given
        kind, base_offset, *numbers = measure(evidence, index_format, base_offset)
    return (file.path, kind, base_offset, *(round(n, 2) if isinstance(n, float) else n for n in numbers))
