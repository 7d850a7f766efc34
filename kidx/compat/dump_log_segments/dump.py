"""`kidx dump --format kafka`: the text of Kafka's DumpLogSegments, so that scripts get what they know.

Source: org.apache.kafka.tools.DumpLogSegments, 4.3.1. What stops that tool (a file it cannot read, a name without an
offset, an entry past the end of the log) is said here, and the next file is dumped; nothing is created or written.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kidx.cli import complain, exit_status
from kidx.compat.dump_log_segments import indexes as kafka_indexes
from kidx.compat.dump_log_segments import java
from kidx.compat.dump_log_segments.complaints import Complaints
from kidx.errors import KidxError
from kidx.evidence import STREAM_LIMIT_BYTES, must_exist, open_evidence, read_file
from kidx.logdir.names import INDEX_OF_KIND, LOG, METADATA_SNAPSHOT, PRODUCER_SNAPSHOT, SEGMENT_SUFFIX, base_offset_of
from kidx.report.formats.arrays import write
from kidx.tables.index_entries import IndexReader
from kidx.tables.inputs import Input

KAFKA_KINDS = tuple(SEGMENT_SUFFIX)
_SUFFIXES = {suffix: kind for kind, suffix in SEGMENT_SUFFIX.items()}


class KafkaOptions(NamedTuple):
    """DumpLogSegments' own options."""

    print_data_log: bool = False
    deep_iteration: bool = False
    skip_record_metadata: bool = False
    max_bytes: int = java.MAX_INT
    verify_index_only: bool = False
    index_sanity_check: bool = False
    decoder: str | None = None  # the family of Kafka's own topics that the records are of


