"""Exporting partitions to files: one file a partition, or several of bounded size, or one for all; and the manifest."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from kidx.errors import KidxError, UsageError
from kidx.evidence import file_size
from kidx.execution import run_forked
from kidx.export.coverage import MANIFEST_SCHEMA, Coverage
from kidx.export.reading import Asked, Block, PartitionRecords
from kidx.export.sources import Source
from kidx.export.text_rows import TextColumns, string_array
from kidx.export.writers import Background, Encoder, NewFile, encoder, refusing, space_for
from kidx.logdir.names import LOG
from kidx.surgery.new_file import write_all
from kidx.tables.arrow_records import arrow, record_batch, record_schema
from kidx.text.json_text import json_text

if TYPE_CHECKING:
    import pyarrow as pa

STDOUT = "-"
_TEXT_BYTES_A_ROW = 400  # of JSON besides keys, values and headers
_PROGRESS_DIRECTORY = ".kidx-export"
_BYTES_COLUMNS = ("key", "value", "headers")

Progress = Callable[[int, int], None]


class Form(NamedTuple):
    """How records are written: one of writers.FORMATS, the columns (None: all), one of text_rows.ENCODINGS, and how
    large a file may become, None for no limit.
    """

    format: str = "jsonl"
    columns: tuple[str, ...] | None = None
    encoding: str = "utf8"
    file_bytes: int | None = None

    @property
    def is_text(self) -> bool:
        """Whether keys, values and headers become text."""
        return self.format in ("jsonl", "csv")


class RowMaker:
    """Blocks of records as Arrow batches in a form: for text, keys, values and headers are text already."""

    def __init__(self, form: Form, topics: Sequence[str]) -> None:
        pa = arrow()
        self._form, self._whole = form, record_schema(form.columns)
        self._text = TextColumns(form.encoding, quoted=form.format == "jsonl")
        self.raw = frozenset(n for n in self._whole.names if n in _BYTES_COLUMNS) if form.is_text else frozenset()
        self._plain = pa.schema([field for field in self._whole if field.name not in self.raw])
        self._topics = pa.array(topics, pa.string())
        self.schema = pa.schema([self._field(field) for field in self._whole])

    def _field(self, field: pa.Field) -> pa.Field:
        pa = arrow()
        is_word = pa.types.is_dictionary(field.type) and self._form.format == "csv"
        return pa.field(field.name, pa.string()) if field.name in self.raw or is_word else field

    def batch(self, block: Block, source: Source) -> pa.RecordBatch:
        """A block's records; the topic is numbered among those of all partitions, as a file of Arrow requires."""
        pa = arrow()
        columns, segment = block.columns, block.segment.base_offset
        plain = record_batch(columns, self._plain, topic=source.topic, partition=source.partition, segment=segment)
        arrays = []
        for field in self.schema:
            if field.name in self.raw:
                headers = field.name == "headers"
                text = self._text.headers(columns) if headers else self._text.text(getattr(columns, field.name))
                array = string_array(text)
            else:
                array = plain.column(field.name)
                if field.name == "topic" and source.topic is not None:
                    number = self._topics.index(source.topic).as_py()
                    array = pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(number, pa.int32()), len(columns)), self._topics)
            arrays.append(array if array.type == field.type else array.cast(field.type))
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    @property
    def not_utf8(self) -> int:
        """How many keys, values and header values were not UTF-8 so far."""
        return self._text.not_utf8


def export_to_file(
    sources: Sequence[Source], asked: Asked, form: Form, output: str, progress: Progress | None = None
) -> list[Coverage]:
    """Write the records of all partitions to one file, or to standard output (STDOUT). Returns what became of them."""
    maker = RowMaker(form, _topics(sources))
    if output == STDOUT:
        sys.stdout.flush()
        out = sys.stdout.buffer
        coverages = _write_all(sources, asked, maker, encoder(form.format, out, maker.schema, maker.raw, stream=True), progress)
        out.flush()
        return coverages
    file = NewFile(output)
    try:
        with refusing(output):
            made = encoder(form.format, file.out, maker.schema, maker.raw)
            coverages = _write_all(sources, asked, maker, made, progress)
        file.commit()
    except BaseException:
        file.discard()
        raise
    for coverage in coverages:
        if coverage.records:
            coverage.files.append(_file_entry(output, coverage.records, coverage.first_offset, coverage.last_offset))
    return coverages


