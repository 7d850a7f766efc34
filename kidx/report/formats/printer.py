"""Several tables as one output: a heading a file in text, one envelope in json, one header in csv."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import IO, Any

from kidx.errors import UsageError
from kidx.report.formats.array_tables import json_lines, render_arrays
from kidx.report.formats.render import csv_table, objects, render, with_iso
from kidx.tables.table import ArrayTable, Table
from kidx.text.escaping import plain
from kidx.text.output import encode, write_bytes


class Printer:
    """Prints tables as they come, in one of render's FORMATS; `close` ends the output.

    `headings` says whether text and table name each table by its constants (a file's path) first. `any_schema` is what
    json's envelope says where tables of several schemas come, or none.
    """

    def __init__(self, form: str, *, iso: bool = False, headings: bool = False, any_schema: str = "") -> None:
        self.form, self.iso, self.headings, self.any_schema = form, iso, headings, any_schema
        self.out: IO[str] = sys.stdout
        self._printed = 0
        self._schema = ""
        self._rows = False
        self._summaries: list[Mapping[str, Any]] = []

    def print(self, table: Table, summary: Callable[[], Mapping[str, Any]] = dict) -> None:
        """Print a table. `summary` adds to its own what is known when the rows are through.

        Raises UsageError where csv would have to change its columns.
        """
        if self.iso:
            table = with_iso(table)
        if self.form == "json":
            self._json(table)
            self._summaries.append({**table.constants, **(table.summary or {}), **summary()})
        elif self.form == "csv":
            self._csv(table)
        else:
            if self.headings and self.form != "jsonl":
                heading = ("\n" if self._printed else "") + f"==> {plain(', '.join(table.constants.values()))} <==\n"
                write_bytes(self.out, [encode(heading)])
            render(table, self.form, self.out)
        self._printed += 1

    def close(self) -> None:
        """End json's envelope; nothing elsewhere."""
        if self.form != "json":
            return
        from kidx.text.json_text import json_text

        summary = self._summaries[0] if len(self._summaries) == 1 and not self.headings else {"files": self._summaries}
        tail = ("\n" if self._rows else "") + f'], "summary": {json_text(summary)}}}\n'
        head = "" if self._printed else f'{{"schema": "{self.any_schema}", "rows": ['
        write_bytes(self.out, [encode(head + tail)])

    def _csv(self, table: Table) -> None:
        if self._printed and table.schema != self._schema:
            raise UsageError("csv holds one kind of row, and these files have several; choose one with --kind")
        first = not self._printed
        self._schema = table.schema
        if isinstance(table, ArrayTable):
            render_arrays(table, "csv", self.out, header=first)
        else:
            csv_table(table, self.out, header=first)

    def _json(self, table: Table) -> None:
        if not self._printed:
            schema = self.any_schema if self.headings else table.schema
            write_bytes(self.out, [encode(f'{{"schema": "{schema}", "rows": [')])
        if isinstance(table, ArrayTable):
            for piece in json_lines(table, b",\n  ", b"", ", ", ": "):
                write_bytes(self.out, [piece if self._rows else memoryview(piece)[1:]])
                self._rows = True
        else:
            from kidx.text.json_text import json_text

            for item in objects(table):
                line = (",\n  " if self._rows else "\n  ") + json_text(item)
                write_bytes(self.out, [encode(line)])
                self._rows = True
