"""Entries from a stream: dump's own JSON lines or CSV."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator
from typing import Any

from kidx.errors import UsageError
from kidx.surgery.append import FIELDS
from kidx.surgery.index_file import IndexFile


def entries_from_lines(index: IndexFile, lines: Iterable[str], source: str) -> Iterator[tuple[int, ...]]:
    """Entries of JSON lines, where each line is an object, or of CSV, where the first line names the columns.

    Columns that an entry does not need (slot, relative_offset) are passed over. Raises UsageError, naming the line.
    """
    numbered = ((number, line) for number, line in enumerate(lines, 1) if line.strip())
    first = next(numbered, None)
    if first is None:
        return
    if first[1].lstrip().startswith("{"):
        yield from (_entry(index, _json_row(index, line, source, n), source, n) for n, line in _again(first, numbered))
        return
    columns = next(csv.reader([first[1]]))
    for number, line in numbered:
        row = dict(zip(columns, next(csv.reader([line])), strict=False))
        yield _entry(index, row, source, number)


def _again(first: tuple[int, str], rest: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    yield first
    yield from rest


def _json_row(index: IndexFile, line: str, source: str, number: int) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as e:
        raise UsageError(f"{source}, line {number}: not JSON ({e}); JSON lines or CSV is wanted") from None
    if not isinstance(row, dict):
        raise UsageError(f"{source}, line {number}: not a JSON object; dump's JSON lines are wanted")
    schema = row.get("schema", index.format.schema)
    if schema != index.format.schema:
        raise UsageError(f"{source}, line {number}: {schema} is no entry for this {index.format.name}")
    return row


def _entry(index: IndexFile, row: dict[str, Any], source: str, number: int) -> tuple[int, ...]:
    values = []
    for name in FIELDS[index.format]:
        value = row.get(name)
        if isinstance(value, str) and value.isascii() and value.removeprefix("-").isdigit():
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool):
            raise UsageError(f"{source}, line {number}: {name} is not a whole number there: {value!r}")
        values.append(value)
    return tuple(values)
