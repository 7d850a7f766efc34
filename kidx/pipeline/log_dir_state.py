"""The state of a log dir that the result for a partition depends on, as text: part of a unit's mark.

Brokers rewrite their checkpoints every minute, so times and sizes say nothing. The checks use only two facts: whether
the broker stopped cleanly, and whether the cleaner's checkpoint has the partition.
"""

from __future__ import annotations

import os

from kidx.cleaner.dirty_range import CHECKPOINT
from kidx.errors import KidxError
from kidx.evidence import absolute, read_file
from kidx.formats.checkpoints import parse_offset_checkpoint
from kidx.logdir.names import parse_partition_name
from kidx.logdir.tree import Partition


class LogDirs:
    """The log dirs of a fleet. Each is read once."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[bool | None, frozenset[tuple[str, int]]]] = {}

    def state_of(self, directory: str) -> str:
        """The log dir's state for a partition's directory, as text."""
        partition = Partition(directory, [])
        log_dir = partition.log_dir
        if log_dir not in self._seen:
            self._seen[log_dir] = partition.stopped_cleanly(), _cleaned(log_dir)
        stopped_cleanly, cleaned = self._seen[log_dir]
        name = parse_partition_name(absolute(directory))
        return f"{stopped_cleanly} {name is not None and name[:2] in cleaned}"


def _cleaned(log_dir: str) -> frozenset[tuple[str, int]]:
    try:
        rows, _ = parse_offset_checkpoint(read_file(os.path.join(log_dir, CHECKPOINT)))
    except KidxError:
        return frozenset()
    return frozenset((row.topic, row.partition) for row in rows)
