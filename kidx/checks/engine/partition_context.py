"""What the names next to a file show: which segment is active, where the next begins, how the broker stopped."""

from __future__ import annotations

import bisect
from functools import cached_property, partial

from kidx.checks.engine.options import Options
from kidx.checks.subjects.indexes import UNKNOWN_STOP, IndexFacts
from kidx.checks.subjects.log_dirs import LogDirs, Witness
from kidx.findings import ERROR, NOTE, WARNING
from kidx.logdir.log_dir import METADATA_TOPIC
from kidx.logdir.names import INDEX_OF_KIND, METADATA_SNAPSHOT, base_offset_of
from kidx.logdir.tree import DataFile, Partition
from kidx.tiered.partition import RemotePartition

_MERGING = (".cleaned", ".swap")  # such a segment takes the place of several, so the next base bounds nothing


def is_tiered(file: DataFile) -> bool:
    """Whether an index is of a remote segment, in a tier or a cache (RemoteIndexCache): other segments say nothing."""
    return file.kind in INDEX_OF_KIND and bool(file.name.tag)


class PartitionContext:
    """A directory's names, for questions about one file; nothing is opened."""

    def __init__(self, partition: Partition, log_dirs: LogDirs) -> None:
        self.partition, self.log_dirs = partition, log_dirs

    @cached_property
    def witness(self) -> Witness | None:
        """The partition's log dir, None if it is not in one."""
        return self.log_dirs.witness_of(self.partition)

    @cached_property
    def base_offsets(self) -> list[int]:
        """Base offsets of the living segments; where no .log is left, those that other files name."""
        segments = self.partition.segments or self.partition.all_segments
        return [s.base_offset for s in segments if not s.state]

    @cached_property
    def stopped_cleanly(self) -> bool | None:
        """Whether the log dir has the mark of a clean stop; None where it does not look like a log dir."""
        return self.partition.stopped_cleanly()

    @cached_property
    def clean_start(self) -> bool | None:
        """Whether a broker loads the partition as after a clean stop; it always recovers KRaft's metadata log."""
        name = self.partition.name
        return False if name is not None and name.topic == METADATA_TOPIC else self.stopped_cleanly

    def index_facts(self, file: DataFile, options: Options) -> IndexFacts:
        """What is known about an index. Raises UsageError where it has no base offset and none was given."""
        base = base_offset_of(
            file.path, file.name.base_offset if file.name.base_offset is not None else options.base_offset
        )
        if is_tiered(file) or file.name.base_offset is None:
            return IndexFacts(base, copied=is_tiered(file))
        next_base = None if file.name.state in _MERGING else self.next_base_offset(base)
        return IndexFacts(base, next_base, partial(self.preallocation, file))

    def next_base_offset(self, base: int) -> int | None:
        """The base offset of the segment after the one at `base`, or None. Copies in a tier may overlap."""
        if isinstance(self.partition, RemotePartition):
            return None
        after = bisect.bisect_right(self.base_offsets, base)
        return self.base_offsets[after] if after < len(self.base_offsets) else None

    def is_active(self, base: int) -> bool:
        """Whether appends go to the segment at `base`: it has a log, and no later one has."""
        active = self.partition.active_segment
        return active is not None and active.base_offset == base

    def preallocation(self, file: DataFile) -> tuple[str, str]:
        """The severity of preallocation in a segment's file here, and the reason."""
        base = file.name.base_offset
        if file.kind == METADATA_SNAPSHOT:
            return ERROR, "but a KRaft snapshot is never preallocated"
        if file.name.state:
            return NOTE, f"the segment is in passing ({file.name.state})"
        if base is not None and self.is_active(base):
            return NOTE, "this segment is active"
        if self.stopped_cleanly is None:
            return NOTE, UNKNOWN_STOP
        if not self.stopped_cleanly:
            return NOTE, "the broker is running, or did not stop cleanly"
        return WARNING, "but the segment is not active and the broker stopped cleanly, so nobody will trim it"
