"""Which files hold the records of which partition, by names alone: its copies, the best one first.

A copy is a directory's live log, or its files of one state (.swap, .cleaned, .deleted). Replicas of a partition are
copies of it; so that no record is exported twice, the others are read only where the first has damage or ends.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from kidx.checks.engine.targets import Target, targets_of
from kidx.errors import CannotRead, KidxError
from kidx.evidence import absolute, exists, list_directory, read_file
from kidx.formats.checkpoints import parse_partition_metadata
from kidx.logdir.log_dir import PARTITION_METADATA
from kidx.logdir.names import LOG, PartitionName, parse_file_name
from kidx.logdir.tree import Partition, Segment
from kidx.lookup.segment import SegmentReader
from kidx.tiered.log import Tiers
from kidx.tiered.objects import copies_in
from kidx.tiered.partition import remote_log

_Identity = tuple[str | None, int | None, str]  # topic, partition, and the topic id or the directory
STATES = ("", ".swap", ".cleaned", ".deleted")  # the order in which the files of a directory are trusted


class Copy(NamedTuple):
    """Segments with a log, by base offset, of one directory and state.

    `log` are the segments of the whole log if some of them are in a remote tier, None if the directory has them all.
    """

    directory: str
    state: str
    segments: Sequence[Segment]
    log: Sequence[Segment] | None = None

    @property
    def whole_log(self) -> Sequence[Segment]:
        """The segments of the log that `segments` are of."""
        if self.log is not None:
            return self.log
        return self.segments if self.state else Partition(self.directory).segments


class Source(NamedTuple):
    """A partition and its copies, the best first. `topic` and `partition` are None if no directory's name has them.

    `name` identifies it: the name of its output file.
    """

    name: str
    topic: str | None
    partition: int | None
    copies: Sequence[Copy]


class Wanted(NamedTuple):
    """Which topics and partitions (None: all), and whether files and directories with a state count."""

    topics: Collection[str] | None = None
    partitions: Collection[int] | None = None
    all_states: bool = False

    def allows(self, partition: Partition) -> bool:
        """Whether a directory's topic and partition are wanted."""
        return self.allows_name(partition.name)

    def allows_name(self, name: PartitionName | None) -> bool:
        """The same of a partition's name."""
        topic, number = name[:2] if name else (None, None)
        return (self.topics is None or topic in self.topics) and (self.partitions is None or number in self.partitions)


def find_sources(
    paths: Sequence[str], wanted: Wanted, remote: Sequence[str] = ()
) -> tuple[list[Source], list[CannotRead]]:
    """The partitions that paths name, by name; and what cannot be listed. `remote` are tiers with older segments.

    A path names a log, a directory of logs, or a tree. Files with a state are read if they are named, or `all_states`;
    so are directories that Kafka has renamed (orders-3.<hex>-delete). A path that holds no log is a CannotRead.
    """
    named = {absolute(path) for path in paths}
    groups: dict[_Identity, list[Copy]] = {}
    unread: list[CannotRead] = []
    seen: set[str] = set()
    tiers = Tiers(remote) if remote else None
    for target in targets_of(paths):
        if isinstance(target, CannotRead):
            unread.append(target)
            continue
        partition = Partition(target.directory)
        if target.names is None and (objects := copies_in(target.directory, list_directory(target.directory or "."))):
            log = remote_log(target.directory, objects)
            seen.add(absolute(target.directory))
            if wanted.allows_name(log.name):
                unread += map(CannotRead, log.unread)
                key = log.name.topic, log.name.partition, log.topic_id or ""
                groups.setdefault(key, []).extend(_remote_copy(part) for part in log.partitions)
            continue
        if not wanted.allows(partition):
            seen.add(absolute(target.directory))
            continue
        try:
            copies = _copies(partition, target, wanted.all_states, named)
            if tiers is not None and target.names is None:
                copies = [_with_tier(copy, tiers) for copy in copies]
        except KidxError as e:
            unread.append(CannotRead(str(e)))
            continue
        if copies:
            seen.add(absolute(target.directory))
            groups.setdefault(_identity(partition), []).extend(copies)
    unread += _without_logs(paths, seen)
    sources = [_source(*identity, copies) for identity, copies in _joined(groups).items()]
    sources.sort(key=lambda s: (s.topic or "", -1 if s.partition is None else s.partition, s.name))
    return _named_apart(sources), unread


