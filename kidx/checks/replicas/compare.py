"""What differs between replicas of partitions, or between a directory and its rebuilt copy, and what may differ.

Healthy replicas have the same batches where both have any. They may differ in where logs begin and end, where
segments were cut, how dense their indexes are, and how far they have been compacted.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations

from kidx.checks.replicas.comparison import Comparison, Difference, Sides
from kidx.checks.replicas.indexes import IndexComparison
from kidx.checks.replicas.logs import compare_logs
from kidx.checks.replicas.state_files import compare_epochs, compare_metadata, compare_snapshots
from kidx.errors import CannotRead, KidxError, UsageError
from kidx.evidence import exists, is_directory
from kidx.logdir.names import INDEX_OF_KIND, PRODUCER_SNAPSHOT
from kidx.logdir.tree import DataFile, Partition, partitions_below


def compare(*paths: str, same_partitions: bool = False) -> Comparison:
    """Compare partitions, trees of partitions, or files of one kind, every pair of them.

    With `same_partitions` a partition that only one side has is a difference. Raises UsageError if the paths are of
    different kinds, CannotRead if one does not exist. What cannot be read below them is in `checked.unread`.
    """
    comparison = Comparison()
    if len(paths) < 2:
        raise UsageError("name two or more replicas to compare")
    for path in paths:
        if not exists(path):
            raise CannotRead(f"{path}: no such file or directory")
    for left, right in combinations(paths, 2):
        if is_directory(left) != is_directory(right):
            raise UsageError(f"{left} and {right}: a file and a directory cannot be compared; name two of a kind")
    if not is_directory(paths[0]):
        for left, right in combinations(paths, 2):
            _compare_files(left, right, comparison)
        return comparison
    found = [_by_name(path) for path in paths]
    if not any(found):
        raise CannotRead(f"{' and '.join(paths)}: none of them holds a partition's files")
    for (left, ours), (right, theirs) in combinations(zip(paths, found, strict=True), 2):
        _compare_trees((left, right), (ours, theirs), comparison, same_partitions)
    return comparison


def _by_name(path: str) -> dict[str, Partition]:
    """The partitions at or below a path by name, `.` for the path itself.

    A partition is identified by its directory's name, because brokers may keep it on different disks. If two
    directories share a name, their paths are used instead.
    """
    found = list(partitions_below(path))
    names = Counter(os.path.basename(p.directory) for p in found)
    below = [(os.path.relpath(p.directory, path), p) for p in found]
    return {
        name if name == "." or names[os.path.basename(name)] > 1 else os.path.basename(name): p for name, p in below
    }


def _compare_trees(
    paths: tuple[str, str], found: tuple[dict[str, Partition], dict[str, Partition]], comparison: Comparison, same: bool
) -> None:
    left, right = found
    for name in sorted(left.keys() | right.keys()):
        here, there = left.get(name), right.get(name)
        if here is None or there is None:
            comparison.add(Difference("partition", name, bool(here), bool(there), not same, name, None, *paths))
        else:
            _compare_partitions(Sides(here, there, "" if name == "." else name, paths, comparison))


def _compare_files(left: str, right: str, comparison: Comparison) -> None:
    partitions = []
    for path in (left, right):
        partition = Partition(os.path.dirname(path))
        file = next((f for f in partition.files if os.path.basename(f.path) == os.path.basename(path)), None)
        if file is None:
            raise CannotRead(f"{path}: no such file, or none of Kafka's by its name")
        alone = Partition(os.path.dirname(path), [])
        alone.files = [file]
        partitions.append(alone)
    if partitions[0].files[0].kind != partitions[1].files[0].kind:
        raise UsageError(f"{left} and {right}: files of different kinds; name two of a kind")
    _compare_partitions(Sides(partitions[0], partitions[1], "", (left, right), comparison))


def _compare_partitions(sides: Sides) -> None:
    """Compare every kind of file that both sides have."""
    sides.comparison.partitions.append((*sides.paths, sides.name))
    same_logs = compare_logs(sides)
    indexes = IndexComparison(sides, same_logs=same_logs)
    for kind in INDEX_OF_KIND:
        _each(sides, kind, indexes.compare, missing_allowed=kind == "transaction_index")
    _each(sides, PRODUCER_SNAPSHOT, partial(compare_snapshots, sides), missing_allowed=True)
    _each(sides, "leader_epochs", partial(compare_epochs, sides), missing_allowed=False)
    _each(sides, "partition_metadata", partial(compare_metadata, sides), missing_allowed=True)


def _each(
    sides: Sides, kind: str, compare_two: Callable[[str, DataFile, DataFile], None], *, missing_allowed: bool
) -> None:
    """Compare the files of one kind pair by pair; a file without a pair is allowed, as segments are cut differently."""
    here, there = (_living(p.files, kind) for p in (sides.left, sides.right))
    if len(here) == len(there) == 1:  # two files named on the command line may have different names
        pairs = [(next(iter(here)), next(iter(here.values())), next(iter(there.values())))]
    else:
        pairs = [(name, here[name], there[name]) for name in sorted(here.keys() & there.keys())]
        for name in sorted(here.keys() ^ there.keys()):
            sides.note("file", name, name in here, name in there, allowed=True)
    if bool(here) != bool(there) and not missing_allowed and sides.left.segments and sides.right.segments:
        sides.note(kind, "", bool(here), bool(there), allowed=False)
    for name, one, other in pairs:
        try:
            compare_two(name, one, other)
        except KidxError as e:
            sides.checked.cannot(one.path, str(e))


def _living(files: Sequence[DataFile], kind: str) -> dict[str, DataFile]:
    return {os.path.basename(f.path): f for f in files if f.kind == kind and not f.name.state}
