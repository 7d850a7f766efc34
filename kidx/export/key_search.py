"""Whether records with a key are still in any file, and when they go: for requests to erase.

Every file is searched, in whatever state (.deleted, .cleaned, .swap, renamed directories, copies in a tier), and every
copy counts. Source of what removes a record: UnifiedLog.deleteOldSegments, Cleaner.shouldRetainRecord, LogLoader.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from kidx.errors import CannotRead, KidxError
from kidx.exit_status import FINDINGS, UNREADABLE
from kidx.export.sources import Copy, Source
from kidx.logdir.cluster import Cluster
from kidx.logdir.log_dir import CLEANED_TO, LogDir
from kidx.logdir.names import LOG
from kidx.logdir.tree import Partition, Segment
from kidx.segments.column_reader import LogIndexes, Wanted, read_columns
from kidx.segments.sought_key import SoughtKey
from kidx.segments.walk import PREALLOCATED
from kidx.state.metadata import cluster_of
from kidx.tables.table import INT, TEXT, TIMESTAMP, Column, Notes, Table
from kidx.text.quantities import iso_time

SCHEMA = "kidx.key_count.v1"
_DEFAULT_RETENTION_MS = 7 * 24 * 3600 * 1000  # log.retention.hours
_DEFAULT_TOMBSTONE_MS = 24 * 3600 * 1000  # delete.retention.ms
_COLUMNS = [
    Column("topic", TEXT),
    Column("partition"),
    Column("file", TEXT),
    Column("state", TEXT),
    Column("records", INT, "records"),
    Column("tombstones", INT, "records"),
    Column("first_offset"),
    Column("last_offset"),
    Column("last_timestamp", TIMESTAMP, "ms"),
    Column("goes", TEXT),
]
_TIERED = "tiered"
_STATES = {
    ".deleted": "when the broker deletes the file: file.delete.delay.ms after it was renamed, or at its next start",
    ".cleaned": "at the broker's next start: an interrupted cleaning",
    ".swap": "it becomes a live segment at the broker's next start",
    _TIERED: "when the remote segment is deleted by retention",
}


class Found(NamedTuple):
    """Records with the key in one file."""

    segment: Segment
    records: int
    tombstones: int
    first_offset: int
    last_offset: int
    last_timestamp: int
    last_is_tombstone: bool
    largest_timestamp: int


def key_table(sources: Iterable[Source], unread: Iterable[CannotRead], key: SoughtKey) -> Table:
    """kidx.key_count.v1: a row for each file with records that have a key.

    The table's status is 0 where there is none, 1 where there are some, 3 where something could not be read: a batch
    that cannot be decoded whole may have the key.
    """
    notes = Notes()
    for e in unread:
        notes.add(str(e), UNREADABLE)
    return Table(SCHEMA, _COLUMNS, _rows(sources, key, notes), notes=notes)


def _rows(sources: Iterable[Source], key: SoughtKey, notes: Notes) -> Iterator[tuple[Any, ...]]:
    for source in sources:
        for copy in source.copies:
            found = [f for s in copy.segments if (f := _search(s, key, notes)) is not None]
            fate = _Fate(source, copy, found)
            for each in found:
                notes.status = max(notes.status, FINDINGS)
                numbers = each.records, each.tombstones, each.first_offset, each.last_offset, each.last_timestamp
                path = each.segment.files[LOG].path
                state = copy.state or (_TIERED if each.segment.tag else None)
                yield source.topic, source.partition, path, state, *numbers, fate.of(each, state)


def _search(segment: Segment, key: SoughtKey, notes: Notes) -> Found | None:
    file = segment.files[LOG]
    records = tombstones = 0
    first, last = -1, (-1, -1, False)
    largest = -1
    try:
        with file.open() as log:
            reader = read_columns(log, LogIndexes.next_to(file.path), Wanted(damaged=True))
            for columns in reader:
                largest = max(largest, int(columns.timestamp.max()))
                columns = columns.where(key.among(columns.key))
                if not len(columns):
                    continue
                absent = columns.value.length < 0
                first = int(columns.offset[0]) if first < 0 else first
                last = int(columns.offset[-1]), int(columns.timestamp[-1]), bool(absent[-1])
                records += len(columns)
                tombstones += int(absent.sum())
    except KidxError as e:
        notes.add(str(e), UNREADABLE)
        return None
    for damage in reader.damage:
        if damage.kind != PREALLOCATED:
            where = f"{file.path}: bytes {damage.start} to {damage.end - 1}"
            notes.add(f"{where} cannot be decoded whole and may have the key: {damage.why}", UNREADABLE)
    return Found(segment, records, tombstones, first, *last, largest) if records else None


class _Fate:
    """When the records of one copy go, as far as its files and the cluster's metadata tell."""

    def __init__(self, source: Source, copy: Copy, found: Sequence[Found]) -> None:
        self._source, self._copy = source, copy
        self._last = max((f.last_offset for f in found), default=-1)

    @cached_property
    def _log_dir(self) -> LogDir:
        return LogDir(Partition(self._copy.directory).log_dir)

    @cached_property
    def _cluster(self) -> Cluster:
        return cluster_of([self._log_dir])

    def _setting(self, name: str) -> str | None:
        if self._source.topic is None:
            return None
        setting = self._cluster.setting(self._source.topic, name, self._log_dir.identity.node_id)
        return None if setting is None else setting.value

    @cached_property
    def _policy(self) -> str | None:
        """The topic's cleanup.policy; None if no file tells."""
        return self._setting("cleanup.policy") or ("compact" if self._cleaned_to is not None else None)

    @cached_property
    def _cleaned_to(self) -> int | None:
        """The offset up to which the partition is clean; None if the log cleaner does not know it."""
        try:
            offsets = self._log_dir.checkpoint(CLEANED_TO).offsets
        except KidxError:
            return None
        return offsets.get((self._source.topic or "", self._source.partition or 0))

    def of(self, found: Found, state: str | None) -> str:
        """When the records found in a file go."""
        if state is not None:
            return _STATES[state]
        active = found.segment is self._copy.segments[-1]
        compaction, retention = (by(found, active=active) for by in (self._by_compaction, self._by_retention))
        if self._policy is None:
            return f"cleanup.policy is not in these files. delete: {retention}. compact: {compaction}"
        parts = [text for word, text in (("compact", compaction), ("delete", retention)) if word in self._policy]
        return "; ".join(parts)

    def _by_compaction(self, found: Found, *, active: bool) -> str:
        when = "the next compaction after this segment is rolled" if active else "the next compaction of this segment"
        if found.last_offset < self._last:
            return f"{when}: offset {self._last} has the same key"
        older = f"{when} removes all but offset {self._last}; " if found.records > 1 else ""
        if found.last_is_tombstone:
            delay = self._setting("delete.retention.ms") or str(_DEFAULT_TOMBSTONE_MS)
            return f"{older}offset {self._last}, a tombstone, goes delete.retention.ms={delay} after a compaction"
        return f"{older}offset {self._last} stays until a later record has its key: write a tombstone"

    def _by_retention(self, found: Found, *, active: bool) -> str:
        value = self._setting("retention.ms")
        if value == "-1":
            return "retention.ms=-1: not by time"
        known = value is not None and value.isdigit()
        duration = int(value) if known and value is not None else _DEFAULT_RETENTION_MS
        source = f"retention.ms={duration}" + ("" if known else " (the default)")
        due = "" if found.largest_timestamp < 0 else f" at {iso_time(found.largest_timestamp + duration)}"
        rolled = ", once the segment is rolled" if active else ""
        return f"{source}: with its segment{due}{rolled}"
