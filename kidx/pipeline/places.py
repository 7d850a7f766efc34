"""A directory's place in a fleet: broker, topic and partition, by its path."""

from __future__ import annotations

import os
from typing import NamedTuple

from kidx.evidence import absolute
from kidx.logdir.names import parse_partition_name


class Place(NamedTuple):
    """`broker` is the log dir's path, which always identifies it.

    `topic` and `partition` are None if the directory's name is not that of a partition.
    """

    broker: str
    topic: str | None
    partition: int | None


def place_of(directory: str) -> Place:
    """Broker, topic and partition by a directory's path."""
    path = absolute(directory)
    name = parse_partition_name(path)
    if name is None or name.state:
        return Place(path, None, None)
    return Place(os.path.dirname(path), name.topic, name.partition)
