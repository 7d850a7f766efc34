"""The cluster that log dirs belong to, its metadata log replayed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kidx.errors import KidxError
from kidx.formats.schemas.topics import METADATA
from kidx.logdir.cluster import Assignment, Cluster, ClusterMetadata, Topic
from kidx.logdir.log_dir import LogDir, Problem
from kidx.logdir.tree import Partition
from kidx.state.facts import Facts
from kidx.state.replay import Moment, state_at


def cluster_of(log_dirs: Iterable[str | LogDir]) -> Cluster:
    """The cluster of some log dirs, by their paths; nothing is opened yet."""
    return Cluster([LogDir(each) if isinstance(each, str) else each for each in log_dirs], read_cluster_metadata)


def read_cluster_metadata(partition: Partition, moment: Moment | None = None) -> ClusterMetadata:
    """The state of __cluster_metadata at its end or at a moment. What cannot be read is a problem; nothing raises."""
    try:
        state = state_at(partition, METADATA, moment or Moment())
    except KidxError as e:
        why = str(e).removeprefix(f"{partition.directory}: ")
        return ClusterMetadata(partition.directory, problems=(Problem(partition.directory, why),))
    facts = state.facts
    assignments: dict[str, dict[int, Assignment]] = {}
    for fact in facts.of_kind("partition"):
        assignments.setdefault(fact.key["topic"], {})[fact.key["partition"]] = _assignment(fact.value)
    topics = {
        fact.key["topic"]: Topic(fact.key["topic"], fact.value["topicId"], assignments.get(fact.key["topic"], {}))
        for fact in facts.of_kind("topic")
    }
    return ClusterMetadata(
        partition.directory,
        topics,
        {fact.key["brokerId"]: tuple(fact.value.get("logDirs") or ()) for fact in facts.of_kind("broker")},
        _configurations(facts),
        tuple(_problem(partition, sentence) for sentence in state.problems),
    )


def _problem(partition: Partition, sentence: str) -> Problem:
    """A problem from a replay's sentence, which may begin with a file's path."""
    path = next((f.path for f in partition.files if sentence.startswith(f"{f.path}: ")), partition.directory)
    return Problem(path, sentence.removeprefix(f"{path}: "))


def _assignment(value: dict[str, Any]) -> Assignment:
    directories = tuple(value.get("directories") or ())
    return Assignment(tuple(value["replicas"]), directories, value["leader"], value["leaderEpoch"])


def _configurations(facts: Facts) -> dict[tuple[str, str, str], str]:
    return {
        (fact.key["resourceType"], fact.key["resourceName"], fact.key["name"]): fact.value["value"]
        for fact in facts.of_kind("config")
    }
