"""The rows of `kidx lookup` on a segment or a partition."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from kidx.cli import complain, exit_status
from kidx.errors import UsageError
from kidx.evidence import is_directory
from kidx.formats.broker_versions import NEWEST, Version
from kidx.logdir.names import LOG, SEGMENT_SUFFIX, base_offset_of, parse_file_name
from kidx.logdir.tree import Partition, Segment
from kidx.lookup.partition import SPECIAL, Listed, PartitionReader
from kidx.lookup.segment import NOT_FOUND, FoundBatch, SegmentReader, segment_of
from kidx.tables.table import BOOL, TEXT, TIMESTAMP, TREE, Column, Table
from kidx.tables.targets import timestamp_ms

_READ_COLUMNS = (
    Column("file", TEXT),
    Column("target"),
    Column("segment"),
    Column("index_slot"),
    Column("index_position", unit="bytes"),
    Column("bytes_walked", unit="bytes"),
    Column("batch", TREE),
    Column("record", TREE),
    Column("visible", BOOL),
    Column("pages", TREE),
    Column("slice", TREE),
    Column("isolation", TEXT),
    Column("why", TEXT),
)
_FIND_COLUMNS = (
    Column("file", TEXT),
    Column("target", TIMESTAMP),
    Column("segment"),
    Column("found", TREE),
    Column("bytes_walked", unit="bytes"),
    Column("pages", TREE),
    Column("why", TEXT),
)


def look_up_log(
    path: str,
    *,
    offset: int | None,
    timestamp: str | None,
    start: int | None,
    max_bytes: int | None,
    targets: Sequence[str],
    base_offset: int | None,
    isolation: str | None,
    trace_pages: bool,
    page_size: int,
    broker_version: Version,
    **_: Any,
) -> tuple[Table, int]:
    """One row of kidx.read.v1 or kidx.find.v1, and the exit status. Raises UsageError, CannotRead."""
    if targets or (offset is not None and timestamp is not None):
        raise UsageError(f"{path}: a log is asked one thing: --offset or --timestamp, without targets")
    if offset is None and max_bytes is not None:
        raise UsageError("--max-bytes belongs to --offset: it cuts the slice that a fetch from there gets")
    if timestamp is None and start is not None:
        raise UsageError("--start belongs to --timestamp; a read starts at --offset")
    question = LogLookup(path, base_offset, isolation=isolation, page_bytes=page_size if trace_pages else None)
    if offset is not None:
        return question.read(offset, max_bytes), question.status
    asked = timestamp or ""
    time = SPECIAL[asked] if asked in SPECIAL else timestamp_ms(asked)
    return question.find(time, start, broker_version), question.status


class LogLookup:
    """One question to a segment (a .log file) or to a whole partition (a directory).

    `status` is the exit status once the table is made.
    """

    def __init__(self, path: str, base_offset: int | None, *, isolation: str | None, page_bytes: int | None) -> None:
        """Raises UsageError for a path that is neither, CannotRead."""
        self._path, self._isolation, self._page_bytes = path, isolation, page_bytes
        self.status = exit_status.CLEAN
        self._touched: dict[str, list[int]] | None = None
        self._segment: Segment | None = None
        directory = path
        if not is_directory(path):
            name = parse_file_name(path)
            if name is None or name.kind != LOG:
                raise UsageError(f"{path}: --offset and --timestamp want a .log file or a partition's directory")
            self._segment = segment_of(path, name, base_offset_of(path, base_offset))
            directory = os.path.dirname(path)
        needs_partition = self._segment is None or isolation is not None
        self._partition = PartitionReader(Partition(directory)) if needs_partition else None

    def read(self, offset: int, max_bytes: int | None) -> Table:
        """kidx.read.v1: the batch and the record that a fetch from `offset` begins with."""
        segments, why = self._segments_of(offset)
        row = self._read_row(None, offset, NOT_FOUND, max_bytes, why)
        for segment in segments:
            with SegmentReader(segment) as reader:
                found = reader.translate_offset(offset)
                self._watch(reader)
                row = self._read_row(reader, offset, found, max_bytes, None)
            if found.batch is not None:
                break
        return Table("kidx.read.v1", _READ_COLUMNS, [row])

    def _segments_of(self, offset: int) -> tuple[Sequence[Segment], str | None]:
        """The segments to look in, one after another, or why a broker looks in none."""
        if self._segment is not None:
            return [self._segment], None
        assert self._partition is not None
        why = self._partition.out_of_range(offset)
        return ([], why) if why else (self._partition.segments_from(self._partition.segment_for(offset)), None)

    def _read_row(
        self, reader: SegmentReader | None, offset: int, found: FoundBatch, max_bytes: int | None, why: str | None
    ) -> Sequence[Any]:
        batch, record = found.batch, found.record
        said = cut = None
        if reader is not None and batch is not None:
            said = {"base_offset": found.base_offset, "last_offset": batch.last_offset}
            said |= {"position": batch.position, "size": batch.size}
            cut = None if max_bytes is None else reader.slice(batch, max_bytes)._asdict()
        elif why is None:
            why = "no batch from there on reaches this offset"
        visible = None
        if self._isolation is not None and self._partition is not None:
            sees, segment = self._partition.visible, reader and reader.segment
            visible = bool(segment and batch and record and sees(segment, batch, record.offset, self._isolation))
        return (
            self._path, offset, reader and reader.base_offset, found.index_slot, found.index_position,
            found.bytes_walked, said, record and {"offset": record.offset, "timestamp": record.timestamp}, visible,
            self._touched, cut, self._isolation, why,
        )  # fmt: skip

    def find(self, timestamp: int, start: int | None, broker_version: Version = NEWEST) -> Table:
        """kidx.find.v1: the first record at or past a time, as a segment or as the broker's ListOffsets finds it."""
        if self._segment is None:
            assert self._partition is not None
            listed = self._partition.list_offsets(timestamp, start, self._isolation, self._watch, broker_version)
        elif timestamp < 0:
            raise UsageError(f"{self._path}: {timestamp} is no time, but asks a partition; give its directory")
        else:
            with SegmentReader(self._segment) as reader:
                found = reader.find_by_timestamp(timestamp, self._segment.base_offset if start is None else start)
                self._watch(reader)
            missed = found.offset is None
            why = "no record of the segment has a timestamp so late" if missed else None
            listed = Listed(self._segment, None if missed else found, found.bytes_walked, why)
        base = listed.segment and listed.segment.base_offset
        said = None
        if listed.found is not None:
            _, time, offset, epoch = listed.found
            said = {"timestamp": time, "offset": offset, "leader_epoch": epoch}
        row = (self._path, timestamp, base, said, listed.bytes_walked, self._touched, listed.why)
        return Table("kidx.find.v1", _FIND_COLUMNS, [row])

    def _watch(self, reader: SegmentReader) -> None:
        """Keep the pages that were touched, and say what a broker would stumble over."""
        self._touched = None if self._page_bytes is None else reader.pages(self._page_bytes)
        for kind in reader.missing:
            missing = f"{reader.base_offset:020d}{SEGMENT_SUFFIX[kind]}"
            complain(f"{reader.log.path}: its {missing} is missing; walking without it")
        for trouble in reader.troubles:
            complain(trouble)
            self.status = exit_status.UNREADABLE
