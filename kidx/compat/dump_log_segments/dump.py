"""The text of Kafka's DumpLogSegments, for scripts that parse it.

Source: org.apache.kafka.tools.DumpLogSegments, 4.3.1. Where that tool stops (a file that cannot be read, a name without
an offset, an entry past the end of the log) a note says why, and the next file can be dumped; nothing is created or
written.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kidx.compat.dump_log_segments import comparisons, java
from kidx.compat.dump_log_segments.complaints import Complaints
from kidx.compat.dump_log_segments.indexes import index_lines, shown_slots
from kidx.compat.dump_log_segments.record_line import contents_of
from kidx.errors import KidxError
from kidx.evidence import INDEX_BYTES, exists, must_exist, open_evidence, read_file
from kidx.exit_status import CLEAN, FINDINGS, UNREADABLE
from kidx.logdir.names import INDEX_OF_KIND, LOG, METADATA_SNAPSHOT, PRODUCER_SNAPSHOT, SEGMENT_SUFFIX, base_offset_of
from kidx.tables.index_entries import IndexEntries
from kidx.tables.input_files import InputFile

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

KINDS = tuple(SEGMENT_SUFFIX)
_KIND_OF_SUFFIX = {suffix: kind for kind, suffix in SEGMENT_SUFFIX.items()}

Lines = Iterator[bytes | memoryview]


class DumpOptions(NamedTuple):
    """DumpLogSegments' own options."""

    print_data_log: bool = False
    deep_iteration: bool = False
    skip_record_metadata: bool = False
    max_bytes: int = java.MAX_INT
    verify_index_only: bool = False
    index_sanity_check: bool = False
    decoder: str | None = None  # the family of Kafka's own topics that the records are of


DEFAULTS = DumpOptions()


class Message(NamedTuple):
    """A line for stderr, in the tool's own words or in kidx's."""

    text: str
    of_the_tool: bool


