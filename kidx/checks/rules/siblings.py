"""Which files a segment lacks, and which have no segment. From names, and the size of a log without an index."""

from __future__ import annotations

import os
from collections.abc import Iterator

from kidx.checks.rule import check
from kidx.checks.subjects.partitions import Listing
from kidx.checks.texts import CONFIRM_BY_REBUILD, REBUILD
from kidx.errors import CannotRead
from kidx.evidence import exists
from kidx.findings import NOTE, WARNING, Finding, Rule
from kidx.logdir.names import LOG, OFFSET, SEGMENT_SUFFIX, TIME, TRANSACTION
from kidx.logdir.tree import DataFile, Partition

ORPHAN_FILE = Rule(
    code="KX501",
    name="orphan-file",
    severity=WARNING,
    title="An index has no log beside it, though other segments have",
    broker='Every version deletes an index without a log when it loads the directory ("Found an orphaned index file").',
    story=(
        "The .log of this base offset is missing: deleted by hand, not copied, or the index was left behind by an "
        "interrupted deletion. If neighbouring segments leave a gap in offsets where it was (KX503), data is "
        "missing; if they do not, the file is a left-over."
    ),
)

MISSING_INDEX = Rule(
    code="KX502",
    name="missing-index",
    severity=WARNING,
    title="A log has no offset index or no time index",
    broker=(
        'Without an offset index a broker recovers the segment at start ("Could not find offset index file"): it reads '
        "the whole log and rebuilds its indexes. A missing time index it makes anew, empty, and rebuilds nothing: "
        "look-ups by time then walk the segment from its start, and retention goes by the file's modification time."
    ),
    story=(
        "Every segment has both, even if empty. One that is missing was deleted or not copied. kidx never creates "
        "it. " + CONFIRM_BY_REBUILD
    ),
    repair=REBUILD,
)

INTERRUPTED_SWAP = Rule(
    code="KX504",
    name="interrupted-swap",
    severity=NOTE,
    title="Files of an unfinished compaction or split lie in the directory",
    broker=(
        "At the next start every version deletes .cleaned files (and .swap files at or after the first of them), "
        "deletes the segments that complete .swap files replace, and renames these to segments."
    ),
    story=(
        "The cleaner writes .cleaned files, renames them to .swap once all are complete, then removes the old "
        "segments and drops the suffix. Such files in a stopped broker's directory show where it was interrupted; in "
        "a running one's they come and go. Nothing is lost either way."
    ),
)

_INDEXES = (OFFSET, TIME, TRANSACTION)


@check(Listing, ORPHAN_FILE)
def orphan_file(listing: Listing) -> Iterator[Finding] | None:
    """Indexes of living segments without a log; where no segment has a log, indexes were copied on purpose."""
    return _orphan_files(listing) if listing.partition.segments else None


def _orphan_files(listing: Listing) -> Iterator[Finding]:
    for segment in listing.partition.all_segments:
        if segment.state or LOG in segment.files:
            continue
        for kind in _INDEXES:
            orphan = segment.file(kind)
            if orphan and not (listing.live and _in_passing(orphan.path, LOG)):
                said = "there is no .log next to this index"
                yield ORPHAN_FILE.finding(orphan.path, said, expected=SEGMENT_SUFFIX[LOG])


@check(Listing, MISSING_INDEX)
def missing_index(listing: Listing) -> Iterator[Finding] | None:
    """Living logs without an offset or time index; where no segment has an index, logs were copied on purpose."""
    living = [s for s in listing.partition.all_segments if not s.state]
    return _missing_indexes(listing) if any(kind in s.files for s in living for kind in _INDEXES) else None


def _missing_indexes(listing: Listing) -> Iterator[Finding]:
    for segment in listing.partition.segments:
        log = segment.files[LOG]
        for kind in (OFFSET, TIME):
            if kind in segment.files or _is_made_later(listing.partition, log):
                continue
            if not (listing.live and _in_passing(log.path, kind)):
                said = f"there is no {SEGMENT_SUFFIX[kind]} next to this log"
                yield MISSING_INDEX.finding(log.path, said, expected=SEGMENT_SUFFIX[kind])


@check(Listing, INTERRUPTED_SWAP)
def interrupted_swap(listing: Listing) -> Iterator[Finding]:
    """Segments that a compaction or split has written and not put in place."""
    for segment in listing.partition.all_segments:
        if segment.state in (".cleaned", ".swap"):
            file = next(iter(segment.files.values()))
            said = f"an unfinished compaction or split left {segment.state} files"
            yield INTERRUPTED_SWAP.finding(file.path, said, found=segment.state)


def _is_made_later(partition: Partition, log: DataFile) -> bool:
    """Whether a broker has yet to make the indexes: of a new, empty active segment it does so when it first uses them.

    So it is where retention has deleted all that a partition held (org.apache.kafka.storage.internals.log.LazyIndex).
    """
    try:
        return partition.segments[-1].files[LOG] is log and log.size() == 0
    except CannotRead:
        return False


def _in_passing(path: str, missing: str) -> bool:
    """Whether a segment was being made or deleted when the directory was listed: one file gone or the other there."""
    return not exists(path) or exists(os.path.splitext(path)[0] + SEGMENT_SUFFIX[missing])
