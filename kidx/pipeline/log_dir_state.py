"""What the answer for a partition depends on in the log dir above it, as text: part of a unit's mark.

Brokers write their checkpoints anew every minute, so neither times nor sizes tell anything. Checks ask two things only:
how the broker stopped, and whether the cleaner knows the partition.
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
    """The log dirs of a fleet, each looked into once."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[bool | None, frozenset[tuple[str, int]]]] = {}

    def said_of(self, directory: str) -> str:
        """What the log dir says of a partition's directory."""
        partition = Partition(directory, [])
        above = partition.log_dir
        if above not in self._seen:
            self._seen[above] = partition.stopped_cleanly(), _cleaned(above)
        stopped_cleanly, cleaned = self._seen[above]
        name = parse_partition_name(absolute(directory))
        return f"{stopped_cleanly} {name is not None and name[:2] in cleaned}"


def _cleaned(log_dir: str) -> frozenset[tuple[str, int]]:
    try:
        rows, _ = parse_offset_checkpoint(read_file(os.path.join(log_dir, CHECKPOINT)))
    except KidxError:
        return frozenset()
    return frozenset((row.topic, row.partition) for row in rows)
