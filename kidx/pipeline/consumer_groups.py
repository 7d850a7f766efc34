"""Consumer groups whose committed offset lies outside of the log, over a fleet.

Tasks read the bounds of data partitions, and the committed offsets from __consumer_offsets (kidx.state).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from kidx.checks.subjects.replicas import CommittedOffset
from kidx.errors import KidxError
from kidx.formats.schemas.topics import FAMILY_OF_TOPIC, GROUP
from kidx.logdir.tree import Partition
from kidx.lookup.partition import PartitionReader
from kidx.pipeline.frames import from_arrow_text
from kidx.state.facts import Fact
from kidx.state.internal_topics import AFTER_END, BEFORE_START
from kidx.state.replay import Moment, state_at

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

STRANDED = pa.schema(
    [
        *((name, pa.string()) for name in ("cluster", "group", "topic")),
        ("partition", pa.int32()),
        *((name, pa.int64()) for name in ("committed", "committed_at", "log_start", "log_end")),
        ("why", pa.string()),
        ("records", pa.int64()),
        *((name, pa.string()) for name in ("broker", "committed_on", "directory")),
    ]
)


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


def stranded_groups(results: DataFrame) -> DataFrame:
    """A row of STRANDED for each committed offset outside of its log, from rows of RESULT.

    Of several replicas the one with the largest end offset counts: it is, or is closest to, the leader. Commits for
    partitions of other clusters, or that are not among the fleet's files, are not judged.
    """
    from pyspark.sql import functions as f

    facts = "broker", "directory", "start_offset", "end_offset", "commits"
    named: list[Column | str] = [f.col("cluster_id").alias("cluster"), "topic", "partition"]
    furthest = (
        results.where("topic is not null and end_offset is not null")
        .groupBy(*named)
        .agg(f.max_by(f.struct(*facts), "end_offset").alias("r"))
    )
    logs = furthest.select("cluster", "topic", "partition", "r.broker", "r.directory", "r.start_offset", "r.end_offset")
    commits = furthest.where(f.size("r.commits") > 0).select(
        f.col("cluster").alias("of"), f.col("r.broker").alias("committed_on"), f.explode("r.commits").alias("c")
    )
    same = f.col("cluster").eqNullSafe(f.col("of")) & (f.col("topic") == f.col("c.topic"))
    joined = commits.join(logs, same & (f.col("partition") == f.col("c.partition")))
    start, end, offset = f.col("start_offset"), f.col("end_offset"), f.col("c.offset")
    return joined.where((offset < start) | (offset > end)).select(
        "cluster",
        f.col("c.group").alias("group"),
        "topic",
        "partition",
        offset.alias("committed"),
        f.col("c.timestamp").alias("committed_at"),
        start.alias("log_start"),
        end.alias("log_end"),
        f.when(offset < start, BEFORE_START).otherwise(AFTER_END).alias("why"),
        f.when(offset < start, start - offset).otherwise(offset - end).alias("records"),
        "broker",
        "committed_on",
        "directory",
    )


def commit_of(row: Mapping[str, Any], *, live: bool) -> CommittedOffset:
    """The commit in a row of STRANDED, as the rules examine it."""
    directory = from_arrow_text(row["directory"])
    bounds = row["log_start"], row["log_end"]
    commit = row["group"], row["topic"], row["partition"], row["committed"], row["committed_at"]
    return CommittedOffset(*commit, directory, *bounds, live)
