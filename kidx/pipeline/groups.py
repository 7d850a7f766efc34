"""Consumer groups and the logs they read, over a fleet: whose committed offset is no more, or not yet, in the log.

A task reads what a partition's files say: a data partition's bounds, and of __consumer_offsets what its groups have
committed (kidx.state). Both are few rows, so the driver puts them together.
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
    """What a group has committed for a partition; `timestamp` is the commit record's."""

    group: str
    topic: str
    partition: int
    offset: int
    timestamp: int


class Contents(NamedTuple):
    """A partition's bounds, as offsets, and the commits that it holds; bounds are None where they cannot be read."""

    start_offset: int | None
    end_offset: int | None
    commits: list[Commit]


def contents_of(partition: Partition) -> Contents:
    """What a directory tells of groups. What cannot be read counts as absent: saying so is the checks' work."""
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
    """A row for each committed offset outside of its log, by group and partition.

    Of replicas the one that reaches furthest counts, for it was, or is nearest to, the leader. Partitions that the
    fleet's files do not hold are not judged.
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
