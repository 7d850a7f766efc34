"""What a scan has to check, found on the driver by listing alone: units, their bytes, and marks of their state."""

from __future__ import annotations

import heapq
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from kidx import __version__
from kidx.checks.engine.options import Options
from kidx.checks.engine.targets import Target, targets_of
from kidx.errors import KidxError
from kidx.evidence import absolute, list_directory
from kidx.logdir.names import parse_file_name, parse_partition_name
from kidx.pipeline.log_dir_state import LogDirs

COST_PER_FILE_BYTES = 64 << 10  # opening and decoding a small file costs about as much as reading this many bytes


@dataclass(frozen=True, slots=True)
class Unit:
    """What one call of check_target checks: a directory, or some files of one.

    `bytes` and `files` count its data files. `mark` is a digest of everything the answer depends on: names, sizes and
    modification times, what the log dir says of it, the options, and kidx's version.
    """

    target: Target
    bytes: int
    files: int
    mark: str
    replicas: int = 1

    @property
    def key(self) -> str:
        """What names the unit from one scan to the next: its directory, and its files' names where it has only some."""
        names = self.target.names
        where = self.target.directory
        return where if names is None else "\0".join([where, *sorted(names.values())])

    @property
    def cost(self) -> int:
        """Bytes to read, with what opening the files costs."""
        return self.bytes + self.files * COST_PER_FILE_BYTES

    @property
    def place(self) -> Place:
        """Broker, topic and partition, as the path says them."""
        return place_of(self.target.directory)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a directory stands in a fleet. `broker` is the log dir's path, the only thing that always tells them apart.

    `topic` and `partition` are None where the directory's name says none.
    """

    broker: str
    topic: str | None
    partition: int | None


@dataclass(slots=True)
class Inventory:
    """Units by path, and one sentence for everything that could not be listed."""

    units: list[Unit] = field(default_factory=list)
    unlisted: list[str] = field(default_factory=list)

    @property
    def bytes(self) -> int:
        """Bytes of all data files."""
        return sum(u.bytes for u in self.units)

    @property
    def files(self) -> int:
        """How many data files there are."""
        return sum(u.files for u in self.units)


def place_of(directory: str) -> Place:
    """What a directory's path says of broker, topic and partition."""
    whole = absolute(directory)
    name = parse_partition_name(whole)
    if name is None or name.state:
        return Place(whole, None, None)
    return Place(os.path.dirname(whole), name.topic, name.partition)


def discover(paths: Iterable[str], options: Options) -> Inventory:
    """List what `paths` stand for; nothing is opened. Units know how many brokers have their topic and partition."""
    found = Inventory()
    above = LogDirs()
    for target in targets_of(paths):
        if isinstance(target, KidxError):
            found.unlisted.append(str(target))
            continue
        found.units.append(_unit(target, options, above.said_of(target.directory)))
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


def _unit(target: Target, options: Options, above: str) -> Unit:
    listing = []
    size = files = 0
    try:
        entries = list_directory(target.directory or ".")
    except KidxError as e:  # check_target will say so; here it only must not look unchanged
        return Unit(target, 0, 0, sha256(f"{e}{os.urandom(8).hex()}".encode()).hexdigest())
    for entry in entries:
        if parse_file_name(entry.name) is None:
            continue
        try:
            status = entry.stat()
        except OSError:
            listing.append(f"{entry.name} gone {os.urandom(8).hex()}")
            continue
        listing.append(f"{entry.name} {status.st_size} {status.st_mtime_ns}")
        if target.names is None or entry.name in target.names:
            size += status.st_size
            files += 1
    said = "\n".join([__version__, _said(options), target.directory, str(target.names), above, *listing])
    return Unit(target, size, files, sha256(said.encode("utf-8", "surrogateescape")).hexdigest())


def _said(options: Options) -> str:
    rules = None if options.rules is None else sorted(options.rules)
    return repr(options._asdict() | {"rules": rules})


def pack(costs: Sequence[int], target: int) -> list[int]:
    """A group number for each item, in groups of about `target` each; group 0 holds the dearest item.

    Longest processing time first: the dearest item left goes to the cheapest group.
    """
    count = max(1, min(len(costs), -(-sum(costs) // target)))
    heap = [(0, number) for number in range(count)]
    groups = [0] * len(costs)
    for item in sorted(range(len(costs)), key=lambda i: -costs[i]):
        filled, number = heapq.heappop(heap)
        groups[item] = number
        heapq.heappush(heap, (filled + costs[item], number))
    return groups
