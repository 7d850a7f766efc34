"""Which files a segment lacks, and which have no segment. From names, and the size of a log without an index."""

from __future__ import annotations

import os
from collections.abc import Iterator

from kidx.checks.making import finding
from kidx.errors import CannotRead
from kidx.evidence import exists
from kidx.findings import Finding
from kidx.logdir.names import LOG, OFFSET, SEGMENT_SUFFIX, TIME, TRANSACTION
from kidx.logdir.tree import DataFile, Partition, Segment

_INDEXES = (OFFSET, TIME, TRANSACTION)


def check_siblings(partition: Partition, *, live: bool) -> Iterator[Finding]:
    """Findings about missing and left-over files of a directory.

    Where no segment has an index, or none has a log, somebody copied one kind on purpose: no finding then. In a live
    directory segments are made and deleted file by file: what is missing is looked for once more.
    """
    living = [s for s in partition.all_segments if not s.state]
    any_index = any(kind in s.files for s in living for kind in _INDEXES)
    for segment in partition.all_segments:
        log = segment.file(LOG)
        if segment.state in (".cleaned", ".swap"):
            file = next(iter(segment.files.values()))
            yield finding(
                "KX504", file.path, f"an unfinished compaction or split left {segment.state} files", found=segment.state
            )
        elif not segment.state and log is not None and any_index:
            for kind in (OFFSET, TIME):
                if kind not in segment.files and not (
                    _is_made_later(partition, segment, log) or (live and _in_passing(log.path, kind))
                ):
                    yield finding(
                        "KX502",
                        log.path,
                        f"there is no {SEGMENT_SUFFIX[kind]} beside this log",
                        expected=SEGMENT_SUFFIX[kind],
                    )
        elif not segment.state and log is None and partition.segments:
            for kind in _INDEXES:
                orphan = segment.file(kind)
                if orphan and not (live and _in_passing(orphan.path, LOG)):
                    yield finding(
                        "KX501", orphan.path, "there is no .log beside this index", expected=SEGMENT_SUFFIX[LOG]
                    )


def _is_made_later(partition: Partition, segment: Segment, log: DataFile) -> bool:
    """Whether a broker has yet to make the indexes: of a new, empty active segment it does so when it first uses them.

    So it is where retention has deleted all that a partition held (org.apache.kafka.storage.internals.log.LazyIndex).
    """
    try:
        return segment is partition.active_segment and log.size() == 0
    except CannotRead:
        return False


def _in_passing(path: str, missing: str) -> bool:
    """Whether a segment was being made or deleted when the directory was listed: one file gone or the other there."""
    return not exists(path) or exists(os.path.splitext(path)[0] + SEGMENT_SUFFIX[missing])
