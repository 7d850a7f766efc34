"""Segments, partitions and the files a path argument stands for, found by names alone.

Like Kafka's LazyIndex, a segment has its files' paths and opens none: listing 10,000 segments opens no file.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from typing import NamedTuple

from kidx.errors import CannotRead
from kidx.evidence import Entry, Evidence, absolute, exists, file_size, is_uri, list_directory, open_evidence
from kidx.logdir.names import (
    LOG,
    METADATA_SNAPSHOT,
    PRODUCER_SNAPSHOT,
    REMOTE_MANIFEST,
    FileName,
    parse_file_name,
    parse_partition_name,
    parts_of_segment,
)


class DataFile:
    """One file by name, not opened until `open()`. `path` is the argument as given, joined with the path below it."""

    __slots__ = ("name", "path")

    def __init__(self, path: str, name: FileName) -> None:
        self.path, self.name = path, name

    def __repr__(self) -> str:
        return f"<{self.name.kind} {self.path}>"

    @property
    def kind(self) -> str:
        """log, offset_index, time_index, ... (kidx.logdir.names)."""
        return self.name.kind

    def size(self) -> int:
        """The size in bytes, by stat."""
        return file_size(self.path)

    def open(self) -> Evidence:
        """The file, opened for reading only."""
        return open_evidence(self.path)


class Segment:
    """The files of one base offset, state and tag (FileName) in one directory, by kind."""

    def __init__(self, directory: str, base_offset: int, state: str, tag: str = "") -> None:
        self.directory, self.base_offset, self.state, self.tag = directory, base_offset, state, tag
        self.files: dict[str, DataFile] = {}

    def __repr__(self) -> str:
        return f"<segment {self.base_offset}{self.state} of {self.directory}: {', '.join(self.files)}>"

    def file(self, kind: str) -> DataFile | None:
        """The file of that kind, or None where there is none."""
        return self.files.get(kind)


class Partition:
    """A directory of segments. Its name may give a topic and partition, or not (a scratch copy)."""

    def __init__(self, directory: str, entries: Iterable[Entry] | None = None) -> None:
        """`entries` is the directory's listing, if the caller already has it."""
        self.directory = directory
        self.name = parse_partition_name(absolute(directory) if directory in (".", "") else directory)
        self._entries = entries

    @cached_property
    def files(self) -> list[DataFile]:
        """Every data file of the directory, by name; for the manifest of a remote segment also the parts it names."""
        found = []
        for entry in self._entries if self._entries is not None else list_directory(self.directory or "."):
            name = parse_file_name(entry.name)
            if name is not None:
                path = os.path.join(self.directory, entry.name)
                found.append(DataFile(path, name))
                if name.kind == REMOTE_MANIFEST:
                    found += [DataFile(*part) for part in parts_of_segment(path)]
        return found

    @cached_property
    def all_segments(self) -> list[Segment]:
        """Every segment by base offset, those with a state (.deleted, .cleaned, .swap) after the live one."""
        by_key: dict[tuple[int, str, str], Segment] = {}
        for file in self.files:
            if file.name.base_offset is None:
                continue
            key = (file.name.base_offset, file.name.state, file.name.tag)
            segment = by_key.get(key)
            if segment is None:
                segment = by_key[key] = Segment(self.directory, *key)
            segment.files[file.kind] = file
        return [by_key[key] for key in sorted(by_key)]

    @cached_property
    def segments(self) -> list[Segment]:
        """The live segments that have a .log, by base offset: those that a broker loads."""
        return [s for s in self.all_segments if not s.state and LOG in s.files]

    @property
    def active_segment(self) -> Segment | None:
        """The segment that appends go to: the one with the largest base offset. None without a .log."""
        return self.segments[-1] if self.segments else None

    @property
    def log_dir(self) -> str:
        """The parent directory: the broker's log dir, if this is a partition in one."""
        return os.path.dirname(absolute(self.directory))

    def stopped_cleanly(self) -> bool | None:
        """Whether the log dir has the mark of a clean stop; None if the parent directory does not look like one."""
        above = self.log_dir
        if exists(os.path.join(above, ".kafka_cleanshutdown")):
            return True
        looks_like_one = any(
            exists(os.path.join(above, n)) for n in ("meta.properties", "recovery-point-offset-checkpoint")
        )
        return False if looks_like_one else None


def expand(paths: Iterable[str]) -> Iterator[str]:
    """Path arguments with globs that the shell did not expand (quoted, or in a file) expanded, each once, in order.

    A pattern without matches stays as it is, as in a shell: opening it reports that there is no such file.
    """
    seen: set[str] = set()
    for path in paths:
        matches = [path]
        if is_uri(path):
            matches = _remote_matches(path) or matches
        elif path != "-":
            with suppress(CannotRead):  # opening it reports why
                if not exists(path):
                    matches = _local_matches(path) or matches
        for match in matches:
            if match not in seen:
                seen.add(match)
                yield match


def _local_matches(pattern: str) -> list[str]:
    import glob

    return sorted(glob.glob(pattern, recursive=True)) if glob.has_magic(pattern) else []


def _remote_matches(uri: str) -> list[str]:
    """What a URI stands for: itself, or what its pattern matches."""
    import glob

    if not glob.has_magic(uri):
        return [uri]
    from kidx.evidence.remote import glob_remote

    return sorted(glob_remote(uri))


class Listing(NamedTuple):
    """A directory and its entries by name."""

    directory: str
    entries: Sequence[Entry]


def walk_tree(path: str, wanted: Callable[[str], bool] | None = None) -> Iterator[Listing | CannotRead]:
    """Every directory at or below `path`, parents first, then by name; and what cannot be listed.

    Directories below whose name is not `wanted` are left out with all that they hold. Links to directories are not
    followed, so there are no cycles.
    """
    waiting = [path]
    while waiting:
        directory = waiting.pop()
        try:
            entries = list_directory(directory)
        except CannotRead as e:
            yield e
            continue
        yield Listing(directory, entries)
        below = [e.name for e in entries if e.is_dir(follow_symlinks=False) and (wanted is None or wanted(e.name))]
        waiting += [os.path.join(directory, name) for name in reversed(below)]


def partitions_below(path: str) -> Iterator[Partition]:
    """Every directory at or below `path` that holds segment files, by path. Raises CannotRead for one not listed."""
    for found in walk_tree(path):
        if isinstance(found, CannotRead):
            raise found
        if any((name := parse_file_name(e.name)) and name.base_offset is not None for e in found.entries):
            yield Partition(found.directory, found.entries)


def holds_evidence(directory: str) -> bool:
    """Whether a directory, links resolved, has data files, or is a partition of a log dir. Raises CannotRead.

    `.lock` alone does not count, nor does a log or snapshot without a base offset in its name (app.log): other programs
    use such names, too.
    """
    directory = os.path.realpath(directory)
    kinds = _kinds_in(directory) - {"lock"}
    if parse_partition_name(directory) is not None:
        kinds |= _kinds_in(os.path.dirname(directory)) & {"meta_properties", "offset_checkpoint"}
    return bool(kinds)


def _kinds_in(directory: str) -> set[str]:
    names = (parse_file_name(entry.name) for entry in list_directory(directory)) if exists(directory) else ()
    return {
        name.kind
        for name in names
        if name is not None
        and (name.base_offset is not None or name.kind not in (LOG, METADATA_SNAPSHOT, PRODUCER_SNAPSHOT))
    }
