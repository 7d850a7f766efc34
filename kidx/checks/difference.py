"""What differs between two replicas of a partition, or a directory and its rebuilt self, and what may differ.

Two healthy replicas have the same batches where both have any. They may differ in where logs begin and end, where
segments were cut, how dense their indexes are, and in how far they have been compacted.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial

from kidx.checks.compared import Compared, Sides
from kidx.checks.index_difference import IndexComparison
from kidx.checks.log_difference import compare_logs
from kidx.checks.state_difference import compare_epochs, compare_metadata, compare_snapshots
from kidx.errors import CannotRead, KidxError, UsageError
from kidx.evidence import exists, is_directory
from kidx.logdir.names import INDEX_OF_KIND, PRODUCER_SNAPSHOT
from kidx.logdir.tree import DataFile, Partition, partitions_below


def compare(left: str, right: str) -> Compared:
    """Compare two partitions, two trees of partitions, or two files of one kind.

    Raises UsageError where the two are not of a kind, CannotRead where one is not there. What cannot be read below them
    is in `checked.unread`.
    """
    done = Compared()
    for path in (left, right):
        if not exists(path):
            raise CannotRead(f"{path}: no such file or directory")
    if is_directory(left) != is_directory(right):
        raise UsageError(f"{left} and {right}: a file and a directory cannot be compared; name two of a kind")
    if not is_directory(left):
        _lone_files(left, right, done)
        return done
    sides = [{os.path.relpath(p.directory, top): p for p in partitions_below(top)} for top in (left, right)]
    for name in sorted(sides[0].keys() | sides[1].keys()):
        here, there = sides[0].get(name), sides[1].get(name)
        if here is None or there is None:
            done.note("partition", name, bool(here), bool(there), allowed=False)
        else:
            _compare_partitions(Sides(here, there, "" if name == "." else name, done))
    if not sides[0] and not sides[1]:
        raise CannotRead(f"{left} and {right}: neither holds a partition's files")
    return done


def _lone_files(left: str, right: str, done: Compared) -> None:
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
    _compare_partitions(Sides(partitions[0], partitions[1], "", done))


def _compare_partitions(sides: Sides) -> None:
    """Compare everything that both sides have."""
    before = len(sides.done.differences)
    compare_logs(sides)
    same_logs = all(d.what in ("logs", "log_end", "segments") for d in sides.done.differences[before:])
    indexes = IndexComparison(sides, same_logs=same_logs)
    for kind in INDEX_OF_KIND:
        _each(sides, kind, indexes.compare, missing_allowed=kind == "transaction_index")
    _each(sides, PRODUCER_SNAPSHOT, partial(compare_snapshots, sides), missing_allowed=True)
    _each(sides, "leader_epochs", partial(compare_epochs, sides), missing_allowed=False)
    _each(sides, "partition_metadata", partial(compare_metadata, sides), missing_allowed=True)


def _each(
    sides: Sides, kind: str, compare_two: Callable[[str, DataFile, DataFile], None], *, missing_allowed: bool
) -> None:
    """Compare the files of one kind pair by pair; where segments are cut differs, so a lone one is allowed."""
    here, there = (
        {os.path.basename(f.path): f for f in p.files if f.kind == kind and not f.name.state}
        for p in (sides.left, sides.right)
    )
    if len(here) == len(there) == 1:  # two files named on the command line need not have one name
        pairs = [(next(iter(here)), next(iter(here.values())), next(iter(there.values())))]
    else:
        pairs = [(name, here[name], there[name]) for name in sorted(here.keys() & there.keys())]
        for name in sorted(here.keys() ^ there.keys()):
            sides.done.note("file", sides.where(name), name in here, name in there, allowed=True)
    if bool(here) != bool(there) and not missing_allowed and sides.left.segments and sides.right.segments:
        sides.done.note(kind, sides.where(), bool(here), bool(there), allowed=False)
    for name, one, other in pairs:
        try:
            compare_two(name, one, other)
        except KidxError as e:
            sides.done.checked.cannot(one.path, str(e))
