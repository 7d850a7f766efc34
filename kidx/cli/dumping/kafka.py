"""`kidx dump --format kafka`: the text of Kafka's DumpLogSegments, so that scripts get what they know.

Source: org.apache.kafka.tools.DumpLogSegments, 4.3.1. What stops that tool (a file it cannot read, a name without an
offset) is said here, and the next file is dumped.
"""

from __future__ import annotations

import os
import re
import sys

from kidx.cli.dumping import kafka_indexes
from kidx.cli.dumping.indexes import IndexReader
from kidx.cli.dumping.inputs import Input
from kidx.evidence import open_evidence
from kidx.logdir.names import INDEX_OF_KIND, SEGMENT_SUFFIX, base_offset_of
from kidx.report.arrays import write

_SUFFIXES = {suffix: kind for kind, suffix in SEGMENT_SUFFIX.items()}


class KafkaDump:
    """One run over several files; `close` says what was complained of, after all of them."""

    def __init__(self, base_offset: int | None) -> None:
        self.base_offset = base_offset

    def dump(self, file: Input) -> None:
        """Print one file. Raises CannotRead, UsageError."""
        path = _as_java_says(file.path)
        self._print(b"Dumping %b\n" % os.fsencode(path))
        kind = file.kind if file.is_stream else _SUFFIXES.get(os.path.splitext("x" + os.path.basename(path))[1], "")
        if kind in INDEX_OF_KIND:
            self._index(file, path, kind)
        else:
            sys.stdout.flush()
            sys.stderr.buffer.write(b"Ignoring unknown file %b\n" % os.fsencode(path))

    def close(self) -> None:
        """Print the complaints."""

    def _index(self, file: Input, path: str, kind: str) -> None:
        index_format = INDEX_OF_KIND[kind]
        base_offset = base_offset_of(file.path, self.base_offset) if index_format.relative else 0
        with open_evidence(file.path) as evidence:
            reader = IndexReader(evidence, index_format, base_offset)
            slots = kafka_indexes.shown_slots(reader)
            if kind == "offset_index" and not slots:
                self._print(b"%b is empty.\n" % os.fsencode(path))
            write(sys.stdout, kafka_indexes.lines(reader, slots))

    def _print(self, line: bytes) -> None:
        write(sys.stdout, [line])


def _as_java_says(path: str) -> str:
    """A path as java.io.File prints it: slashes once, none at the end."""
    short = re.sub("/+", "/", path)
    return short if short == "/" else short.rstrip("/")
