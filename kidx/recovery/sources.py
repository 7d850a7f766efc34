"""The replicas of each partition among directories: of one or several brokers, alive, moved, renamed or left over."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from kidx.errors import CannotRead, KidxError
from kidx.evidence import must_exist
from kidx.formats.checkpoints import EpochStart
from kidx.logdir import LogDir
from kidx.logdir.log_dir import partition_identity
from kidx.logdir.names import LOG, PartitionName, parse_file_name, parse_partition_name
from kidx.logdir.tree import Partition, Segment, walk_tree
from kidx.surgery.state_files import epochs_in
from kidx.tiered.lineage import since
from kidx.tiered.objects import copies_in
from kidx.tiered.partition import RemotePartition, remote_log

_LIVE, _SWAP, _DELETED = "", ".swap", ".deleted"
_RANKS = {_LIVE: 0, _SWAP: 1, _DELETED: 2}
MOST_REPLICAS = 60
_LONGEST_TOPIC = 249
_LARGEST_PARTITION = 2**31 - 1


class Replica(NamedTuple):
    """One series of segments of a partition's directory: the live ones, or those with a suffix (`state`).

    `fallback`: a broker was about to delete or replace these, so they count only where no live replica has an offset.
    """

    partition: Partition
    segments: tuple[Segment, ...]
    state: str
    log_dir: LogDir

    @property
    def fallback(self) -> bool:
        """Whether the segments have a suffix."""
        return bool(self.state)

    @property
    def name(self) -> str:
        """What reports call it: its directory, and the suffix of its segments."""
        directory = self.partition.directory
        return f"{directory} (*.log{self.state})" if self.state else directory


class Recoverable(NamedTuple):
    """A partition and all that is left of it. `directories` are those of its replicas, in the order given."""

    topic: str
    number: int
    topic_id: str | None
    replicas: tuple[Replica, ...]
    directories: tuple[Partition, ...]
    log_dirs: tuple[LogDir, ...]

    @property
    def name(self) -> str:
        """topic-number."""
        return f"{self.topic}-{self.number}"


class LeftOut(NamedTuple):
    """A directory that is not used, and why."""

    partition: str
    path: str
    why: str


class Sources(NamedTuple):
    """What was found: partitions by name, the log dirs in order, what is left out, what cannot be read."""

    partitions: list[Recoverable]
    log_dirs: list[LogDir]
    left_out: list[LeftOut]
    unread: list[str]


class _Found(NamedTuple):
    partition: Partition
    topic: str
    number: int
    state: str
    topic_id: str | None
    named: bool  # on the command line


def find_sources(paths: Iterable[str]) -> Sources:
    """The replicas at or below some paths. Raises CannotRead for a path that does not exist."""
    found: list[_Found] = []
    left_out: list[LeftOut] = []
    unread: list[str] = []
    seen: set[str] = set()
    for path in paths:
        must_exist(path)
        for listing in walk_tree(path.rstrip("/") or path):
            if isinstance(listing, CannotRead):
                unread.append(str(listing))
                continue
            if copies := copies_in(listing.directory, listing.entries):
                remote = remote_log(listing.directory, copies)
                unread += remote.unread
                topic, number, state = remote.name
                found += [_Found(p, topic, number, state, remote.topic_id, True) for p in remote.partitions]
                continue
            names = [parse_file_name(entry.name) for entry in listing.entries]
            for entry in listing.entries:
                if parse_partition_name(entry.name) and entry.is_dir() and not entry.is_dir(follow_symlinks=False):
                    link = os.path.join(listing.directory, entry.name)
                    left_out.append(LeftOut(entry.name, link, "a symbolic link; name it itself, or what it leads to"))
            partition = Partition(listing.directory, listing.entries)
            has_segments = any(name and name.base_offset is not None for name in names)
            if partition.name is None:
                if has_segments:
                    why = "its name does not give a topic and a partition; name a copy of it TOPIC-NUMBER"
                    left_out.append(LeftOut("", listing.directory, why))
                continue
            if not _is_possible(partition.name):
                left_out.append(LeftOut("", listing.directory, "no topic and partition can have such a name"))
            elif has_segments or any(name and name.kind in ("leader_epochs", "partition_metadata") for name in names):
                identity = partition_identity(partition)
                unread += [f"{p.path}: {p.why}" for p in identity.problems if p.why.startswith("permission")]
                topic_id = None if identity.problems else identity.topic_id
                topic, number, state = partition.name
                named = os.path.normpath(listing.directory) == os.path.normpath(path)
                real = os.path.realpath(listing.directory)
                if real not in seen:
                    seen.add(real)
                    found.append(_Found(partition, topic, number, state, topic_id, named))
    return _grouped(found, left_out, unread)


def _is_possible(name: PartitionName) -> bool:
    """Whether a topic may have this name (Topic.LEGAL_CHARS), and a partition this number."""
    legal = len(name.topic) <= _LONGEST_TOPIC and re.fullmatch(r"[a-zA-Z0-9._-]+", name.topic) is not None
    return legal and name.partition <= _LARGEST_PARTITION


def _grouped(found: Sequence[_Found], left_out: list[LeftOut], unread: list[str]) -> Sources:
    log_dirs: dict[str, LogDir] = {}
    for each in found:
        above = os.path.dirname(os.path.normpath(each.partition.directory)) or "."
        log_dirs.setdefault(above, LogDir(above))
    by_name: dict[tuple[str, int], list[_Found]] = {}
    for each in found:
        by_name.setdefault((each.topic, each.number), []).append(each)
    partitions = []
    for (topic, number), same_name in sorted(by_name.items()):
        chosen = _of_one_topic(same_name, left_out)
        used = []
        alive = any(each.state != "delete" for each in chosen)
        for each in chosen:
            if each.state == "delete" and not alive and not each.named:
                why = "the partition was deleted; name this directory itself to bring it back"
                left_out.append(LeftOut(f"{topic}-{number}", each.partition.directory, why))
            else:
                used.append(each)
        if used:
            partitions.append(_recoverable(topic, number, used, log_dirs, left_out))
    return Sources(partitions, list(log_dirs.values()), left_out, unread)


def _of_one_topic(same_name: Sequence[_Found], left_out: list[LeftOut]) -> list[_Found]:
    """The directories of one topic id, and those without any; a topic of the same name with another id is left out."""
    by_id: dict[str, list[_Found]] = {}
    for each in same_name:
        if each.topic_id is not None:
            by_id.setdefault(each.topic_id, []).append(each)
    if len(by_id) < 2:
        return list(same_name)

    def weight(topic_id: str) -> tuple[int, int, int]:
        alive = [each for each in by_id[topic_id] if each.state in ("", "future")]
        size = sum(_log_bytes(each.partition) for each in by_id[topic_id])
        return len(alive), size, -same_name.index(by_id[topic_id][0])

    chosen = max(by_id, key=weight)
    for topic_id, others in by_id.items():
        for each in others if topic_id != chosen else ():
            why = f"its topic id is {topic_id}, another topic than {chosen} of the same name; recover it separately"
            left_out.append(LeftOut(f"{each.topic}-{each.number}", each.partition.directory, why))
    return [each for each in same_name if each.topic_id in (None, chosen)]


def _log_bytes(partition: Partition) -> int:
    try:
        return sum(s.files[LOG].size() for s in partition.segments)
    except KidxError:
        return 0


def _recoverable(
    topic: str, number: int, used: Sequence[_Found], log_dirs: dict[str, LogDir], left_out: list[LeftOut]
) -> Recoverable:
    replicas: list[Replica] = []
    own_dirs: list[LogDir] = []
    for each in used:
        log_dir = log_dirs[os.path.dirname(os.path.normpath(each.partition.directory)) or "."]
        if log_dir not in own_dirs:
            own_dirs.append(log_dir)
        for state in _RANKS:
            segments = tuple(s for s in each.partition.all_segments if s.state == state and LOG in s.files)
            if segments or not state:
                replicas.append(Replica(each.partition, segments, state, log_dir))
    replicas.sort(key=lambda replica: _RANKS[replica.state])  # stable: in the order given
    for replica in replicas[MOST_REPLICAS:]:
        why = f"kidx compares at most {MOST_REPLICAS} replicas of a partition"
        left_out.append(LeftOut(f"{topic}-{number}", replica.name, why))
    topic_id = next((each.topic_id for each in used if each.topic_id is not None), None)
    directories = tuple(each.partition for each in used)
    return Recoverable(topic, number, topic_id, tuple(replicas[:MOST_REPLICAS]), directories, tuple(own_dirs))


def leader_epochs(partition: Partition) -> Sequence[EpochStart]:
    """The lines of a replica's leader-epoch-checkpoint; none where it is missing, unreadable or malformed.

    Those that went with copies in a tier begin where the log did then; here they begin with the first copy.
    """
    if isinstance(partition, RemotePartition):
        return since(partition.lineage, partition.copies[0].base_offset)
    return epochs_in(partition)


def first_offset_known(recoverable: Recoverable) -> int | None:
    """The least base offset in a name of a live segment's file, its log or only an index; None where there is none."""
    offsets = [
        segment.base_offset
        for partition in recoverable.directories
        for segment in partition.all_segments
        if not segment.state and set(segment.files) - {"producer_snapshot", "metadata_snapshot"}
    ]
    return min(offsets, default=None)
