"""Exporting partitions: each to files of its own in a directory, or all to one file; and the manifest."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import IO, Any, cast

from kidx.errors import KidxError, UsageError
from kidx.execution import run_forked
from kidx.export.coverage import MANIFEST_SCHEMA, Coverage
from kidx.export.output_files import FinishedWork, PartitionFiles, file_entry
from kidx.export.reading import Asked, Block, PartitionRecords
from kidx.export.rows import Form, RowMaker
from kidx.export.sources import Source
from kidx.export.writers import Background, NewFile, encoder, refusing
from kidx.logdir.names import LOG
from kidx.surgery.new_file import write_all
from kidx.text.json_text import json_text
from kidx.text.output import write_bytes

STDOUT = "-"
Progress = Callable[[int, int], None]


def is_directory_output(output: str) -> bool:
    """Whether an output is a directory: it exists as one, ends in a slash, or has no suffix."""
    if output == STDOUT:
        return False
    return output.endswith("/") or os.path.isdir(output) or not os.path.splitext(output)[1]


def export_to_file(
    sources: Sequence[Source], asked: Asked, form: Form, output: str, progress: Progress | None = None
) -> list[Coverage]:
    """Write the records of all partitions to a new file or to STDOUT. Returns what became of them."""
    if output == STDOUT:
        sys.stdout.flush()
        if not sys.stdout.isatty():
            return _write(sources, asked, form, sys.stdout.buffer, progress, stream=True)
        if not form.is_text:
            raise UsageError(f"{form.format} is not for a terminal; give an --output, or a pipe")
        return _write(sources, asked, form, cast("IO[bytes]", _Terminal()), None, stream=True)
    file = NewFile(output)
    try:
        with refusing(output):
            coverages = _write(sources, asked, form, file.out, progress)
        file.commit()
    except BaseException:
        file.discard()
        raise
    for coverage in coverages:
        if coverage.records:
            coverage.files.append(file_entry(output, coverage.records, coverage.first_offset, coverage.last_offset))
    return coverages


def _write(
    sources: Sequence[Source],
    asked: Asked,
    form: Form,
    out: IO[bytes],
    progress: Progress | None,
    *,
    stream: bool = False,
) -> list[Coverage]:
    maker, meter = RowMaker(form, _topics(sources)), _Meter(sources, progress)
    writer = encoder(form.format, out, maker.schema, maker.json, stream=stream)
    coverages = []
    try:
        with Background(writer.write) as background:
            for source in sources:
                records, before = PartitionRecords(source, asked), maker.not_utf8
                for block in records:
                    background.put(maker.batch(block, source))
                    records.coverage.count(block.columns)
                    meter.at(block)
                records.coverage.not_utf8 = maker.not_utf8 - before
                records.coverage.decoded = maker.decoded
                coverages.append(records.coverage)
        writer.close()
    except BaseException:
        writer.abandon()
        raise
    out.flush()
    return coverages


def export_to_directory(
    sources: Sequence[Source],
    asked: Asked,
    form: Form,
    directory: str,
    *,
    jobs: int = 1,
    resume: bool = False,
    progress: Progress | None = None,
) -> list[Coverage]:
    """Write each partition to new files in a directory, `jobs` partitions at a time. Returns what became of them.

    With `resume`, what an earlier run of the same request has finished stays, and the rest is done. Raises UsageError
    where an export exists already and is not to be resumed, or is of another request.
    """
    with refusing(directory):
        os.makedirs(directory, exist_ok=True)
    finished = [FinishedWork(directory, source, asked, form) for source in sources]
    for work in finished:
        work.must_allow(resume=resume)

    def one(number: int) -> Coverage:
        meter = _Meter([sources[number]], progress if len(sources) == 1 else None)
        return _export_partition(sources[number], asked, form, directory, finished[number], meter)

    done: dict[int, Coverage] = {}
    for number, coverage in run_forked(one, range(len(sources)), jobs):
        done[number] = coverage
        if progress is not None and len(sources) > 1:
            progress(len(done), len(sources))
    return [done[number] for number in sorted(done)]


def _export_partition(
    source: Source, asked: Asked, form: Form, directory: str, finished: FinishedWork, meter: _Meter
) -> Coverage:
    coverage = finished.coverage
    if finished.complete and coverage is not None:
        return coverage
    resumed = coverage is not None  # a note is written before the first file
    if coverage is not None and coverage.last_offset is not None:
        asked = asked._replace(offsets=(coverage.last_offset + 1, asked.offsets[1]))
    records, maker = PartitionRecords(source, asked, coverage), RowMaker(form, _topics([source]))
    coverage = records.coverage
    not_utf8 = coverage.not_utf8
    finished.save(coverage, complete=False)
    files = PartitionFiles(directory, source, form, maker, replace=resumed)
    try:
        with Background(files.encode) as background:
            for block in records:
                for part, first, last in files.parts(maker.batch(block, source), block.columns.offset):
                    background.put(files.take(part, first, last))
                    if files.nearly_full:
                        background.wait()
                        files.finish_if_full()
                coverage.count(block.columns)
                coverage.not_utf8 = not_utf8 + maker.not_utf8
                coverage.decoded = maker.decoded
                meter.at(block)
                if files.finished:  # the account is exact between blocks only, so a file ends here, too
                    background.wait()
                    coverage.files += files.finish()
                    finished.save(coverage, complete=False)
        coverage.files += files.finish()
    except BaseException:
        files.discard()
        raise
    finished.save(coverage, complete=True)
    return coverage


def write_manifest(path: str, coverages: Sequence[Coverage], unread: Sequence[str], status: int) -> None:
    """Write a new file kidx.export_manifest.v1. `unread` are sentences about what could not be listed."""
    partitions = [coverage.as_row() for coverage in coverages]
    manifest = {"schema": MANIFEST_SCHEMA, "status": status, "unread": list(unread), "partitions": partitions}
    file = NewFile(path)
    try:
        with refusing(path):
            write_all(file.out.fileno(), json_text(manifest).encode("utf-8", "backslashreplace") + b"\n")
        file.commit()
    except BaseException:
        file.discard()
        raise


class _Terminal(io.RawIOBase):
    """Standard output where it is a terminal: control characters are escaped."""

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        write_bytes(sys.stdout, [bytes(data)])
        return len(data)


def _topics(sources: Sequence[Source]) -> list[str]:
    return list(dict.fromkeys(source.topic for source in sources if source.topic is not None))


class _Meter:
    """Progress in bytes of the logs that are read first."""

    def __init__(self, sources: Sequence[Source], progress: Progress | None) -> None:
        self._progress = progress
        self._starts: dict[str, int] = {}
        self._total = 0
        if progress is None:
            return
        for file in (s.files[LOG] for source in sources for copy in source.copies[:1] for s in copy.segments):
            self._starts[file.path] = self._total
            with suppress(KidxError):
                self._total += file.size()

    def at(self, block: Block) -> None:
        """Report how far this block is."""
        start = self._starts.get(block.segment.files[LOG].path)
        if self._progress is not None and start is not None:
            self._progress(start + int(block.columns.window.end), self._total)
