"""Consumer groups whose committed offset lies outside of the log, over a fleet.

Tasks read the bounds of data partitions, and the committed offsets from __consumer_offsets (kidx.state). Both are few
rows, so the driver joins them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from kidx.errors import KidxError
from kidx.formats.schemas.topics import FAMILY_OF_TOPIC, GROUP
from kidx.logdir.tree import Partition
from kidx.lookup.partition import PartitionReader
from kidx.pipeline.inventory import Place
from kidx.state.facts import Fact
from kidx.state.replay import Moment, state_at

BEFORE_START, AFTER_END = "before_start", "after_end"


class Commit(NamedTuple):
    """A group's committed offset for a partition. `timestamp` is the commit record's, in ms since the epoch."""

    group: str
    topic: str
    partition: int
    offset: int
    timestamp: int


class Contents(NamedTuple):
    """A partition's bounds, as offsets, and the commits that it holds. Bounds are None if they cannot be read."""

    start_offset: int | None
    end_offset: int | None
    commits: list[Commit]


def contents_of(partition: Partition) -> Contents:
    """The bounds and commits in a partition's directory. What cannot be read is missing; the checks report it."""
    nothing = Contents(None, None, [])
    if partition.name is None or partition.name.state or not partition.segments:
        return nothing
    try:
        reader = PartitionReader(partition)
        start, end = reader.start_offset, reader.end_offset
        if FAMILY_OF_TOPIC.get(partition.name.topic) != GROUP:
            return Contents(start, end, [])
        facts = state_at(partition, GROUP, Moment()).facts.of_kind("committed_offset")
    except KidxError:
        return nothing
    return Contents(start, end, [_commit(fact) for fact in facts])


def _commit(fact: Fact) -> Commit:
    key = fact.key
    return Commit(key["group"], key["topic"], key["partition"], fact.value["offset"], fact.timestamp)


def stranded_groups(found: Iterable[tuple[Place, Contents]]) -> list[dict[str, object]]:
    """A row for each committed offset outside of its log, ordered by group and partition.

    Of several replicas the one with the largest end offset counts: it is, or is closest to, the leader. Commits for
    partitions that are not among the fleet's files are not judged.
    """
    furthest: dict[tuple[str, int], tuple[int, Place, Contents]] = {}
    for place, contents in found:
        if place.topic is None or place.partition is None or contents.end_offset is None:
            continue
        known = furthest.get((place.topic, place.partition))
        if known is None or contents.end_offset > known[0]:
            furthest[place.topic, place.partition] = contents.end_offset, place, contents
    rows = []
    for _, kept_by, contents in furthest.values():
        for commit in contents.commits:
            known = furthest.get((commit.topic, commit.partition))
            if known is None:
                continue
            end, place, log = known
            start = log.start_offset or 0
            if start <= commit.offset <= end:
                continue
            lost = commit.offset < start
            rows.append(
                {
                    "group": commit.group,
                    "topic": commit.topic,
                    "partition": commit.partition,
                    "committed": commit.offset,
                    "committed_at": commit.timestamp,
                    "log_start": start,
                    "log_end": end,
                    "why": BEFORE_START if lost else AFTER_END,
                    "records": start - commit.offset if lost else commit.offset - end,
                    "broker": place.broker,
                    "committed_on": kept_by.broker,
                }
            )
    return sorted(rows, key=lambda row: (str(row["group"]), str(row["topic"]), row["partition"]))