def _write_all(
    sources: Sequence[Source], asked: Asked, maker: RowMaker, made: Encoder, progress: Progress | None
) -> list[Coverage]:
    coverages = []
    meter = _Meter(sources, progress)
    with Background(made.write) as background:
        for source in sources:
            records, before = PartitionRecords(source, asked), maker.not_utf8
            for block in records:
                background.put(maker.batch(block, source))
                records.coverage.count(block.columns)
                meter.at(block)
            records.coverage.not_utf8 = maker.not_utf8 - before
            coverages.append(records.coverage)
    made.close()
    return coverages


class _Meter:
    """Progress in bytes of logs."""

    def __init__(self, sources: Sequence[Source], progress: Progress | None) -> None:
        self._progress = progress
        self._starts: dict[str, int] = {}
        self._total = 0
        for file in (s.files[LOG] for source in sources for copy in source.copies[:1] for s in copy.segments):
            self._starts[file.path] = self._total
            with suppress(KidxError):
                self._total += file.size()

    def at(self, block: Block) -> None:
        """Report how far this block is."""
        start = self._starts.get(block.segment.files[LOG].path)
        if self._progress is not None and start is not None:
            self._progress(start + int(block.columns.window.end), self._total)


def _topics(sources: Sequence[Source]) -> list[str]:
    return list(dict.fromkeys(source.topic for source in sources if source.topic is not None))


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
    """Write each partition to files of its own in a directory, `jobs` partitions at a time.

    With `resume`, what an earlier run of the same request has finished stays, and the rest is done. Raises UsageError
    if the directory has an export already (without `resume`), or one of another request.
    """
    space_for(os.path.join(directory, _PROGRESS_DIRECTORY))
    request = {**asked._asdict(), **form._asdict()}
    stores = [_Store(directory, source, json_text(request | {"key": repr(asked.key), "key_sha256": repr(asked.key_sha256)})) for source in sources]
    for store in stores:
        store.must_allow(resume)

    def one(number: int) -> Coverage:
        meter = _Meter([sources[number]], progress if len(sources) == 1 else None)
        return _export_partition(sources[number], asked, form, directory, stores[number], meter)

    done: dict[int, Coverage] = {}
    for number, coverage in run_forked(one, range(len(sources)), jobs):
        done[number] = coverage
        if progress is not None and len(sources) > 1:
            progress(len(done), len(sources))
    return [done[number] for number in sorted(done)]


class _Store:
    """What is finished of one partition: a small JSON file, replaced after each file of the export."""

    def __init__(self, directory: str, source: Source, request: str) -> None:
        self.path = os.path.join(directory, _PROGRESS_DIRECTORY, f"{source.name}.json")
        self.request = request
        self.complete, self.coverage = False, None
        try:
            with open(self.path, encoding="utf-8") as file:
                known = json.load(file)
            self.known_request: str | None = known["request"]
            self.complete = known["complete"]
            self.coverage = Coverage(**known["coverage"])
        except FileNotFoundError:
            self.known_request = None
        except (ValueError, KeyError, TypeError):
            raise UsageError(f"{self.path}: not a note about an export; remove it, or name another directory") from None

    def must_allow(self, resume: bool) -> None:
        """Raises UsageError where an export exists and is not to be resumed, or is another one."""
        if self.known_request is None:
            return
        directory = os.path.dirname(os.path.dirname(self.path))
        if not resume:
            raise UsageError(f"{directory}: an export is there already; --resume continues it, or name another directory")
        if self.known_request != self.request:
            raise UsageError(f"{directory}: the export that is there was asked for with other options; name another directory")

    def save(self, coverage: Coverage, *, complete: bool) -> None:
        """Note what is finished."""
        note = {"request": self.request, "complete": complete, "coverage": coverage.as_row()}
        partial = self.path + ".partial"
        with refusing(self.path):
            with open(partial, "w", encoding="utf-8") as file:
                file.write(json_text(note))
                file.flush()
                os.fsync(file.fileno())
            os.replace(partial, self.path)


