"""What a scan has to check, found by listing alone: units, their sizes, and digests of their state."""

from __future__ import annotations

import heapq
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from kidx import __version__
from kidx.checks.engine.options import Options
from kidx.checks.engine.targets import Target, targets_of
from kidx.errors import CannotRead, KidxError
from kidx.evidence import absolute, list_directory
from kidx.logdir.names import parse_file_name, parse_partition_name
from kidx.pipeline.log_dir_state import LogDirs

COST_PER_FILE_BYTES = 64 << 10  # opening and decoding a small file costs about as much as reading this many bytes


@dataclass(frozen=True, slots=True)
class Unit:
    """What one call of check_target checks: a directory, or some files of one.

    `bytes` and `files` count its data files. `mark` is a digest of everything the result depends on: names, sizes and
    modification times, the log dir's state, the options, and kidx's version.
    """

    target: Target
    bytes: int
    files: int
    mark: str
    replicas: int = 1

    @property
    def key(self) -> str:
        """The unit's name from one scan to the next: its directory, with its files' names if it has only some."""
        names = self.target.names
        directory = self.target.directory
        return directory if names is None else "\0".join([directory, *sorted(names.values())])

    @property
    def cost(self) -> int:
        """Bytes to read, plus COST_PER_FILE_BYTES for each file."""
        return self.bytes + self.files * COST_PER_FILE_BYTES

    @property
    def place(self) -> Place:
        """Broker, topic and partition, by the path."""
        return place_of(self.target.directory)


@dataclass(frozen=True, slots=True)
class Place:
    """A directory's place in a fleet. `broker` is the log dir's path, which always identifies it.

    `topic` and `partition` are None if the directory's name is not that of a partition.
    """

    broker: str
    topic: str | None
    partition: int | None


@dataclass(slots=True)
class Inventory:
    """Units by path, and a sentence for everything that could not be listed."""

    units: list[Unit] = field(default_factory=list)
    unlisted: list[str] = field(default_factory=list)

    @property
    def bytes(self) -> int:
        """Bytes of all data files."""
        return sum(u.bytes for u in self.units)

    @property
    def files(self) -> int:
        """The number of data files."""
        return sum(u.files for u in self.units)


def place_of(directory: str) -> Place:
    """Broker, topic and partition by a directory's path."""
    path = absolute(directory)
    name = parse_partition_name(path)
    if name is None or name.state:
        return Place(path, None, None)
    return Place(os.path.dirname(path), name.topic, name.partition)


def discover(paths: Iterable[str], options: Options) -> Inventory:
    """List the units that `paths` stand for. Only the log dirs' checkpoints are opened."""
    found = Inventory()
    log_dirs = LogDirs()
    for target in targets_of(paths):
        if isinstance(target, KidxError):
            found.unlisted.append(str(target))
            continue
        found.units.append(_unit(target, options, log_dirs.state_of(target.directory)))
    brokers: dict[tuple[str | None, int | None], int] = {}
    for unit in found.units:
        named = (unit.place.topic, unit.place.partition)
        brokers[named] = brokers.get(named, 0) + 1
    found.units = [_with_replicas(u, brokers[u.place.topic, u.place.partition]) for u in found.units]
    return found


def _with_replicas(unit: Unit, count: int) -> Unit:
    if unit.place.topic is None or unit.target.names is not None:
        count = 1
    return Unit(unit.target, unit.bytes, unit.files, f"{unit.mark}-{'shared' if count > 1 else 'alone'}", count)


def _unit(target: Target, options: Options, log_dir_state: str) -> Unit:
    listing = []
    size = files = 0
    try:
        entries = list_directory(target.directory or ".")
    except KidxError as e:  # check_target reports it; a random mark keeps it from looking unchanged
        return Unit(target, 0, 0, sha256(f"{e}{os.urandom(8).hex()}".encode()).hexdigest())
    for entry in entries:
        if parse_file_name(entry.name) is None:
            continue
        try:
            status = entry.stat()
        except CannotRead:
            listing.append(f"{entry.name} gone {os.urandom(8).hex()}")
            continue
        listing.append(f"{entry.name} {status.st_size} {status.st_mtime_ns}")
        if target.names is None or entry.name in target.names:
            size += status.st_size
            files += 1
    state = [__version__, _options_text(options), target.directory, str(target.names), log_dir_state, *listing]
    return Unit(target, size, files, sha256("\n".join(state).encode("utf-8", "surrogateescape")).hexdigest())


def _options_text(options: Options) -> str:
    rules = None if options.rules is None else sorted(options.rules)
    return repr(options._asdict() | {"rules": rules})


def pack(costs: Sequence[int], target: int) -> list[int]:
    """A group number for each item, in groups of about `target` each. Group 0 holds the most expensive item.

    Longest processing time first (Graham, 1969): the most expensive item left goes to the cheapest group.
    """
    count = max(1, min(len(costs), -(-sum(costs) // target)))
    heap = [(0, number) for number in range(count)]
    groups = [0] * len(costs)
    for item in sorted(range(len(costs)), key=lambda i: -costs[i]):
        filled, number = heapq.heappop(heap)
        groups[item] = number
        heapq.heappush(heap, (filled + costs[item], number))
    return groups