class KafkaDump:
    """One run over several files; `close` says what was complained of, after all of them.

    `status` becomes the run's: findings where indexes and logs disagree or a sanity check fails, unreadable where
    something could not be compared.
    """

    def __init__(self, base_offset: int | None, options: KafkaOptions) -> None:
        self.base_offset, self.options = base_offset, options
        self.status = exit_status.CLEAN
        self._complaints = Complaints()

    def dump(self, file: Input) -> None:
        """Print one file. Raises CannotRead, UsageError."""
        path = java.path_text(file.path)
        self._print(f"Dumping {path}")
        kind = file.kind if file.is_stream else _SUFFIXES.get(os.path.splitext("x" + os.path.basename(path))[1], "")
        if kind in INDEX_OF_KIND:
            self._index(file, path, kind)
        elif kind in (LOG, METADATA_SNAPSHOT):
            self._log(file, path, kind)
        elif kind == PRODUCER_SNAPSHOT:
            self._producers(file)
        else:
            must_exist(file.path)
            _say(f"Ignoring unknown file {path}")

    def close(self) -> None:
        """Print the complaints."""
        for said in self._complaints.texts():
            _say(said)
            self.status = max(self.status, exit_status.FINDINGS)

    def _index(self, file: Input, path: str, kind: str) -> None:
        index_format = INDEX_OF_KIND[kind]
        base_offset = base_offset_of(file.path, self.base_offset) if index_format.relative else 0
        with open_evidence(file.path) as evidence:
            reader = IndexReader(evidence, index_format, base_offset)
            slots = kafka_indexes.shown_slots(reader)
            if kind == "offset_index" and not slots:
                self._print(f"{path} is empty.")
                return
            if self.options.index_sanity_check and index_format.relative:
                from kidx.compat.dump_log_segments import comparisons as kafka_checks

                problem = kafka_checks.sanity_problem(index_format, evidence, base_offset, java.absolute(path))
                if problem:
                    _say(problem)
                    self.status = max(self.status, exit_status.FINDINGS)
                else:
                    self._print(f"{path} passed sanity check.")
                return
            if not (self.options.verify_index_only and index_format.relative):
                write(sys.stdout, kafka_indexes.lines(reader, slots))
            if index_format.relative and not file.is_stream:
                self._compare(path, reader, slots)

    def _compare(self, path: str, reader: IndexReader, slots: range) -> None:
        """Note where the index and the log beside it disagree."""
        stem = os.path.join(os.path.dirname(path), os.path.basename(path).partition(".")[0])
        if not os.path.lexists(stem + ".log"):
            if self.options.verify_index_only:
                complain(f"{path}: there is no {os.path.basename(stem)}.log beside it to compare it with")
                self.status = exit_status.UNREADABLE
            return
        from kidx.compat.dump_log_segments import comparisons as kafka_checks

        whole = java.absolute(path)
        try:
            with open_evidence(stem + ".log") as evidence:
                log = kafka_checks.Log(evidence)
                if reader.format.kind == "offset_index":
                    pairs = _pairs(reader, slots, "offset", "position")
                    self._complaints.mismatches(whole, kafka_checks.offset_mismatches(log, pairs))
                    return
                data = read_file(stem + ".index", STREAM_LIMIT_BYTES) if os.path.lexists(stem + ".index") else b""
                found = kafka_checks.time_complaints(
                    log,
                    kafka_checks.OffsetSlots(data, reader.base_offset),
                    _pairs(reader, slots, "timestamp", "offset"),
                )
                self._complaints.times(whole, found)
        except KidxError as e:
            complain(str(e))
            self.status = exit_status.UNREADABLE
            return

    def _log(self, file: Input, path: str, kind: str) -> None:
        from kidx.compat.dump_log_segments import logs as kafka_logs

        if kind == LOG:
            heading = kafka_logs.log_heading(base_offset_of(file.path, self.base_offset))
        else:
            heading = kafka_logs.snapshot_heading(path)
        write(sys.stdout, [heading])
        options = self.options
        with open_evidence(file.path) as evidence:
            end = min(evidence.size, options.max_bytes)
            log = kafka_logs.LogLines(evidence, end)
            if options.deep_iteration or options.print_data_log or options.decoder:
                gaps = _Gaps()
                contents = kafka_logs.contents_of(options.decoder, options.print_data_log)
                lines: Iterable[bytes | memoryview] = log.records(
                    lambda b, record, sizes: kafka_logs.record_line(
                        b, record, not options.skip_record_metadata, contents, sizes
                    ),
                    gaps.see,
                )
                write(sys.stdout, lines)
                self._complaints.gaps(java.absolute(path), gaps.found)
            else:
                write(sys.stdout, log.batches())
            for why in log.damage:
                complain(f"{path}: {why}")
                self.status = exit_status.UNREADABLE
            rest = end - (log.ending.position if log.ending else end)
            if rest and options.max_bytes == java.MAX_INT:
                self._print(f"Found {rest} invalid bytes at the end of {os.path.basename(path)}")

    def _producers(self, file: Input) -> None:
        from kidx.compat.dump_log_segments import logs as kafka_logs

        lines, wrong = kafka_logs.producer_lines(read_file(file.path))
        write(sys.stdout, lines)
        if wrong:
            _say(wrong)
            self.status = max(self.status, exit_status.FINDINGS)

    def _print(self, line: str) -> None:
        write(sys.stdout, [os.fsencode(line + "\n")])


class _Gaps:
    """Which records' offsets do not follow each other; a log that starts above 0 is complained of, too."""

    def __init__(self) -> None:
        self.last, self.found = -1, dict[int, int]()

    def see(self, offset: int) -> None:
        if offset != self.last + 1:
            self.found[self.last] = offset
        self.last = offset


def _pairs(reader: IndexReader, slots: range, first: str, second: str) -> Iterator[tuple[int, int]]:
    a, b = reader.names.index(first), reader.names.index(second)
    return ((row[a], row[b]) for row in reader.rows(slots))


def _say(text: str) -> None:
    """A line on standard error, in the tool's words and not in kidx's name."""
    sys.stdout.flush()
    write(sys.stderr, [os.fsencode(text + "\n")])