class DumpLogSegments:
    """One run of the tool over several files: first `lines` of each, then `complaints` about all of them.

    `take_messages` returns what was written to stderr since the last call. `status` becomes FINDINGS where indexes and
    logs disagree or a sanity check fails, UNREADABLE where something could not be compared.
    """

    def __init__(self, base_offset: int | None = None, options: DumpOptions = DEFAULTS) -> None:
        self._base_offset, self._options = base_offset, options
        self.status = CLEAN
        self._messages: list[Message] = []
        self._complaints = Complaints()

    def take_messages(self) -> list[Message]:
        """The messages for stderr since the last call, in order."""
        messages, self._messages = self._messages, []
        return messages

    def lines(self, file: InputFile) -> Lines:
        """A file's lines, in pieces that are valid until the next one is read. Raises CannotRead, UsageError."""
        path = java.path_text(file.path)
        yield _line(f"Dumping {path}")
        suffix = os.path.splitext("x" + os.path.basename(path))[1]
        kind = file.kind if file.is_stream else _KIND_OF_SUFFIX.get(suffix, "")
        if kind in INDEX_OF_KIND:
            yield from self._index(file, path, kind)
        elif kind in (LOG, METADATA_SNAPSHOT):
            yield from self._log(file, path, kind)
        elif kind == PRODUCER_SNAPSHOT:
            yield from self._producers(file)
        else:
            must_exist(file.path)
            self._say(f"Ignoring unknown file {path}")

    def complaints(self) -> Iterator[str]:
        """What the tool writes to stderr after all files."""
        for text in self._complaints.texts():
            self.status = max(self.status, FINDINGS)
            yield text

    def _index(self, file: InputFile, path: str, kind: str) -> Lines:
        index_format = INDEX_OF_KIND[kind]
        base_offset = base_offset_of(file.path, self._base_offset) if index_format.relative else 0
        with open_evidence(file.path) as evidence:
            entries = IndexEntries(evidence, index_format, base_offset)
            slots = shown_slots(entries)
            if kind == "offset_index" and not slots:
                yield _line(f"{path} is empty.")
                return
            if self._options.index_sanity_check and index_format.relative:
                problem = comparisons.sanity_problem(index_format, evidence, base_offset, java.absolute(path))
                if problem:
                    self._say(problem, FINDINGS)
                else:
                    yield _line(f"{path} passed sanity check.")
                return
            if not (self._options.verify_index_only and index_format.relative):
                yield from index_lines(entries, slots)
            if index_format.relative and not file.is_stream:
                self._compare(path, entries, slots)

    def _compare(self, path: str, entries: IndexEntries, slots: range) -> None:
        """Collect what the index and the log next to it disagree on."""
        stem = os.path.join(os.path.dirname(path), os.path.basename(path).partition(".")[0])
        if not exists(stem + ".log"):
            if self._options.verify_index_only:
                self._note(f"{path}: there is no {os.path.basename(stem)}.log next to it to compare it with")
            return
        whole = java.absolute(path)
        try:
            with open_evidence(stem + ".log") as evidence:
                log = comparisons.Log(evidence)
                if entries.format.kind == "offset_index":
                    pairs = entries.rows(slots, ("offset", "position"))
                    self._complaints.mismatches(whole, comparisons.offset_mismatches(log, pairs))
                    return
                data = read_file(stem + ".index", INDEX_BYTES) if exists(stem + ".index") else b""
                offset_slots = comparisons.OffsetSlots(data, entries.base_offset)
                pairs = entries.rows(slots, ("timestamp", "offset"))
                self._complaints.times(whole, comparisons.time_complaints(log, offset_slots, pairs))
        except KidxError as e:
            self._note(str(e))

    def _log(self, file: InputFile, path: str, kind: str) -> Lines:
        from kidx.compat.dump_log_segments import logs

        if kind == LOG:
            yield logs.log_heading(base_offset_of(file.path, self._base_offset))
        else:
            yield logs.snapshot_heading(path)
        options = self._options
        with open_evidence(file.path) as evidence:
            end = min(evidence.size, options.max_bytes)
            log = logs.LogLines(evidence, end)
            if options.deep_iteration or options.print_data_log or options.decoder:
                gaps = _Gaps()
                contents = contents_of(options.decoder, options.print_data_log)
                metadata = not options.skip_record_metadata
                yield from log.records(metadata, contents, gaps.see)
                self._complaints.gaps(java.absolute(path), gaps.found)
            else:
                yield from log.batches()
            for why in log.damage:
                self._note(f"{path}: {why}")
            rest = end - (log.ending.position if log.ending else end)
            if rest and options.max_bytes == java.MAX_INT:
                yield _line(f"Found {rest} invalid bytes at the end of {os.path.basename(path)}")

    def _producers(self, file: InputFile) -> Lines:
        from kidx.compat.dump_log_segments.producer_snapshots import producer_lines

        lines, wrong = producer_lines(read_file(file.path))
        yield from lines
        if wrong:
            self._say(wrong, FINDINGS)

    def _say(self, text: str, status: int = CLEAN) -> None:
        self._messages.append(Message(text, of_the_tool=True))
        self.status = max(self.status, status)

    def _note(self, text: str) -> None:
        self._messages.append(Message(text, of_the_tool=False))
        self.status = UNREADABLE


class _Gaps:
    """Records whose offsets do not follow each other. A log that starts above 0 counts as a gap, too."""

    def __init__(self) -> None:
        self.last, self.found = -1, dict[int, int]()

    def see(self, offsets: Sequence[int] | npt.NDArray[np.int64]) -> None:
        import numpy as np

        here = np.asarray(offsets, np.int64)
        if not len(here):
            return
        before = np.concatenate(([self.last], here[:-1]))
        jumps = np.flatnonzero(here - 1 != before)
        self.found.update(zip(before[jumps].tolist(), here[jumps].tolist(), strict=True))
        self.last = int(here[-1])


def _line(text: str) -> bytes:
    return os.fsencode(text + "\n")
