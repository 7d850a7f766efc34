"""What takes the disk: bytes of logs, indexes and other files by topic, partition, segment, state or broker."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from kidx.errors import CannotRead, KidxError
from kidx.evidence import Entry, absolute, is_directory, is_uri, list_directory, must_exist
from kidx.formats.object_names import parse_object_name
from kidx.logdir.log_dir import LogDir
from kidx.logdir.names import INDEX_OF_KIND, LOG, FileName, PartitionName, parse_file_name, parse_partition_name
from kidx.logdir.tree import Listing, walk_tree
from kidx.tables.table import TEXT, Column, Notes, Table
from kidx.tiered.objects import place_of

GROUPS = ("topic", "partition", "segment", "state", "broker")
LIVE, REMOTE = "live", "remote"

_COLUMNS = (
    Column("by", TEXT),
    Column("topic", TEXT),
    Column("partition"),
    Column("directory", TEXT),
    Column("state", TEXT),
    Column("segments"),
    Column("log_bytes", unit="bytes"),
    Column("index_bytes", unit="bytes"),
    Column("other_bytes", unit="bytes"),
    Column("bytes", unit="bytes"),
    Column("segment"),
    Column("broker"),
    Column("disk_bytes", unit="bytes"),
    Column("share"),
    Column("running_share"),
)
_IN_PARTITIONS = {LOG, *INDEX_OF_KIND, "producer_snapshot", "metadata_snapshot", "leader_epochs", "partition_metadata"}
_BLOCK_BYTES = 512  # the unit of st_blocks, whatever the file system's


class _Owner(NamedTuple):
    """What a file belongs to. `directory` is the partition's, or for other files the one that they are in."""

    directory: str
    name: PartitionName | None
    log_dir: str


class _Sizes:
    """The sums of one row."""

    __slots__ = ("disk_bytes", "index_bytes", "log_bytes", "other_bytes", "segments")

    def __init__(self) -> None:
        self.segments = self.log_bytes = self.index_bytes = self.other_bytes = 0
        self.disk_bytes: int | None = 0

    def add(self, name: FileName | None, size: int, blocks: int | None) -> None:
        if name is not None and name.kind == LOG:
            self.segments += 1
            self.log_bytes += size
        elif name is not None and name.kind in INDEX_OF_KIND:
            self.index_bytes += size
        else:
            self.other_bytes += size
        self.disk_bytes = None if self.disk_bytes is None or blocks is None else self.disk_bytes + blocks * _BLOCK_BYTES

    @property
    def bytes(self) -> int:
        return self.log_bytes + self.index_bytes + self.other_bytes


class _Key(NamedTuple):
    """What the files of one row have in common; None where they differ or have no such thing."""

    topic: str | None = None
    partition: int | None = None
    directory: str | None = None
    state: str | None = None
    segment: int | None = None
    broker: int | None = None


def size_table(paths: Sequence[str], by: str) -> Table:
    """kidx.size.v1: the bytes of every file at or below the paths, largest first. `by` is one of GROUPS.

    Sizes are lengths, as `du --apparent-size` adds them up: a file with several names counts once, links are not
    followed. `disk_bytes` are the allocated ones, fewer where files have holes (preallocated indexes); absent for
    remote files. A `segment` counts by its log. Files that belong to no partition have no topic; with "partition"
    and "segment" they are summed up by directory. What cannot be read becomes a note.
    """
    notes = Notes()
    sums: dict[_Key, _Sizes] = {}
    brokers = _Brokers()
    seen: set[object] = set()
    for owner, entry in _files(paths, notes):
        name = parse_file_name(entry.name)
        try:
            status = entry.stat(follow_symlinks=False)
        except KidxError as e:
            notes.add(str(e), e.exit_status)
            continue
        identity = entry.path if is_uri(entry.path) else (status.st_dev, status.st_ino)
        if identity in seen:
            continue
        seen.add(identity)
        key = _key(by, owner, name, brokers)
        sums.setdefault(key, _Sizes()).add(name, status.st_size, getattr(status, "st_blocks", None))
    return Table("kidx.size.v1", _COLUMNS, _rows(by, sums), notes=notes)


