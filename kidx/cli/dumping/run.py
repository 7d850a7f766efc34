"""One run of `kidx dump`: file after file to the reader of its kind, and on to the printer."""

from __future__ import annotations

import os
from typing import Any

from kidx.cli import complain, exit_status
from kidx.cli.dumping.indexes import IndexReader, index_table
from kidx.cli.dumping.inputs import Input, inputs_of
from kidx.cli.dumping.kafka import KafkaDump, KafkaOptions
from kidx.cli.dumping.selection import Selection, parse_bound
from kidx.errors import UsageError
from kidx.evidence import open_evidence
from kidx.logdir.names import INDEX_OF_KIND, base_offset_of
from kidx.report.printer import Printer

KINDS = tuple(INDEX_OF_KIND)


class Dump:
    """What was asked for, and where it is printed."""

    def __init__(
        self,
        form: str,
        kind: str | None,
        *,
        iso: bool,
        base_offset: int | None,
        low: str | None,
        high: str | None,
        head: int | None,
        tail: int | None,
        hexed: bool,
        **kafka: Any,
    ) -> None:
        self.form, self.kind, self.iso, self.base_offset, self.hexed = form, kind, iso, base_offset, hexed
        self.selection = Selection(parse_bound(low), parse_bound(high), head, tail)
        self.kafka = KafkaDump(base_offset, KafkaOptions(**kafka)) if form == "kafka" else None
        if self.kafka and (hexed or iso or self.selection != Selection()):
            raise UsageError(
                "--format kafka is DumpLogSegments' text, which knows no --hex, --iso, --from, --to, --head, --tail"
            )

    def inputs(self, paths: list[str]) -> list[Input]:
        """The files that paths stand for. Raises UsageError, CannotRead."""
        files = list(inputs_of(paths, self.kind, KINDS))
        several = len(files) > 1 or any(os.path.isdir(p) for p in paths)
        self.printer = Printer(self.form, iso=self.iso, headings=several, any_schema="kidx.dump.v1")
        return files

    def dump(self, file: Input) -> None:
        """Print one file. Raises CannotRead, UsageError."""
        if self.kafka:
            self.kafka.dump(file)
        elif file.kind in INDEX_OF_KIND:
            self._index(file)
        else:
            raise UsageError(f"{file.path}: not a file that dump knows by its name; say what it is with --kind")

    def close(self) -> int:
        """End the output; the exit status as far as it is about what was shown."""
        if self.kafka:
            self.kafka.close()
            return self.kafka.status
        self.printer.close()
        return exit_status.CLEAN

    def _index(self, file: Input) -> None:
        index_format = INDEX_OF_KIND[file.kind]
        base_offset = base_offset_of(file.path, self.base_offset) if index_format.relative else 0
        with open_evidence(file.path) as evidence:
            reader = IndexReader(evidence, index_format, base_offset)
            self.printer.print(index_table(reader, self.selection, hexed=self.hexed, constants={"file": file.path}))
            if self.form == "json":
                return
            entries, zeros, torn = reader.extent
            if zeros:
                complain(f"{file.path}: {zeros} bytes of zeros after its {entries} entries: preallocated, no entries")
            if torn:
                rest = evidence.read(evidence.size - torn, torn).hex(" ")
                complain(f"{file.path}: its last {torn} bytes are no whole entry (torn): {rest}")