def _export_partition(
    source: Source, asked: Asked, form: Form, directory: str, store: _Store, meter: _Meter
) -> Coverage:
    if store.complete and store.coverage is not None:
        return store.coverage
    records, maker = PartitionRecords(source, asked), RowMaker(form, _topics([source]))
    coverage, known_not_utf8 = records.coverage, 0
    if store.coverage is not None and store.coverage.last_offset is not None:
        coverage = store.coverage
        known_not_utf8 = coverage.not_utf8
        records = PartitionRecords(source, asked._replace(offsets=(coverage.last_offset + 1, asked.offsets[1])), coverage)
    files = _Files(directory, source, form, maker)
    try:
        with Background(files.encode) as background:
            for block in records:
                files.open_for(int(block.columns.offset[0]))
                background.put(files.take(maker.batch(block, source)))
                coverage.count(block.columns)
                coverage.not_utf8 = known_not_utf8 + maker.not_utf8
                files.last_offset = int(block.columns.offset[-1])
                meter.at(block)
                if files.nearly_full:
                    background.wait()
                    if files.full:
                        coverage.files.append(files.finish())
                        store.save(coverage, complete=False)
        if files.is_open:
            coverage.files.append(files.finish())
    except BaseException:
        files.discard()
        raise
    store.save(coverage, complete=True)
    return coverage


class _Files:
    """The files of one partition, one after another. `last_offset` is that of the last record taken."""

    def __init__(self, directory: str, source: Source, form: Form, maker: RowMaker) -> None:
        self._directory, self._source, self._form, self._maker = directory, source, form, maker
        self._file: NewFile | None = None
        self._encoder: Encoder | None = None
        self._written = self._waiting = self._largest = self._rows = self._first = 0
        self.last_offset = 0

    @property
    def is_open(self) -> bool:
        """Whether a file is being written."""
        return self._file is not None

    def open_for(self, offset: int) -> None:
        """Begin a file with the record at `offset`, unless one is open."""
        if self._file is not None:
            return
        first = "" if self._form.file_bytes is None else f".{offset:020}"
        self._file = NewFile(os.path.join(self._directory, f"{self._source.name}{first}.{self._form.format}"))
        with refusing(self._file.path):
            self._encoder = encoder(self._form.format, self._file.out, self._maker.schema, self._maker.raw)
        self._written = self._waiting = self._rows = 0
        self._first = offset

    def take(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Count a batch that goes to the open file."""
        size = batch.nbytes + len(batch) * (_TEXT_BYTES_A_ROW if self._form.is_text else 0)
        self._waiting += size
        self._largest = max(self._largest, size)
        self._rows += len(batch)
        return batch

    def encode(self, batch: pa.RecordBatch) -> None:
        """Write a batch: in the second thread."""
        assert self._encoder is not None and self._file is not None
        with refusing(self._file.path):
            self._encoder.write(batch)

    @property
    def nearly_full(self) -> bool:
        """Whether the next batch may be too much, as far as is known while batches wait to be written."""
        return self._form.file_bytes is not None and self._written + self._waiting + self._largest > self._form.file_bytes

    @property
    def full(self) -> bool:
        """Whether the next batch may be too much, once no batch waits."""
        assert self._file is not None and self._encoder is not None
        self._written, self._waiting = self._file.out.tell(), self._encoder.held_bytes
        return self.nearly_full

    def finish(self) -> dict[str, Any]:
        """Complete the open file; its entry of the manifest."""
        assert self._file is not None and self._encoder is not None
        with refusing(self._file.path):
            self._encoder.close()
        self._file.commit()
        entry = _file_entry(self._file.path, self._rows, self._first, self.last_offset)
        self._file = self._encoder = None
        return entry

    def discard(self) -> None:
        """Remove the file that is not complete."""
        if self._file is not None:
            self._file.discard()


def _file_entry(path: str, records: int, first: int | None, last: int | None) -> dict[str, Any]:
    return {"file": path, "bytes": file_size(path), "records": records, "first_offset": first, "last_offset": last}


def write_manifest(path: str, coverages: Sequence[Coverage], status: int) -> None:
    """Write kidx.export_manifest.v1: a new file."""
    manifest = {
        "schema": MANIFEST_SCHEMA,
        "status": status,
        "partitions": [coverage.as_row() for coverage in coverages],
    }
    file = NewFile(path)
    with refusing(path):
        write_all(file.out.fileno(), json_text(manifest).encode("utf-8", "backslashreplace") + b"\n")
    file.commit()


def is_directory_output(output: str) -> bool:
    """Whether an output is a directory: it exists as one, ends in a slash, or has no suffix."""
    if output == STDOUT:
        return False
    return output.endswith("/") or os.path.isdir(output) or not os.path.splitext(output)[1]
