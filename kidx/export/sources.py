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
from kidx.logdir.names import LOG, parse_file_name
from kidx.logdir.tree import Partition, Segment
from kidx.lookup.partition import PartitionReader
from kidx.tiered.log import TieredLog, open_tiered
from kidx.tiered.objects import copies_in

Identity = tuple[str | None, int | None, str]  # topic, partition, and the topic id, or else the directory
TIERED = "tiered"
STATES = ("", TIERED, ".swap", ".cleaned", ".deleted")  # the order in which the files of a partition are trusted


class Copy(NamedTuple):
    """Segments with a log, by base offset, of one directory and state; TIERED for those in remote tiers."""

    directory: str
    state: str
    segments: Sequence[Segment]


class Source(NamedTuple):
    """A partition and its copies, the best first. `topic` and `partition` are None if no directory's name has them.

    `name` identifies it: the name of its output file.
    """

    name: str
    topic: str | None
    partition: int | None
    copies: Sequence[Copy]


class Wanted(NamedTuple):
    """Which topics and partitions (None: all), whether files and directories with a state count, and remote tiers."""

    topics: Collection[str] | None = None
    partitions: Collection[int] | None = None
    all_states: bool = False
    remote: Sequence[str] = ()

    def allows(self, identity: Identity) -> bool:
        """Whether a topic and partition are wanted."""
        topic, number, _ = identity
        return (self.topics is None or topic in self.topics) and (self.partitions is None or number in self.partitions)


def find_sources(paths: Sequence[str], wanted: Wanted) -> tuple[list[Source], list[CannotRead]]:
    """The partitions that paths name, by name; and what cannot be listed.

    A path names a log, a directory of logs, or a tree. Files with a state are read if they are named, or `all_states`;
    so are directories that Kafka has renamed (orders-3.<hex>-delete). A path that holds no log is a CannotRead.
    """
    named = {absolute(path) for path in paths}
    groups: dict[Identity, list[Copy]] = {}
    unread: list[CannotRead] = []
    seen: set[str] = set()
    for target in targets_of(paths):
        if isinstance(target, CannotRead):
            unread.append(target)
            continue
        try:
            identity, copies = _found_in(target, wanted, named, unread)
        except KidxError as e:
            unread.append(CannotRead(str(e)))
            continue
        allowed = wanted.allows(identity)
        if copies or not allowed:
            seen.add(absolute(target.directory))
        if copies and allowed:
            groups.setdefault(identity, []).extend(copies)
    unread += _without_logs(paths, seen)
    sources = [_source(*identity, copies) for identity, copies in _joined(groups).items()]
    sources.sort(key=lambda s: (s.topic or "", -1 if s.partition is None else s.partition, s.name))
    return _named_apart(sources), unread


def _found_in(
    target: Target, wanted: Wanted, named: Collection[str], unread: list[CannotRead]
) -> tuple[Identity, list[Copy]]:
    """Which partition a directory holds, and its copies there and in remote tiers. Raises KidxError."""
    if target.names is None and copies_in(target.directory, list_directory(target.directory or ".")):
        log = open_tiered(target.directory, ()).log  # the directory of a remote tier
        return (log.name.topic, log.name.partition, log.topic_id or ""), _of_tier(target.directory, log, unread)
    partition = Partition(target.directory)
    identity = _identity(partition)
    if not wanted.allows(identity):
        return identity, []
    copies = _copies(partition, target, wanted.all_states, named)
    if wanted.remote and target.names is None and partition.name is not None:
        copies += _of_tier(target.directory, open_tiered(target.directory, wanted.remote).log, unread)
    return identity, copies


def _of_tier(directory: str, log: TieredLog, unread: list[CannotRead]) -> list[Copy]:
    """The segments in a tier that serve offsets."""
    segments = [segment for segment, _ in log.remote_segments]
    unread += [CannotRead(sentence) for sentence in log.trouble]
    return [Copy(directory, TIERED, segments)] if segments else []


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


def _identity(partition: Partition) -> Identity:
    """Topic, partition, and topic id where the directory has one; a directory of another name stands for itself."""
    if partition.name is None:
        return None, None, absolute(partition.directory)
    path = os.path.join(partition.directory, PARTITION_METADATA)
    try:
        topic_id = parse_partition_metadata(read_file(path)).get("topic_id", "") if exists(path) else ""
    except KidxError:
        topic_id = ""
    return partition.name.topic, partition.name.partition, topic_id


def _joined(groups: dict[Identity, list[Copy]]) -> dict[Identity, list[Copy]]:
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
        return PartitionReader(Partition(copy.directory)).end_offset
    except KidxError:
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
