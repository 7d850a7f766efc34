"""Look-ups in a segment or a partition as rows: an offset's record, the first record at a time."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from kidx.errors import UsageError
from kidx.evidence import is_directory
from kidx.exit_status import UNREADABLE
from kidx.formats.broker_versions import NEWEST, Version
from kidx.logdir.names import LOG, SEGMENT_SUFFIX, base_offset_of, parse_file_name
from kidx.logdir.tree import Partition, Segment
from kidx.lookup.partition import Listed, PartitionReader
from kidx.lookup.segment import NOT_FOUND, FoundBatch, SegmentReader, segment_of
from kidx.tables.table import BOOL, TEXT, TIMESTAMP, TREE, Column, Notes, Table

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


def read_table(
    path: str,
    offset: int,
    *,
    max_bytes: int | None = None,
    base_offset: int | None = None,
    isolation: str | None = None,
    page_bytes: int | None = None,
    remote: Sequence[str] = (),
) -> Table:
    """kidx.read.v1: one row, the batch and the record that a fetch from `offset` begins with.

    `path` is a segment's log or a partition's directory. `max_bytes` adds the slice that a fetch of that size gets,
    `isolation` (read_committed, read_uncommitted) whether a consumer sees the record, `page_bytes` the pages touched.
    `remote` are tiers that hold the older segments of a partition.
    Raises UsageError for a path that is neither, CannotRead.
    """
    return _LogLookup(path, base_offset, isolation, page_bytes, remote).read(offset, max_bytes)


def find_table(
    path: str,
    timestamp: int,
    *,
    start: int | None = None,
    base_offset: int | None = None,
    isolation: str | None = None,
    page_bytes: int | None = None,
    broker_version: Version = NEWEST,
    remote: Sequence[str] = (),
) -> Table:
    """kidx.find.v1: one row, the first record at or past a time, as a segment or as the broker's ListOffsets finds it.

    `timestamp` is ms since the epoch, or for a partition one of kidx.lookup.partition.SPECIAL, whose answer depends on
    `broker_version`; no record before the offset `start` counts. The other arguments and the errors are those of
    read_table.
    """
    return _LogLookup(path, base_offset, isolation, page_bytes, remote).find(timestamp, start, broker_version)


def _reader_of(directory: str, remote: Sequence[str]) -> PartitionReader:
    """The log of a directory; of the segments in tiers, too, and of a tier's own directory."""
    partition = Partition(directory)
    if not remote and not any(segment.tag for segment in partition.segments):
        return PartitionReader(partition)
    from kidx.tiered.log import open_tiered

    return open_tiered(directory, remote)


class _LogLookup:
    """One look-up in a segment (a .log file) or in a whole partition (a directory)."""

    def __init__(
        self,
        path: str,
        base_offset: int | None,
        isolation: str | None,
        page_bytes: int | None,
        remote: Sequence[str],
    ) -> None:
        """Raises UsageError for a path that is neither, CannotRead."""
        self._path, self._isolation, self._page_bytes = path, isolation, page_bytes
        self._notes = Notes()
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
        self._partition = _reader_of(directory, remote) if needs_partition else None

    def read(self, offset: int, max_bytes: int | None) -> Table:
        """See read_table."""
        segments, why = self._segments_of(offset)
        row = self._read_row(None, offset, NOT_FOUND, max_bytes, why)
        for segment in segments:
            with SegmentReader(segment) as reader:
                found = reader.translate_offset(offset)
                self._watch(reader)
                row = self._read_row(reader, offset, found, max_bytes, None)
            if found.batch is not None:
                break
        return Table("kidx.read.v1", _READ_COLUMNS, [row], notes=self._notes)

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
        shown = cut = None
        if reader is not None and batch is not None:
            shown = {"base_offset": found.base_offset, "last_offset": batch.last_offset}
            shown |= {"position": batch.position, "size": batch.size}
            cut = None if max_bytes is None else reader.slice(batch, max_bytes)._asdict()
        elif why is None:
            why = "no batch from there on reaches this offset"
        visible = None
        if self._isolation is not None and self._partition is not None:
            sees, segment = self._partition.visible, reader and reader.segment
            visible = bool(segment and batch and record and sees(segment, batch, record.offset, self._isolation))
        return (
            self._path, offset, reader and reader.base_offset, found.index_slot, found.index_position,
            found.bytes_walked, shown, record and {"offset": record.offset, "timestamp": record.timestamp}, visible,
            self._touched, cut, self._isolation, why,
        )  # fmt: skip

    def find(self, timestamp: int, start: int | None, broker_version: Version) -> Table:
        """See find_table."""
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
        answer = None
        if listed.found is not None:
            _, time, offset, epoch = listed.found
            answer = {"timestamp": time, "offset": offset, "leader_epoch": epoch}
        row = (self._path, timestamp, base, answer, listed.bytes_walked, self._touched, listed.why)
        return Table("kidx.find.v1", _FIND_COLUMNS, [row], notes=self._notes)

    def _watch(self, reader: SegmentReader) -> None:
        """Keep the pages that were touched, and note missing indexes and what a broker would fail on."""
        self._touched = None if self._page_bytes is None else reader.pages(self._page_bytes)
        for kind in reader.missing:
            missing = f"{reader.base_offset:020d}{SEGMENT_SUFFIX[kind]}"
            self._notes.add(f"{reader.log.path}: its {missing} is missing; walking without it")
        for trouble in reader.troubles:
            self._notes.add(trouble, UNREADABLE)