def _copies(partition: Partition, target: Target, all_states: bool, named: Collection[str]) -> list[Copy]:
    renamed = partition.name is not None and partition.name.state and target.names is None
    if renamed and not all_states and absolute(target.directory) not in named:
        return []
    for name, path in (target.names or {}).items():
        kind = parse_file_name(name)
        if not exists(path):
            raise CannotRead(f"{path}: no such file or directory")
        if kind is None or kind.kind != LOG:
            raise CannotRead(f"{path}: not a log by its name; records are in .log files")
    partition = Partition(target.directory, list_directory(target.directory or "."))
    by_state: dict[str, list[Segment]] = {}
    for segment in partition.all_segments:
        file = segment.file(LOG)
        if file is None:
            continue
        if target.names is not None:
            if os.path.basename(file.path) not in target.names:
                continue
        elif segment.state and not all_states:
            continue
        by_state.setdefault(segment.state, []).append(segment)
    return [Copy(target.directory, state, by_state[state]) for state in STATES if state in by_state]


def _remote_copy(partition: Partition) -> Copy:
    """Segments of a tier."""
    return Copy(partition.directory, "", partition.segments, partition.segments)


def _with_tier(copy: Copy, tiers: Tiers) -> Copy:
    """A live log with its older segments from the tiers. Raises KidxError."""
    if copy.state:
        return copy
    segments = tiers.reader(Partition(copy.directory)).segments
    return copy._replace(segments=segments, log=segments)


def _identity(partition: Partition) -> _Identity:
    """Topic, partition, and topic id where the directory has one; a directory of another name stands for itself."""
    if partition.name is None:
        return None, None, absolute(partition.directory)
    path = os.path.join(partition.directory, PARTITION_METADATA)
    try:
        topic_id = parse_partition_metadata(read_file(path)).get("topic_id", "") if exists(path) else ""
    except KidxError:
        topic_id = ""
    return partition.name.topic, partition.name.partition, topic_id


def _joined(groups: dict[_Identity, list[Copy]]) -> dict[_Identity, list[Copy]]:
    """Copies without a topic id belong to those with one, if these have the same."""
    for topic, number, topic_id in [key for key in groups if key[0] is not None and not key[2]]:
        others = [key for key in groups if key[:2] == (topic, number) and key[2]]
        if len(others) == 1:
            groups[others[0]] += groups.pop((topic, number, topic_id))
    return groups


def _source(topic: str | None, partition: int | None, last: str, copies: list[Copy]) -> Source:
    name = os.path.basename(last.rstrip("/")) if topic is None else f"{topic}-{partition}"
    live = [copy for copy in copies if not copy.state]
    if len(live) > 1:
        live.sort(key=_end_offset, reverse=True)
    others = sorted((c for c in copies if c.state), key=lambda c: STATES.index(c.state))
    return Source(name, topic, partition, [*live, *others])


def _end_offset(copy: Copy) -> int:
    try:
        with SegmentReader(copy.whole_log[-1]) as reader:
            return reader.end_offset()
    except (KidxError, IndexError):
        return -1


def _named_apart(sources: list[Source]) -> list[Source]:
    """Names that differ: a topic that was deleted and created again has two ids, and so two partitions of one name."""
    taken: dict[str, int] = {}
    apart = []
    for source in sources:
        taken[source.name] = number = taken.get(source.name, 0) + 1
        apart.append(source if number == 1 else source._replace(name=f"{source.name}.{number}"))
    return apart


def _without_logs(paths: Iterable[str], seen: Collection[str]) -> list[CannotRead]:
    """The paths below which no log was found."""
    found = []
    for path in paths:
        top = absolute(path)
        inside = any(d == top or d.startswith(top.rstrip("/") + "/") or os.path.dirname(top) == d for d in seen)
        if not inside and exists(path):
            found.append(CannotRead(f"{path}: nothing to read: no .log file is in or below it"))
    return found