def _rows(by: str, sums: dict[_Key, _Sizes]) -> Iterator[Sequence[Any]]:
    total = sum(s.bytes for s in sums.values()) or 1
    running = 0
    for key, s in sorted(sums.items(), key=lambda item: (-item[1].bytes, [str(part) for part in item[0]])):
        running += s.bytes
        yield (
            by, key.topic, key.partition, key.directory, key.state,
            s.segments, s.log_bytes, s.index_bytes, s.other_bytes, s.bytes,
            key.segment, key.broker, s.disk_bytes, round(s.bytes / total, 4), round(running / total, 4),
        )  # fmt: skip


def _key(by: str, owner: _Owner, file: FileName | None, brokers: _Brokers) -> _Key:
    """The row that a file counts in."""
    if by == "broker":
        broker = brokers.of(owner.log_dir)
        return _Key(directory=owner.log_dir if broker is None else None, broker=broker)
    if by == "state":
        return _Key(state=_state(owner, file))
    if owner.name is None:
        return _Key(directory=None if by == "topic" else owner.directory)
    if by == "topic":
        return _Key(topic=owner.name.topic)
    whole = _Key(owner.name.topic, owner.name.partition, owner.directory, owner.name.state or LIVE)
    if by == "partition":
        return whole
    return whole._replace(segment=file.base_offset if file else None, state=_state(owner, file))


def _state(owner: _Owner, file: FileName | None) -> str:
    """A file's own state (deleted, cleaned, swap), else its directory's (delete, future, stray, remote), else live."""
    if file is not None and file.state:
        return file.state.removeprefix(".")
    return (owner.name.state if owner.name else "") or LIVE


class _Brokers:
    """Which broker a log dir belongs to, by its meta.properties, each read once."""

    def __init__(self) -> None:
        self._by_directory: dict[str, int | None] = {}

    def of(self, log_dir: str) -> int | None:
        if log_dir not in self._by_directory:
            try:
                node_id = LogDir(log_dir).identity.node_id
            except KidxError:
                node_id = None
            self._by_directory[log_dir] = node_id
        return self._by_directory[log_dir]


def _files(paths: Sequence[str], notes: Notes) -> Iterator[tuple[_Owner, Entry]]:
    """Every regular file at or below the paths, with what it belongs to."""
    for path in paths:
        for found in _listings(path):
            if isinstance(found, CannotRead):
                notes.add(str(found), found.exit_status)
                continue
            owner = _owner(found)
            yield from ((owner, entry) for entry in found.entries if entry.is_file(follow_symlinks=False))


def _listings(path: str) -> Iterator[Listing | CannotRead]:
    """The directories at or below a path; for a file its directory with this entry alone."""
    try:
        must_exist(path)
        if is_directory(path):
            yield from walk_tree(path)
            return
        above, name = os.path.split(path)
        yield Listing(above, [entry for entry in list_directory(above or ".") if entry.name == name])
    except CannotRead as e:
        yield e


def _owner(listing: Listing) -> _Owner:
    """A partition if the directory has a partition's name and files of one, or none; else the directory itself."""
    if any(parse_object_name(entry.name) for entry in listing.entries) and (place := place_of(listing.directory)):
        return _Owner(listing.directory, PartitionName(place.topic, place.partition, REMOTE), listing.directory)
    here = absolute(listing.directory)
    name = parse_partition_name(here)
    known = [file for entry in listing.entries if (file := parse_file_name(entry.name))]
    if name is not None and (not listing.entries or any(file.kind in _IN_PARTITIONS for file in known)):
        return _Owner(listing.directory, name, os.path.dirname(listing.directory.rstrip("/")) or ".")
    return _Owner(listing.directory, None, listing.directory)
